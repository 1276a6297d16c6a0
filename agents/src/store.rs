//! Files on their way from a coordinator to its agents: in the object store of the NATS server, by
//! their SHA-256, and in a folder of each agent.
//!
//! The store keeps them in memory and forgets them. Whoever takes one out looks at its hash, so it
//! doesn't matter who may write there.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream;
use async_nats::jetstream::object_store::{Config, ObjectStore};
use async_nats::jetstream::stream::StorageType;
use bytes::Bytes;
use fleet::chain::{Digest, Hasher};
use fleet::message::DataFile;
use measure::foreign::Foreign;
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf};
use tokio::time::timeout;

use crate::folder::{self, FILE_MODE, Folder, LOCK};
use crate::nats::{Broker, End};

/// The most bytes of all files of a load: the server has them in its memory.
pub(crate) const BYTES_MAX: u64 = 1 << 30;
/// How long the server keeps them, if the coordinator doesn't take them away before.
const KEPT: Duration = Duration::from_secs(3600);
/// How long the server may take to answer, and how long nothing of a file may come.
const ANSWER: Duration = Duration::from_secs(10);
/// What is read at once.
const PART_BYTES: usize = 1 << 16;
/// How the name of an agent's folder begins.
const FOLDER: &str = "ringside-agent-";
/// The folder in it in which files have the names that a plan knows them by.
const NAMES: &str = "names";

/// Something that is sent along with a plan.
#[derive(Clone, Debug)]
pub enum Content {
    /// A file of the coordinator's.
    File(PathBuf),
    /// What the coordinator made.
    Made(Bytes),
}

/// The files of a coordinator in the store, which are gone with it.
pub struct Shelf {
    context: jetstream::Context,
    store: ObjectStore,
    bucket: String,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shelf({})", self.bucket)
    }
}

impl Shelf {
    /// An empty one.
    ///
    /// # Errors
    /// A sentence: the server keeps no objects.
    pub async fn make(end: &End, broker: &Broker, bucket: &str) -> Result<Shelf, String> {
        let context = context(end.client());
        let config = Config {
            bucket: bucket.to_owned(),
            description: Some("files of a load, on their way to agents".to_owned()),
            max_age: KEPT,
            storage: StorageType::Memory,
            num_replicas: 1,
            ..Config::default()
        };
        let store = context.create_object_store(config).await.map_err(|why| {
            format!(
                "the NATS server {} doesn't take files, which this load needs ({}): switch \
                 JetStream on (nats-server --jetstream), with memory for them",
                broker.shown(),
                Foreign::new(why.to_string())
            )
        })?;
        Ok(Shelf {
            context,
            store,
            bucket: bucket.to_owned(),
        })
    }

    /// Puts a file there, unless it's there already.
    ///
    /// # Errors
    /// A sentence: it can't be sent, or isn't any more what its digest says.
    pub async fn put(&self, content: &Content, digest: Digest) -> Result<(), String> {
        let name = digest.to_string();
        let there = self.store.info(&name).await;
        if there.is_ok_and(|info| !info.deleted) {
            return Ok(());
        }
        let (shown, sent) = match content {
            Content::Made(bytes) => {
                let mut reader = Hashing::new(&bytes[..]);
                let put = self.store.put(name.as_str(), &mut reader).await;
                (
                    "what the coordinator made".to_owned(),
                    put.map(|_| reader.finish()),
                )
            }
            Content::File(path) => {
                let shown = path.display().to_string();
                let file = File::open(path).await;
                let file = file.map_err(|why| format!("can't read {shown}: {why}"))?;
                let mut reader = Hashing::new(file);
                let put = self.store.put(name.as_str(), &mut reader).await;
                (shown, put.map(|_| reader.finish()))
            }
        };
        match sent {
            Ok(sent) if sent == digest => Ok(()),
            Ok(_) => {
                let _deleted = self.store.delete(&name).await;
                Err(format!(
                    "{shown} changed between its hash and its sending: leave it alone until the \
                     load has begun, and start again"
                ))
            }
            Err(why) => Err(format!(
                "{shown} can't be sent to the NATS server ({}): has it enough memory for it?",
                Foreign::new(why.to_string())
            )),
        }
    }

