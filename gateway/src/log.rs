//! The access log: a line of JSON for each request, or for a share of them. A worker hands an entry
//! to the thread that writes, and never waits for it: what doesn't fit is counted, and left out.
//!
//! Queries, fields and bodies aren't in it, because they may hold secrets.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use measure::time;
use serde::Serialize;
use server::{Body, Response};

use crate::terminal;

/// Entries that may wait to be written.
const WAITING_MAX: usize = 8192;

/// Bytes of a path or a host that are written.
const TEXT_BYTES_MAX: usize = 1024;

/// What is known of a request once it's over.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    /// When it was over, in UTC; filled in by the thread that writes.
    time: String,
    pub(crate) client: Option<IpAddr>,
    method: String,
    host: String,
    /// Without the query.
    path: String,
    /// The route; none matched without one.
    pub(crate) route: Option<String>,
    /// What the client was told; 0 if it left before.
    pub(crate) status: u16,
    /// Bytes of the body of the answer.
    pub(crate) bytes: u64,
    pub(crate) duration_us: u64,
    pub(crate) upstream: Option<String>,
    /// So often was it sent again.
    pub(crate) retries: u8,
    pub(crate) request_id: String,
    /// Why the gateway answered with an error by itself, as the client was told.
    why: Option<String>,
}

impl Entry {
    /// The entry of a request that has just come.
    pub(crate) fn of(request: &server::Request<'_>, client: Option<IpAddr>) -> Entry {
        let text = |bytes: &[u8]| {
            let cut = &bytes[..bytes.len().min(TEXT_BYTES_MAX)];
            cut.escape_ascii().to_string()
        };
        Entry {
            time: String::new(),
            client,
            method: text(request.method()),
            host: text(request.host().unwrap_or_default()),
            path: text(request.path()),
            route: None,
            status: 0,
            bytes: 0,
            duration_us: 0,
            upstream: None,
            retries: 0,
            request_id: String::new(),
            why: None,
        }
    }

    /// The gateway answers by itself.
    pub(crate) fn answered(&mut self, response: &Response) {
        self.status = response.status;
        let body = match &response.body {
            Body::Static(bytes) => bytes,
            Body::Bytes(bytes) => &bytes[..],
            _ => &[],
        };
        self.bytes = if self.method == "HEAD" {
            0
        } else {
            body.len() as u64
        };
        if response.status >= 400 {
            let cut = &body.trim_ascii()[..body.trim_ascii().len().min(TEXT_BYTES_MAX)];
            let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
            self.why = Some(String::from_utf8_lossy(cut).chars().map(shown).collect());
        }
    }
}

/// What the thread that writes is told.
enum Message {
    Write(Box<Entry>),
    /// The file was moved away: a new one is begun.
    Reopen,
    End,
}

/// What workers write to. Clones write to the same.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    sender: SyncSender<Message>,
    /// Which share of the requests is written.
    pub(crate) sample: f64,
    dropped: Arc<AtomicU64>,
}

impl Log {
    /// Hands an entry over.
    pub(crate) fn write(&self, entry: Box<Entry>) {
        if self.sender.try_send(Message::Write(entry)).is_err() {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Has the file opened again, as a program that moves logs away wants.
    pub(crate) fn reopen(&self) {
        if let Err(TrySendError::Full(message)) = self.sender.try_send(Message::Reopen) {
            // A moment with a full queue; it's the thread of a signal that waits.
            let _ = self.sender.send(message);
        }
    }

    /// Entries that were left out.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }
}

/// The thread that writes.
#[derive(Debug)]
pub(crate) struct Writing {
    log: Log,
    thread: JoinHandle<()>,
}

impl Writing {
    /// Opens a file, to be appended to; `-` is standard output.
    ///
    /// # Errors
    /// It can't be opened.
    pub(crate) fn begin(path: &Path, sample: f64) -> io::Result<Writing> {
        let out = open(path)?;
        let (sender, receiver) = sync_channel(WAITING_MAX);
        let path = path.to_owned();
        let dropped = Arc::<AtomicU64>::default();
        let missed = Arc::clone(&dropped);
        let thread = thread::Builder::new()
            .name("access-log".into())
            .spawn(move || write_all((out, &path), &receiver, &missed))?;
        let log = Log {
            sender,
            sample,
            dropped,
        };
        Ok(Writing { log, thread })
    }

    /// What workers write to.
    pub(crate) fn log(&self) -> Log {
        self.log.clone()
    }

    /// Waits until all that was handed over is written.
    pub(crate) fn end(self) {
        let _ = self.log.sender.send(Message::End);
        let _ = self.thread.join();
    }
}

enum Out {
    Standard(io::Stdout),
    File(File),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Standard(out) => out.write(bytes),
            Out::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Standard(out) => out.flush(),
            Out::File(out) => out.flush(),
        }
    }
}

fn open(path: &Path) -> io::Result<BufWriter<Out>> {
    let out = match path == Path::new("-") {
        true => Out::Standard(io::stdout()),
        false => {
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            if ends_in_a_line(path) {
                // A disk was full then.
                let _ = file.write_all(b"\n");
            }
            Out::File(file)
        }
    };
    Ok(BufWriter::new(out))
}

/// Whether a file breaks off in the middle of a line.
fn ends_in_a_line(path: &Path) -> bool {
    let mut last = [b'\n'];
    let read = fs::metadata(path).and_then(|about| {
        if about.is_file() && about.len() > 0 {
            File::open(path)?.read_exact_at(&mut last, about.len() - 1)?;
        }
        Ok(())
    });
    read.is_ok() && last != [b'\n']
}

/// Writes what comes. Whenever nothing waits, everything that was written is there to be read.
///
/// A line is written at once or with others, and never in two parts: other processes may write to
/// the same file.
fn write_all(
    (mut out, path): (BufWriter<Out>, &Path),
    messages: &Receiver<Message>,
    dropped: &AtomicU64,
) {
    let mut line = Vec::new();
    // Lines that are in no file yet.
    let mut pending = 0;
    let flush = |out: &mut BufWriter<Out>, pending: &mut u64| {
        if out.flush().is_ok() {
            *pending = 0;
        }
    };
    loop {
        let message = match messages.try_recv() {
            Ok(message) => message,
            Err(_) => {
                flush(&mut out, &mut pending);
                match messages.recv() {
                    Ok(message) => message,
                    Err(_) => return,
                }
            }
        };
        match message {
            Message::Write(mut entry) => {
                entry.time = time::utc_stamp(time::unix_seconds());
                line.clear();
                if serde_json::to_writer(&mut line, &entry).is_ok() {
                    line.push(b'\n');
                    // A disk that is full loses lines and nothing else.
                    match out.write_all(&line) {
                        // The buffer may have gone out before.
                        Ok(()) if out.buffer().len() <= line.len() => pending = 1,
                        Ok(()) => pending += 1,
                        Err(_) => drop(dropped.fetch_add(1, Relaxed)),
                    }
                }
            }
            Message::Reopen => {
                flush(&mut out, &mut pending);
                match open(path) {
                    Ok(opened) => {
                        dropped.fetch_add(std::mem::take(&mut pending), Relaxed);
                        // What it still has goes nowhere, rather than behind a line of the new one.
                        drop(std::mem::replace(&mut out, opened).into_parts());
                    }
                    Err(why) => {
                        terminal::tell(format_args!("the access log stays as it is: {why}"));
                    }
                }
            }
            Message::End => {
                flush(&mut out, &mut pending);
                dropped.fetch_add(pending, Relaxed);
                return;
            }
        }
    }
}
