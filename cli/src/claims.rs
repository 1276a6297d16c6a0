//! `ringside claims`: published claims, run here, judged, and written down beside what was found.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use engine::signal::Stop;
use lab::Event;
use lab::Source;
use netns::wants_host;
use report::pack::{self, Records};
use report::pages::Page;
use studies::claims::page::{self, Entry, Ledger};
use studies::claims::posts::{self, Post};
use studies::claims::{self, Begun, Claim, Id, Options, Run};
use supervisor::document::BadFile;

use crate::args::claims::{Action, Claims, DIR, Lang};
use crate::compare::{Talk, say_unwritten};
use exit::{Exit, Failure};
use output::{table, terminal};

/// What `--quick` stands for.
const QUICK_ROUNDS: u32 = 3;
const QUICK_WINDOW: Duration = Duration::from_millis(300);
const QUICK_WARM_UP_MAX: Duration = Duration::from_secs(5);

/// Lists, runs, or writes pages.
pub(crate) fn run(arguments: &Claims, no_color: bool) -> Result<Exit, Failure> {
    let claims = read(&arguments.dir)?;
    match arguments.action {
        Action::List => {
            let claims = chosen(claims, &arguments.names, true)?;
            list(claims, arguments)?;
            end()
        }
        Action::Run => {
            let claims = chosen(claims, &arguments.names, arguments.all)?;
            if let Some(end) = network::privately(in_host(&claims, arguments), None)? {
                return Ok(end);
            }
            carry_out(claims, arguments, no_color)
        }
        Action::Page => match arguments.names.as_slice() {
            [] => write_pages(claims, &arguments.output, arguments),
            [folder] => write_pages(claims, Path::new(folder), arguments),
            _ => Err(Failure::usage(
                "page takes exactly one directory of records",
            )),
        },
        Action::Check => match arguments.names.as_slice() {
            [] => check(&claims, arguments, None),
            [texts] => check(&claims, arguments, Some(Path::new(texts))),
            _ => Err(Failure::usage("check takes exactly one directory of posts")),
        },
    }
}

/// Why everything has to run in the host's network, if so: all claims of a run are measured in one.
fn in_host(claims: &[Claim], arguments: &Claims) -> Option<&'static str> {
    let written = |claim: &Claim| match claim.test.as_ref().map(|test| &test.run) {
        Ok(Run::Comparison(file)) => wants_host(file),
        _ => false,
    };
    match arguments.network.host_network {
        true => Some(network::ASKED),
        false => claims.iter().any(written).then_some(network::WRITTEN),
    }
}

fn read(folder: &Path) -> Result<Vec<Claim>, Failure> {
    let place = folder.display();
    let (claims, faults) = claims::read_all(folder).map_err(|error| {
        Failure::usage(match error.kind() {
            ErrorKind::NotFound => format!(
                "there are no claims in {place}; run this from a ringside checkout, or pass --dir"
            ),
            _ => format!("can't read the claims in {place}: {error}; pass another place as --dir"),
        })
    })?;
    unless_faulty(claims, &faults)
}

fn unless_faulty<T>(read: T, faults: &[BadFile]) -> Result<T, Failure> {
    if faults.is_empty() {
        return Ok(read);
    }
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Err(Failure::usage(faults.join("\n")))
}

/// The lists of what is in the posts, beside the claims.
fn read_posts(claims: &Path) -> Result<Vec<Post>, Failure> {
    let folder = claims.join("posts");
    let (posts, faults) = posts::read_all(&folder).map_err(|error| {
        Failure::usage(format!(
            "can't read the posts in {}: {error}",
            folder.display()
        ))
    })?;
    unless_faulty(posts, &faults)
}

/// Holds the claims against the lists of posts, and the lists against the posts' texts.
fn check(claims: &[Claim], arguments: &Claims, texts: Option<&Path>) -> Result<Exit, Failure> {
    let posts = read_posts(&arguments.dir)?;
    let mut wrong = posts::check(claims, &posts);
    match texts {
        Some(folder) => {
            for post in &posts {
                let file = folder.join(format!("{}.txt", post.letter));
                let text = fs::read_to_string(&file).map_err(|error| {
                    Failure::usage(format!(
                        "can't read {}: {error}; check expects the text of each post there",
                        file.display()
                    ))
                })?;
                wrong.extend(post.against(&text));
            }
        }
        None => terminal::say(
            "the lists in posts/ were not held against the posts; pass the directory with their \
             texts, A.txt and so on",
        ),
    }
    if !wrong.is_empty() {
        return Err(Failure::usage(wrong.join("\n")));
    }
    let words = format!(
        "{} claims cite what the lists of {} posts have",
        claims.len(),
        posts.len()
    );
    terminal::print(&(words + "\n")).map_err(Failure::running)?;
    end()
}