    /// Takes all of them away.
    pub(crate) async fn clear(self) {
        // The server forgets them in any case.
        let gone = self.context.delete_object_store(&self.bucket);
        let _late = timeout(ANSWER, gone).await;
    }
}

fn context(client: Client) -> jetstream::Context {
    let mut context = jetstream::new(client);
    context.set_timeout(ANSWER);
    context
}

/// Makes the digest of what is read.
struct Hashing<R> {
    inner: R,
    hash: Hasher,
}

impl<R> Hashing<R> {
    fn new(inner: R) -> Hashing<R> {
        let hash = Hasher::new();
        Hashing { inner, hash }
    }

    fn finish(self) -> Digest {
        self.hash.finish()
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Hashing<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.hash.add(&buffer.filled()[before..]);
        read
    }
}

/// Where an agent keeps the files of its load, for its own user alone. They are gone with it.
#[derive(Debug, Default)]
pub(crate) struct Cellar {
    /// Where its folder is made; none: where temporary files are.
    pub(crate) place: Option<PathBuf>,
    folder: Mutex<Option<Folder>>,
}

impl Cellar {
    pub(crate) fn new(place: Option<PathBuf>) -> Cellar {
        Cellar {
            place,
            folder: Mutex::default(),
        }
    }

    /// The folder.
    fn path(&self) -> Result<PathBuf, String> {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = &*folder {
            return Ok(folder.path().to_owned());
        }
        let made = match &self.place {
            Some(place) => folder::make(place).and_then(|()| Folder::make(place, FOLDER)),
            None => Folder::make(&std::env::temp_dir(), FOLDER),
        };
        let made = made.map_err(|why| format!("can't make a folder for files: {why}"))?;
        let path = made.path().to_owned();
        *folder = Some(made);
        Ok(path)
    }

    /// Has these files, and no others, in its folder: where they are, in their order.
    ///
    /// # Errors
    /// A sentence: which can't be had, or isn't what its digest says.
    pub(crate) fn fetch(
        &self,
        broker: &Broker,
        bucket: &str,
        wanted: &[DataFile],
    ) -> Result<Vec<PathBuf>, String> {
        let folder = self.path()?;
        let path = |file: &DataFile| folder.join(file.digest.to_string());
        self.forget_others(&folder, wanted);
        let missing: Vec<DataFile> = wanted
            .iter()
            .filter(|file| !path(file).is_file())
            .cloned()
            .collect();
        if !missing.is_empty() {
            let (broker, bucket) = (broker.clone(), bucket.to_owned());
            let into = folder.clone();
            // The client breaks off where the server refuses what it needs.
            let taking = std::thread::spawn(move || take(&broker, &bucket, &missing, &into));
            let broke_off = || {
                "files can't be had from the NATS server: does it let agents use JetStream?"
                    .to_owned()
            };
            taking.join().map_err(|_| broke_off())??;
        }
        Ok(wanted.iter().map(path).collect())
    }

    /// What earlier loads needed.
    fn forget_others(&self, folder: &Path, wanted: &[DataFile]) {
        let Ok(files) = fs::read_dir(folder) else {
            return;
        };
        let is_wanted = |name: &str| wanted.iter().any(|file| file.digest.to_string() == name);
        for file in files.flatten() {
            let name = file.file_name();
            if name != LOCK && !name.to_str().is_some_and(is_wanted) {
                let path = file.path();
                let _gone = match path.is_dir() {
                    true => fs::remove_dir_all(path),
                    false => fs::remove_file(path),
                };
            }
        }
    }

    /// A new folder beside the files, for their names.
    pub(crate) fn names(&self) -> Result<PathBuf, String> {
        let path = self.path()?.join(NAMES);
        let made = match path.is_dir() {
            true => fs::remove_dir_all(&path).and_then(|()| fs::create_dir(&path)),
            false => fs::create_dir(&path),
        };
        made.map_err(|why| format!("can't make a folder for files: {why}"))?;
        Ok(path)
    }

    /// Removes everything.
    pub(crate) fn clear(&self) {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        drop(folder.take());
    }

