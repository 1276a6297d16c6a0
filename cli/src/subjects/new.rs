//! `ringside subjects new`: the folder of a new subject.

use engine::signal::Stop;
use lab::Event;
use lab::check::Options;
use scaffold::{self, Refused, Wanted};

use crate::args::subjects::Subjects;
use exit::{Exit, Failure};
use output::progress::Line;
use output::terminal;

/// Writes it, and says what to do next.
pub(super) fn write(arguments: &Subjects, options: &Options) -> Result<Exit, Failure> {
    let [name] = arguments.names.as_slice() else {
        let what = "give the new subject one name: `ringside subjects new NAME`";
        return Err(Failure::usage(what));
    };
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let mut line = Line::on_stderr();
    let wanted = Wanted {
        place: arguments.dir.clone(),
        name: name.clone(),
        command: arguments.command.clone(),
        path: arguments.path.clone().unwrap_or_else(|| "/".to_owned()),
    };
    let written = scaffold::write(&wanted, options, &stop, &mut |event: &Event<'_>| {
        line.show(&event.to_string());
    });
    drop(line);
    let written = written.map_err(|refused| match refused {
        Refused::Wrong(what) => Failure::usage(what),
        Refused::Failed(what, log) => {
            let lines = log.iter().map(|line| format!("\n  {line}"));
            let lines: String = lines.collect();
            Failure::running(format!("{name} {what}{lines}"))
        }
        Refused::Stopped => Failure {
            exit: stop.requested().map_or(Exit::Failed, Exit::Stopped),
            text: "stopped before the subject was written".to_owned(),
        },
    })?;
    let paths = written.iter().map(|path| format!("{}\n", path.display()));
    terminal::print(&paths.collect::<String>()).map_err(Failure::running)?;
    let dir = match arguments.dir.as_os_str() == "subjects" {
        true => String::new(),
        false => format!(" --dir {}", arguments.dir.display()),
    };
    terminal::say(&format!(
        "try it: ringside subjects check {name}{dir}\ncompare it: write `subjects = [\"{name}\", \
         \"OTHER\"]` into a file beside the folder of subjects, then: ringside compare FILE.toml"
    ));
    Ok(Exit::Ok)
}