/// The claims that were named, or all.
fn chosen(claims: Vec<Claim>, names: &[String], all: bool) -> Result<Vec<Claim>, Failure> {
    if names.is_empty() {
        return match all {
            true => Ok(claims),
            false => Err(Failure::usage(
                "name the claims to run, such as E1, or pass --all",
            )),
        };
    }
    let mut wanted = Vec::new();
    for name in names {
        let id = Id::parse(name).filter(|id| claims.iter().any(|claim| claim.id == *id));
        wanted.push(id.ok_or_else(|| {
            Failure::usage(format!(
                "there's no claim `{name}`; `ringside claims` lists them all"
            ))
        })?);
    }
    let is_wanted = |claim: &Claim| wanted.contains(&claim.id);
    Ok(claims.into_iter().filter(is_wanted).collect())
}

/// The end of what only reads.
fn end() -> Result<Exit, Failure> {
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    Ok(stop.requested().map_or(Exit::Ok, Exit::Stopped))
}

fn list(claims: Vec<Claim>, arguments: &Claims) -> Result<(), Failure> {
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let records =
        Records::open(&arguments.output, &stop).map_err(|what| Failure::reading(what, &stop))?;
    let (entries, language) = (entries(claims, records.source()), arguments.lang.into());
    let text = match arguments.names.is_empty() {
        true => table::left("", &page::lines(&entries, language)),
        false => page::told(&entries, &arguments.output, language),
    };
    terminal::print(&text).map_err(Failure::running)
}

/// The claims with what their records say. One that cannot be read is said, and stays without.
fn entries(claims: Vec<Claim>, records: &Source) -> Vec<Entry> {
    let find = |claim: Claim| {
        let finding = claims::find(&claim, records, None).unwrap_or_else(|what| {
            terminal::say(&what);
            None
        });
        Entry { claim, finding }
    };
    claims.into_iter().map(find).collect()
}

fn carry_out(claims: Vec<Claim>, arguments: &Claims, no_color: bool) -> Result<Exit, Failure> {
    if pack::is_pack(&arguments.output) {
        return Err(Failure::usage(format!(
            "{} is a pack, and nothing can be added to a pack; give a directory with -o",
            arguments.output.display()
        )));
    }
    let ringside = std::env::current_exe().map_err(|error| {
        Failure::running(format!(
            "can't find the path of the running ringside binary: {error}"
        ))
    })?;
    let options = Options {
        folder: arguments.output.clone(),
        ringside,
        rounds: arguments.quick.then_some(QUICK_ROUNDS),
        window: arguments.quick.then_some(QUICK_WINDOW),
        warm_up_max: arguments.quick.then_some(QUICK_WARM_UP_MAX),
        ..Options::default()
    };
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let mut talk = Talk::new(no_color);
    let mut begun = |run: Begun<'_>| {
        let names: Vec<String> = run.claims.iter().map(Id::to_string).collect();
        terminal::say(&format!(
            "run {} of {}: {}",
            run.number,
            run.of,
            names.join(", ")
        ));
    };
    let tell = &mut |event: &Event<'_>| talk.tell(event);
    let ran = claims::run(&claims, &options, &stop, &mut begun, tell);
    drop(talk);
    list(claims, arguments)?;
    let names = |ids: &[Id]| {
        let names: Vec<String> = ids.iter().map(Id::to_string).collect();
        names.join(", ")
    };
    for (ids, folder) in &ran.there {
        terminal::say(&format!(
            "{}: measured before, in {}; to measure again, delete that directory",
            names(ids),
            folder.display()
        ));
    }
    for (ids, what) in &ran.failed {
        terminal::say(&format!("{}: {what}", names(ids)));
    }
    say_unwritten(&ran.unwritten);
    Ok(ran.end(stop.requested()).into())
}

fn write_pages(claims: Vec<Claim>, records: &Path, arguments: &Claims) -> Result<Exit, Failure> {
    if !records.is_dir() && !pack::is_pack(records) {
        return Err(Failure::usage(format!(
            "{} is neither a directory of records nor a pack; `ringside claims run` creates one",
            records.display()
        )));
    }
    let flag = match arguments.lang {
        Lang::En => "",
        Lang::Zh => " --lang zh",
    };
    let dir = match arguments.dir == Path::new(DIR) {
        true => String::new(),
        false => format!(" --dir {}", arguments.dir.display()),
    };
    let command = format!("ringside claims page {}{dir}{flag}", records.display());
    let posts = read_posts(&arguments.dir)?;
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let opened = Records::open(records, &stop).map_err(|what| Failure::reading(what, &stop))?;
    let ledger = Ledger {
        entries: &entries(claims, opened.source()),
        posts: &posts,
        command: &command,
        language: arguments.lang.into(),
    };
    let (to_markdown, to_html) = match arguments.lang {
        Lang::En => (Page::CLAIMS_MARKDOWN, Page::CLAIMS_HTML),
        Lang::Zh => (Page::CLAIMS_MARKDOWN_ZH, Page::CLAIMS_HTML_ZH),
    };
    let pages = [
        (to_markdown, page::markdown(&ledger)),
        (to_html, page::html(&ledger)),
    ];
    for (page, text) in pages {
        let file = opened.pages().join(page.file());
        let made = fs::create_dir_all(opened.pages());
        made.and_then(|()| fs::write(&file, text))
            .map_err(|error| {
                Failure::running(format!("can't write {}: {error}", file.display()))
            })?;
        terminal::say(&format!("written: {}", file.display()));
    }
    end()
}