    /// A sentence in which files are called what their owner calls them: where they are on this
    /// machine is nothing that anybody else could look up.
    pub(crate) fn as_named(&self, sentence: &str) -> String {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        match &*folder {
            Some(folder) => without(&folder.path().join(NAMES), sentence),
            None => sentence.to_owned(),
        }
    }
}

/// A text without the paths of the folders in this one, each of which a file is in.
fn without(folder: &Path, text: &str) -> String {
    let prefix = format!("{}/", folder.display());
    let mut parts = text.split(&prefix);
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // What a flow names is in a folder that has no number.
        rest.push_str(part.split_once('/').map_or(part, |(_, name)| name));
    }
    rest
}

/// Takes files out of the store, by a connection of its own.
fn take(broker: &Broker, bucket: &str, files: &[DataFile], into: &Path) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| format!("can't wait for files: {why}"))?;
    runtime.block_on(async {
        let end = End::connect(broker, "files").await?;
        let store = context(end.client()).get_object_store(bucket).await;
        let store = store.map_err(|why| {
            let why = Foreign::new(why.to_string());
            format!("the NATS server doesn't have the files of this load ({why})")
        })?;
        let mut left = BYTES_MAX;
        for file in files {
            take_one(&store, file, into, &mut left).await?;
        }
        Ok(())
    })
}

async fn take_one(
    store: &ObjectStore,
    file: &DataFile,
    into: &Path,
    left: &mut u64,
) -> Result<(), String> {
    let name = file.digest.to_string();
    let failed = |why: &dyn fmt::Display| {
        let why = Foreign::new(why.to_string());
        format!("{} can't be had from the NATS server ({why})", file.name)
    };
    let mut object = store.get(&name).await.map_err(|why| failed(&why))?;
    let path = into.join(format!("{name}.part"));
    let kept = |why: std::io::Error| format!("{} can't be kept here: {why}", file.name);
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true);
    let written = options.mode(FILE_MODE).open(&path).await;
    let mut written = written.map_err(kept)?;
    let (mut hash, mut part) = (Hasher::new(), vec![0; PART_BYTES]);
    loop {
        let read = timeout(ANSWER, object.read(&mut part)).await;
        let read = read.map_err(|_| failed(&"nothing of it came for 10 s"))?;
        let read = read.map_err(|why| failed(&why))?;
        if read == 0 {
            break;
        }
        *left = left.checked_sub(read as u64).ok_or_else(|| {
            format!("the files of this load have more than {BYTES_MAX} bytes, the most agents take")
        })?;
        hash.add(&part[..read]);
        written.write_all(&part[..read]).await.map_err(kept)?;
    }
    written.flush().await.map_err(kept)?;
    if hash.finish() != file.digest {
        return Err(format!(
            "{} isn't the file that the coordinator has",
            file.name
        ));
    }
    fs::rename(&path, into.join(name)).map_err(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_what_their_owner_calls_them() {
        let cellar = Cellar::default();
        let said = "6926 answers weren't c1.hurl:6 (GET {{next}})";
        assert_eq!(cellar.as_named(said), said);
        let names = cellar.names().unwrap();
        for (here, named) in [
            ("0/c1.hurl:6", "c1.hurl:6"),
            ("files/a/b.txt: not UTF-8", "a/b.txt: not UTF-8"),
        ] {
            let here = format!("x {}/{here}, y {}/{here}", names.display(), names.display());
            assert_eq!(cellar.as_named(&here), format!("x {named}, y {named}"));
        }
    }

    #[test]
    fn an_agents_files_are_gone_when_they_are_cleared() {
        let place = tempfile::tempdir().unwrap();
        let cellar = Cellar::new(Some(place.path().join("kept")));
        let key = cellar.names().unwrap().join("key.pem");
        folder::write(&key, "a key").unwrap();
        // Those of another load go, and the folder stays this agent's.
        cellar.forget_others(&cellar.path().unwrap(), &[]);
        assert!(!key.exists() && cellar.path().unwrap().join(LOCK).exists());
        cellar.clear();
        let left = fs::read_dir(place.path().join("kept")).unwrap().count();
        assert_eq!(left, 0);
    }
}
