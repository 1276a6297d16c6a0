//! A file that was read, once for all users.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use measure::random::Random;

use crate::file::{self, Mistake};
use crate::model::{Choice, Entry, Piece, Setting, Slot, Source};
use crate::render::Renderer;
use crate::scope::{Hides, Scope, Secrecy, Variables};
use crate::url::Url;
use crate::value::Value;

/// The most bytes of a file that a flow sends or expects.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// As many redirects as Hurl follows.
const REDIRECTS_MAX: u32 = 50;

/// What a flow is run with.
#[derive(Clone)]
pub struct Given {
    /// Variables that all users have, as they were typed: `12` is a number, `"12"` a text.
    pub variables: Vec<(String, String)>,
    /// The same of variables whose values are texts that never appear in a message; where a column
    /// has such a name, its values don't, either.
    pub secrets: Vec<(String, String)>,
    /// The variables whose values each user is given.
    pub columns: Vec<String>,
    /// Whether a variable of this name holds secrets, wherever it has its values from.
    pub hides: Option<Hides>,
    /// Whether redirects are followed where an entry doesn't say.
    pub follow: bool,
    /// The most redirects that are followed where an entry doesn't say.
    pub redirects_max: u32,
    /// The folder that files have to be in; none for the flow's own.
    pub file_root: Option<PathBuf>,
}

impl Default for Given {
    fn default() -> Given {
        Given {
            variables: Vec::new(),
            secrets: Vec::new(),
            columns: Vec::new(),
            hides: None,
            follow: false,
            redirects_max: REDIRECTS_MAX,
            file_root: None,
        }
    }
}

impl fmt::Debug for Given {
    /// Without values, of which some are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        let mut shown = f.debug_struct("Given");
        shown.field("variables", &names(&self.variables));
        shown.field("secrets", &names(&self.secrets));
        shown
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

/// The requests of a file, and what is expected of their answers.
#[derive(Clone)]
pub struct Flow {
    pub(crate) entries: Arc<[Entry]>,
    pub(crate) variables: Arc<Variables>,
    pub(crate) columns: Arc<[Slot]>,
    pub(crate) follow: bool,
    pub(crate) redirects_max: u32,
    pub(crate) moved: Option<Moved>,
    files: Arc<[PathBuf]>,
}

/// What is asked of one server is asked of another one.
#[derive(Clone)]
pub(crate) struct Moved {
    from: Url,
    to: Url,
}

impl Moved {
    /// The same URL on the server that is asked.
    pub(crate) fn apply(&self, url: &mut Url) {
        if url.is_same_origin(&self.from) {
            url.move_to(&self.to);
        }
    }
}

impl fmt::Debug for Flow {
    /// Without what it sends, of which some may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("requests", &self.len())
            .finish_non_exhaustive()
    }
}

impl Flow {
    /// Reads a file, and all the files that it names.
    ///
    /// # Errors
    /// What is wrong with it, in the order of its lines.
    pub fn read(path: &Path, given: &Given) -> Result<Arc<Flow>, Vec<Mistake>> {
        let name = path.display().to_string();
        let text = fs::read(path).map_err(|why| {
            vec![Mistake {
                file: name.clone(),
                line: 0,
                column: 0,
                what: format!("can't be read: {why}"),
            }]
        })?;
        let own = path.parent().unwrap_or(Path::new(""));
        let folder = given.file_root.as_deref().unwrap_or(own);
        let mut files = Vec::new();
        let flow = Flow::parse(&name, &text, given, &mut |file| {
            files.push(folder.join(file));
            read_within(folder, file)
        })?;
        Ok(Arc::new(Flow {
            files: files.into(),
            ..Flow::clone(&flow)
        }))
    }

    /// The same of a text. `files` reads what it names, or says why that can't be.
    ///
    /// # Errors
    /// What is wrong with it, in the order of its lines.
    pub fn parse(
        name: &str,
        text: &[u8],
        given: &Given,
        files: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
    ) -> Result<Arc<Flow>, Vec<Mistake>> {
        let typed = given.variables.iter().chain(&given.secrets);
        let columns = given.columns.iter().map(String::as_str);
        let known: Vec<&str> = typed.map(|(name, _)| &**name).chain(columns).collect();
        let file = file::read(name, text, &known, files)?;
        let typed = known.len() - given.columns.len();
        if !given.columns.is_empty() && !file.used[typed..].contains(&true) {
            return Err(vec![unused(name, &given.columns)]);
        }
        let slot = |name: &str| file.names.iter().position(|known| **known == *name);
        let mut initial = vec![None; file.names.len()];
        let mut secrecy = vec![Secrecy::Plain; file.names.len()];
        for (name, written) in &given.variables {
            if let Some(slot) = slot(name) {
                initial[slot] = Some(Value::typed(written));
            }
        }
        for (name, written) in &given.secrets {
            if let Some(slot) = slot(name) {
                initial[slot] = Some(Value::text(&**written));
                secrecy[slot] = Secrecy::Secret;
            }
        }
        for response in file
            .entries
            .iter()
            .filter_map(|entry| entry.expected.as_ref())
        {
            for capture in &response.captures {
                let slot = &mut secrecy[usize::from(capture.slot)];
                *slot = match capture.is_secret || *slot == Secrecy::Secret {
                    true => Secrecy::Secret,
                    false => Secrecy::Captured,
                };
            }
        }
        if let Some(hides) = &given.hides {
            let named = secrecy.iter_mut().zip(&file.names);
            let named = named.filter(|(_, name)| hides(name));
            named.for_each(|(secrecy, _)| *secrecy = Secrecy::Secret);
        }
        let columns = given.columns.iter().filter_map(|name| slot(name));
        Ok(Arc::new(Flow {
            columns: columns.map(|slot| slot as Slot).collect(),
            entries: file.entries.into(),
            variables: Arc::new(Variables {
                names: file.names,
                initial: initial.into(),
                secrecy: secrecy.into(),
                hides: given.hides.clone(),
            }),
            follow: given.follow,
            redirects_max: given.redirects_max,
            moved: None,
            files: Arc::default(),
        }))
    }

