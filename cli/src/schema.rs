//! `ringside schema`: the JSON Schema of what the program writes for other programs, and of the
//! files that people write for it.

use explain::nearest;
use measure::foreign::Foreign;
use report::schema_of;

use crate::args::schema::Schema as Arguments;
use exit::{Exit, Failure};
use output::terminal::{self, Paint};
use output::width;

/// The schema of one kind of document.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// How `ringside schema` calls it, and its file in `schema/`.
    pub name: &'static str,
    /// What it describes, in a few words.
    pub about: &'static str,
    /// It, as indented JSON with a line feed at its end.
    pub text: fn() -> String,
}

/// All of them.
pub(crate) static SCHEMAS: [Schema; 16] = [
    Schema {
        name: "record",
        about: "what run --format json prints, and rounds keep as `record`",
        text: report::agents::run_schema,
    },
    Schema {
        name: "hold",
        about: "what hold --format json prints",
        text: report::agents::hold_schema,
    },
    Schema {
        name: "interval",
        about: "a line of run --intervals",
        text: measure::interval::schema_json,
    },
    Schema {
        name: "hold-interval",
        about: "a line of hold --intervals",
        text: measure::hold::interval_schema_json,
    },
    Schema {
        name: "doctor",
        about: "what doctor --format json prints",
        text: doctor::schema,
    },
    Schema {
        name: "report",
        about: "a comparison's report.json, which report --format json prints",
        text: schema_of::<report::Report>,
    },
    Schema {
        name: "capacity",
        about: "the same of capacity: capacity.json",
        text: schema_of::<capacity::Capacities>,
    },
    Schema {
        name: "sweep",
        about: "the same of a comparison with [sweep]: sweep.json",
        text: schema_of::<studies::sweep::Sweep>,
    },
    Schema {
        name: "trials",
        about: "the same of compare --trials: trials.json",
        text: schema_of::<studies::trials::Trials>,
    },
    Schema {
        name: "gate",
        about: "what gate --format json prints, gate.json",
        text: schema_of::<gate::Found>,
    },
    Schema {
        name: "soak",
        about: "what soak --format json prints, soak.json",
        text: schema_of::<soak::found::Soak>,
    },
    Schema {
        name: "soak-sample",
        about: "a line of a soak's samples.ndjson",
        text: schema_of::<soak::sample::Sample>,
    },
    Schema {
        name: "history",
        about: "what history --format json prints",
        text: schema_of::<history::History>,
    },
    Schema {
        name: "comparison-file",
        about: "a comparison's TOML file, for editors",
        text: keys::comparison,
    },
    Schema {
        name: "subject-file",
        about: "a subject.toml, for editors",
        text: keys::subject,
    },
    Schema {
        name: "gate-file",
        about: "a gate.toml, for editors",
        text: keys::gate,
    },
];

/// Prints the schema of that name, or lists all of them.
pub(crate) fn run(arguments: &Arguments, no_color: bool) -> Result<Exit, Failure> {
    let text = match arguments.name.as_deref() {
        None => list(Paint::for_stdout(no_color)),
        Some(name) => {
            let known = SCHEMAS.iter().find(|schema| schema.name == name);
            (known.ok_or_else(|| unknown(name))?.text)()
        }
    };
    terminal::print(&text).map_err(Failure::printing)?;
    Ok(Exit::Ok)
}

/// The names, a line for each.
fn list(paint: Paint) -> String {
    let names = SCHEMAS.iter().map(|schema| schema.name.len());
    let width = names.max().unwrap_or(0);
    let line = |schema: &Schema| format!("{:<width$}  {}\n", schema.name, schema.about);
    width::wrapped(
        &SCHEMAS.iter().map(line).collect::<String>(),
        paint.columns(),
    )
}

fn unknown(name: &str) -> Failure {
    let names = SCHEMAS.iter().map(|schema| schema.name);
    Failure::unknown(
        &format!(
            "there is no schema of the name {:?}",
            Foreign::new(name).to_string()
        ),
        &nearest(&name.to_lowercase(), names),
        "ringside schema lists all of them",
    )
}
