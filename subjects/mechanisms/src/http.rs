//! As much of HTTP/1.1 as constant answers need, the same for every way of waiting.

use std::collections::HashMap;

/// The end of a request without a body.
const END: &[u8] = b"\r\n\r\n";
/// A request that has no end by then isn't one of ours.
const REQUEST_BYTES_MAX: usize = 16 * 1024;
/// What is sent for a path that isn't served.
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";

/// How much is received at once.
pub const RECEIVE_BYTES: usize = 4096;

/// Lengths of the bodies at `/bytes/N`.
const LENGTHS: [usize; 8] = [16, 64, 1024, 4096, 8192, 65_536, 262_144, 1_048_576];

/// Every answer, whole and made ahead. They live as long as the program, so that a kernel that
/// still reads one can be left alone.
pub struct Answers {
    by_path: HashMap<Vec<u8>, &'static [u8]>,
    hello: &'static [u8],
}

impl Answers {
    pub fn new() -> Answers {
        let hello = answer("text/plain", b"Hello, World!");
        let mut by_path = HashMap::from([(b"/".to_vec(), hello)]);
        for length in LENGTHS {
            let digits: Vec<u8> = (0..length).map(|at| b'0' + (at % 10) as u8).collect();
            let path = format!("/bytes/{length}").into_bytes();
            by_path.insert(path, answer("application/octet-stream", &digits));
        }
        Answers { by_path, hello }
    }

    /// All of them, for a kernel that wants to know them ahead.
    pub fn all(&self) -> Vec<&'static [u8]> {
        self.by_path.values().copied().collect()
    }

    fn of(&self, request: &[u8]) -> &'static [u8] {
        if request.starts_with(b"GET / ") {
            return self.hello;
        }
        let mut words = request.split(|&byte| byte == b' ');
        let path = words.nth(1).unwrap_or_default();
        self.by_path.get(path).copied().unwrap_or(NOT_FOUND)
    }
}

fn answer(content_type: &str, body: &[u8]) -> &'static [u8] {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
    );
    Vec::leak([head.as_bytes(), body].concat())
}

/// The requests of one connection, in whatever pieces they come.
#[derive(Default)]
pub struct Requests {
    /// The beginning of a request whose end hasn't come.
    begun: Vec<u8>,
}

/// A request that has no end.
#[derive(Debug)]
pub struct TooLong;

impl Requests {
    /// Gives `answer` what each request that has ended is answered with, in order.
    ///
    /// # Errors
    ///
    /// [`TooLong`] for what isn't a request without a body.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        answers: &Answers,
        mut answer: impl FnMut(&'static [u8]),
    ) -> Result<(), TooLong> {
        // Nearly always, what comes is one whole request.
        if self.begun.is_empty() && bytes.ends_with(END) && ends(bytes).count() == 1 {
            answer(answers.of(bytes));
            return Ok(());
        }
        self.begun.extend_from_slice(bytes);
        let mut start = 0;
        for end in ends(&self.begun) {
            answer(answers.of(&self.begun[start..end]));
            start = end;
        }
        self.begun.drain(..start);
        if self.begun.len() > REQUEST_BYTES_MAX {
            return Err(TooLong);
        }
        Ok(())
    }
}

/// Where requests end in `bytes`.
fn ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let windows = bytes.windows(END.len()).enumerate();
    windows.filter_map(|(at, window)| (window == END).then_some(at + END.len()))
}