    /// The files that it names.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// It, with what goes to the first server that it names going to `origin` instead, such as
    /// `http://127.0.0.1:8080`: redirects to the one it names lead there, too.
    ///
    /// # Errors
    /// That isn't a server, or the flow names none.
    pub fn sent_to(&self, origin: &str) -> Result<Arc<Flow>, &'static str> {
        let here = Flow {
            moved: None,
            ..self.clone()
        };
        let from = here.origins().into_iter().next();
        let from = from.ok_or("it names no server")?;
        let mut to = Url::default();
        to.set(origin)?;
        Ok(Arc::new(Flow {
            moved: Some(Moved { from, to }),
            ..here
        }))
    }

    /// How many requests it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The most requests that a user sends who goes through it once: those that are repeated, tried
    /// again and redirected among them; none where nothing bounds them, or only answers say.
    pub fn requests_max(&self) -> Option<u64> {
        let of_entry = |entry: &Entry| {
            let [mut repeat, mut retry, mut redirects] = [1, 0, self.redirects_max];
            let mut follows = self.follow;
            for (_, choice) in &entry.options {
                let whole = || match choice.setting() {
                    Setting::Is(Value::Integer(whole)) => u32::try_from(*whole).ok(),
                    _ => None,
                };
                match choice {
                    Choice::Repeat(_) => repeat = whole()?,
                    Choice::Retry(_) => retry = whole().filter(|tries| *tries < u32::MAX)?,
                    Choice::RedirectsMax(_) => redirects = whole()?,
                    Choice::Follow(Setting::Is(Value::Bool(is))) => follows = *is,
                    Choice::Follow(_) => follows = true,
                    Choice::Delay(_)
                    | Choice::RetryInterval(_)
                    | Choice::Skip(_)
                    | Choice::Variable(..) => {}
                }
            }
            let redirects = if follows { redirects } else { 0 };
            [retry, redirects]
                .iter()
                .try_fold(u64::from(repeat), |sent, more| {
                    sent.checked_mul(1 + u64::from(*more))
                })
        };
        let mut each = self.entries.iter().map(of_entry);
        each.try_fold(0_u64, |sum, sent| sum.checked_add(sent?))
    }

    /// Never: a file without requests isn't read.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where its requests go, as far as their URLs hold nothing that only users have: one of each
    /// scheme, host and port, in the order of the file. Redirects may lead elsewhere.
    pub fn origins(&self) -> Vec<Url> {
        let mut origins: Vec<Url> = Vec::new();
        for url in (0..self.len()).filter_map(|at| self.origin(at)) {
            if !origins.iter().any(|known| known.is_same_origin(&url)) {
                origins.push(url);
            }
        }
        origins
    }

    /// Where the request at a place, from 0 on, goes, as far as scheme, host and port; none if only
    /// a user knows.
    pub fn origin(&self, at: usize) -> Option<Url> {
        let mut renderer = Renderer {
            scope: Scope {
                known: &self.variables,
                own: &[],
                basic: None,
            },
            random: &mut Random::seeded(0),
            unix_ms: 0,
        };
        let mut text = String::new();
        let mut pieces = self.entries.get(at)?.url.0.iter();
        let is_whole = pieces.all(|piece| renderer.write_piece(piece, &mut text).is_ok());
        if !is_whole {
            // What only users have may stand behind it.
            let authority = text.find("://")? + 3;
            let end = text[authority..].find(['/', '?', '#'])?;
            text.truncate(authority + end);
        }
        let mut url = Url::default();
        url.set(&text).ok()?;
        if let Some(moved) = &self.moved {
            moved.apply(&mut url);
        }
        Some(url)
    }

    /// The path of a request as the file has it, with its placeholders and without a query.
    pub fn path(&self, at: usize) -> Option<String> {
        let mut text = String::new();
        for piece in &self.entries.get(at)?.url.0 {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Made(made) | Piece::MadeInJson(made) => {
                    let name = match made.source {
                        Source::Variable(slot) => &*self.variables.names[usize::from(slot)],
                        Source::NewUuid => "newUuid",
                        Source::NewDate => "newDate",
                    };
                    text.extend(["{{", name, "}}"]);
                }
            }
        }
        let end = text.find(['?', '#']).unwrap_or(text.len());
        text.truncate(end);
        let is_made = text.starts_with("{{");
        let from = match (is_made, text.find("://")) {
            (true, _) => text.find("}}").map_or(0, |at| at + 2),
            (false, Some(at)) => at + 3,
            (false, None) => 0,
        };
        Some(match (text[from..].find('/'), is_made) {
            (Some(slash), _) => text.split_off(from + slash),
            // All of it may be in the variable.
            (None, true) => text,
            (None, false) => "/".to_owned(),
        })
    }

    /// The variable that a request's URL begins with, if it begins with one.
    pub fn base(&self, at: usize) -> Option<&str> {
        match self.entries.get(at)?.url.0.first()? {
            Piece::Made(made) | Piece::MadeInJson(made) => match made.source {
                Source::Variable(slot) => Some(&self.variables.names[usize::from(slot)]),
                Source::NewUuid | Source::NewDate => None,
            },
            Piece::Text(_) => None,
        }
    }

    /// Whether the file says anything of the answer to a request.
    pub fn expects(&self, at: usize) -> bool {
        let entry = self.entries.get(at);
        entry.is_some_and(|entry| entry.expected.is_some())
    }

    /// The lines at which something can go wrong, by request, each request's own first. A fault
    /// that names none of them belongs to the first of its request.
    pub fn lines(&self) -> Vec<(usize, u32)> {
        let mut lines = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            let mut of_entry = vec![entry.line];
            for pairs in [&entry.headers, &entry.query, &entry.cookies] {
                of_entry.extend(pairs.iter().map(|pair| pair.line));
            }
            of_entry.extend(entry.options.iter().map(|(line, _)| *line));
            if let Some(response) = &entry.expected {
                of_entry.extend([response.line, response.body_line]);
                of_entry.extend(response.headers.iter().map(|pair| pair.line));
                of_entry.extend(response.captures.iter().map(|capture| capture.line));
                of_entry.extend(response.asserts.iter().map(|assert| assert.line));
            }
            of_entry.retain(|line| *line > 0);
            of_entry.sort_unstable();
            of_entry.dedup();
            lines.extend(of_entry.into_iter().map(|line| (at, line)));
        }
        lines
    }

    /// The method and the line of a request, by its place from 0 on.
    pub fn entry(&self, at: usize) -> Option<(&str, u32)> {
        self.entries
            .get(at)
            .map(|entry| (&*entry.method, entry.line))
    }
}

