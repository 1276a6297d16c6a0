//! A run drawn in the terminal while it goes on, on standard error: rates, response times, errors.
//!
//! `q` and Ctrl-C end the run; what was measured is reported. The screen is the alternate one, so
//! that nothing of it is left when the run is over.

mod drawing;

use std::collections::BTreeMap;
use std::io::{self, Stderr, stderr};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use measure::histogram::Sparse;
use measure::interval::Interval;
use measure::time::{Time, sleep_until};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use crate::{History, Reader};

/// How often keys are looked at, and the screen is drawn anew if there's something new.
const FRAME: Duration = Duration::from_millis(200);

/// What is known of the run before it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Title {
    /// What is loaded, and how.
    pub text: String,
    /// The names of the steps, where there are several.
    pub steps: Vec<String>,
}

/// A run on the screen. The terminal is as it was once this is dropped.
#[derive(Debug)]
pub struct Screen {
    said: Arc<Mutex<String>>,
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Draws what `reader` gets until the run is over; calls `stop` where somebody wants that.
    ///
    /// # Errors
    /// Where the terminal can't be drawn on, or no thread can be had: why.
    pub fn start(
        title: Title,
        reader: Reader,
        stop: impl Fn() + Send + 'static,
    ) -> Result<Screen, String> {
        let own = Own::take().map_err(|why| format!("can't draw on this terminal: {why}"))?;
        let said = Arc::<Mutex<String>>::default();
        let (over, ended) = channel();
        let shown = Arc::clone(&said);
        let thread = thread::Builder::new().name("screen".to_owned());
        let draw = move || own.draw(State::new(title), &reader, &shown, &ended, &stop);
        let thread = thread
            .spawn(draw)
            .map_err(|why| format!("can't start a thread for --live: {why}"))?;
        Ok(Screen {
            said,
            over: Some(over),
            thread: Some(thread),
        })
    }

    /// Shows how far the run is, in words.
    pub fn say(&self, text: &str) {
        text.clone_into(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            // One that panicked has given the terminal back, too.
            drop(thread.join());
        }
    }
}

/// Gives the terminal back where a process ends without dropping its [`Screen`].
pub fn restore() {
    // Whoever can't be given it back hasn't lent it.
    let _ = disable_raw_mode();
    let _ = execute!(stderr(), LeaveAlternateScreen);
}

/// The terminal, until it is dropped.
struct Own(Terminal<CrosstermBackend<Stderr>>);

impl Own {
    fn take() -> io::Result<Own> {
        enable_raw_mode()?;
        let own = execute!(stderr(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(stderr())));
        own.map(Own).inspect_err(|_| restore())
    }

    fn draw(
        mut self,
        mut state: State,
        reader: &Reader,
        said: &Mutex<String>,
        over: &Receiver<()>,
        stop: &dyn Fn(),
    ) {
        loop {
            while let Some(interval) = reader.try_next() {
                state.add(&interval);
            }
            said.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_into(&mut state.said);
            // Whoever watches can do without a frame that could not be drawn.
            let _ = self.0.draw(|frame| drawing::draw(frame, &state));
            let is_key = event::poll(FRAME).unwrap_or_else(|_| {
                sleep_until(Time::now() + FRAME);
                false
            });
            if is_key && event::read().is_ok_and(|event| wants_end(&event)) {
                state.is_ending = true;
                stop();
            }
            if over.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected) {
                return;
            }
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        restore();
    }
}

/// Raw mode makes a key of Ctrl-C.
fn wants_end(event: &Event) -> bool {
    let Event::Key(KeyEvent {
        code,
        modifiers,
        kind: KeyEventKind::Press,
        ..
    }) = event
    else {
        return false;
    };
    match code {
        KeyCode::Char('q') => true,
        KeyCode::Char('c') => modifiers.contains(KeyModifiers::CONTROL),
        _ => false,
    }
}

/// What is drawn.
#[derive(Debug, Default)]
struct State {
    title: Title,
    /// How far it is.
    said: String,
    is_ending: bool,
    history: History,
    connected: u64,
    completed: u64,
    failed: u64,
    errors: BTreeMap<&'static str, u64>,
    /// Of the last interval.
    lateness_p99_ns: u64,
    bytes_received_per_s: f64,
    steps: Vec<Step>,
}

/// A step so far, and in the last interval.
#[derive(Clone, Debug, Default)]
struct Step {
    completed: u64,
    failed: u64,
    rate: f64,
    last: Sparse,
}

impl State {
    fn new(title: Title) -> State {
        State {
            history: History::new(),
            title,
            ..State::default()
        }
    }

    fn add(&mut self, interval: &Interval) {
        self.history.add(interval);
        let counted = &interval.counted;
        self.connected = interval.connected;
        self.completed += counted.completed;
        self.failed += counted.failed;
        for (kind, count) in counted.errors.iter() {
            *self.errors.entry(kind.name()).or_default() += count;
        }
        self.lateness_p99_ns = counted.lateness.quantile(0.99);
        let seconds = interval.seconds().max(1e-9);
        self.bytes_received_per_s = counted.bytes_received as f64 / seconds;
        let names = self.title.steps.len();
        self.steps.resize_with(names, Step::default);
        for (step, counted) in self.steps.iter_mut().zip(&counted.steps) {
            step.completed += counted.completed;
            step.failed += counted.failed;
            step.rate = counted.completed as f64 / seconds;
            step.last = Sparse::of(&counted.response);
        }
    }
}
