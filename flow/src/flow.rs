//! A file that was read, once for all users.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use measure::random::Random;

use crate::file::{self, Mistake};
use crate::model::{Choice, Entry, Setting, Slot};
use crate::render::Renderer;
use crate::scope::{Scope, Secrecy, Variables};
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
pub struct Flow {
    pub(crate) entries: Box<[Entry]>,
    pub(crate) variables: Variables,
    pub(crate) columns: Box<[Slot]>,
    pub(crate) follow: bool,
    pub(crate) redirects_max: u32,
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
                line: 1,
                column: 1,
                what: format!("can't be read: {why}"),
            }]
        })?;
        let own = path.parent().unwrap_or(Path::new(""));
        let folder = given.file_root.as_deref().unwrap_or(own);
        Flow::parse(&name, &text, given, &mut |file| read_within(folder, file))
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
        let columns = given.columns.iter().filter_map(|name| slot(name));
        Ok(Arc::new(Flow {
            columns: columns.map(|slot| slot as Slot).collect(),
            entries: file.entries,
            variables: Variables {
                names: file.names,
                initial: initial.into(),
                secrecy: secrecy.into(),
            },
            follow: given.follow,
            redirects_max: given.redirects_max,
        }))
    }

    /// How many requests it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Never: a file without requests isn't read.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where its requests go, as far as their URLs hold nothing that only users have: one of each
    /// scheme, host and port, in the order of the file. Redirects may lead elsewhere.
    pub fn origins(&self) -> Vec<Url> {
        let mut renderer = Renderer {
            scope: Scope {
                known: &self.variables,
                own: &[],
                basic: None,
            },
            random: &mut Random::seeded(0),
            unix_ms: 0,
        };
        let mut origins: Vec<Url> = Vec::new();
        for entry in &self.entries {
            let mut url = Url::default();
            let is_known = match renderer.text(&entry.url) {
                Ok(text) => url.set(&text).is_ok(),
                Err(_) => false,
            };
            if is_known && !origins.iter().any(|known| known.is_same_origin(&url)) {
                origins.push(url);
            }
        }
        origins
    }

    /// The method and the line of a request, by its place from 0 on.
    pub fn entry(&self, at: usize) -> Option<(&str, u32)> {
        self.entries
            .get(at)
            .map(|entry| (&*entry.method, entry.line))
    }
}

impl Choice {
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