/// That a data file feeds nothing.
fn unused(name: &str, columns: &[String]) -> Mistake {
    let columns = columns.join("}}, {{");
    Mistake {
        file: name.to_owned(),
        line: 0,
        column: 0,
        what: format!(
            "no request uses the data file: write one of its columns as {{{{{columns}}}}}, or drop \
             it"
        ),
    }
}

impl Choice {
    /// As files write it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Choice::Delay(_) => "delay",
            Choice::Follow(_) => "location",
            Choice::RedirectsMax(_) => "max-redirs",
            Choice::Repeat(_) => "repeat",
            Choice::Retry(_) => "retry",
            Choice::RetryInterval(_) => "retry-interval",
            Choice::Skip(_) => "skip",
            Choice::Variable(..) => "variable",
        }
    }

    pub(crate) fn setting(&self) -> &Setting {
        match self {
            Choice::Delay(setting)
            | Choice::Follow(setting)
            | Choice::RedirectsMax(setting)
            | Choice::Repeat(setting)
            | Choice::Retry(setting)
            | Choice::RetryInterval(setting)
            | Choice::Skip(setting)
            | Choice::Variable(_, setting) => setting,
        }
    }
}

/// A file within a folder; links may not lead out of it, either.
fn read_within(folder: &Path, file: &str) -> Result<Vec<u8>, String> {
    let outside = || {
        format!(
            "it lies outside of {}: put the file there, or set the file root",
            match folder.as_os_str().is_empty() {
                true => Path::new(".").display(),
                false => folder.display(),
            }
        )
    };
    let path = Path::new(file);
    let is_within = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if file.is_empty() || !path.components().all(is_within) {
        return Err(outside());
    }
    let folder_or_here = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let found = |why: std::io::Error| format!("can't be read: {why}");
    let root = folder_or_here.canonicalize().map_err(found)?;
    let path = root.join(path).canonicalize().map_err(found)?;
    if !path.starts_with(&root) {
        return Err(outside());
    }
    // Before it's opened: opening a pipe would wait for its other end.
    let metadata = fs::metadata(&path).map_err(found)?;
    if !metadata.is_file() {
        return Err("isn't a file".to_owned());
    }
    let mut bytes = Vec::new();
    let mut opened = fs::File::open(&path)
        .map_err(found)?
        .take(FILE_BYTES_MAX + 1);
    opened.read_to_end(&mut bytes).map_err(found)?;
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(format!("is larger than {} MiB", FILE_BYTES_MAX >> 20)),
        false => Ok(bytes),
    }
}
