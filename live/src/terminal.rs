//! What goes on, drawn in the terminal, on standard error: one [`Screen`] for everything, and a
//! [`Body`] for whatever is watched.
//!
//! `q` and Ctrl-C end what goes on; what was measured is reported. The screen is the alternate one,
//! so that nothing of it is left when that's over.

mod charts;
mod hold;
mod run;

use std::io::{self, Stderr, stderr};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use measure::time::{Time, sleep_until};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use ratatui::{Frame, Terminal};

pub use hold::HoldBody;
pub use run::RunBody;

/// How often keys are looked at, and the screen is drawn anew if there's something new.
const FRAME: Duration = Duration::from_millis(200);

/// How long the thread that draws is waited for, and how often it's looked whether it has ended.
const LEAVE_MAX: Duration = Duration::from_secs(2);
const LEAVE_POLL: Duration = Duration::from_millis(10);

/// The exit code of a program that SIGINT ends.
const INTERRUPTED: i32 = 130;

/// What a screen shows below its head.
pub trait Body: Send + 'static {
    /// Takes what has come. Whether anything has.
    fn renew(&mut self) -> bool;

    /// Draws it into `area`, however small that is.
    fn draw(&self, frame: &mut Frame<'_>, area: Rect);
}

impl Body for Box<dyn Body> {
    fn renew(&mut self) -> bool {
        (**self).renew()
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        (**self).draw(frame, area);
    }
}

/// What goes on, on the screen. The terminal is as it was once this is dropped.
pub struct Screen {
    said: Arc<Mutex<String>>,
    stage: Arc<Mutex<Stage>>,
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Draws `body` below `title` until it's dropped; calls `stop` where somebody wants the end.
    ///
    /// # Errors
    /// Where the terminal can't be drawn on, or no thread can be had: why.
    pub fn start(
        title: String,
        body: impl Body,
        stop: impl Fn() + Send + 'static,
    ) -> Result<Screen, String> {
        give_back_in_panics();
        let own = Own::take().map_err(|why| format!("can't draw on this terminal: {why}"))?;
        let said = Arc::<Mutex<String>>::default();
        let (over, ended) = channel();
        let head = Head {
            title,
            ..Head::default()
        };
        let stage = Arc::new(Mutex::new(Stage {
            own,
            head,
            body: Box::new(body),
        }));
        let (shown, words) = (Arc::clone(&stage), Arc::clone(&said));
        let thread = thread::Builder::new().name("screen".to_owned());
        let watch = move || watch(&shown, &words, &ended, &stop);
        let thread = thread
            .spawn(watch)
            .map_err(|why| format!("can't start a thread for --live: {why}"))?;
        Ok(Screen {
            said,
            stage,
            over: Some(over),
            thread: Some(thread),
        })
    }

    /// Shows how far it is, in words. Waits for nobody: it's drawn with the next frame.
    pub fn say(&self, text: &str) {
        text.clone_into(&mut lock(&self.said));
    }

    /// Draws what there is at once, in the thread that asks for it, which may be the only time at
    /// which that disturbs nothing.
    pub fn draw(&self) {
        let stage = &mut *lock(&self.stage);
        stage.renew(&self.said);
        stage.draw();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.over.take());
        let Some(thread) = self.thread.take() else {
            return;
        };
        // A terminal that nobody reads takes nothing more, and holds up what is to be written
        // elsewhere for no longer than this.
        let until = Time::now() + LEAVE_MAX;
        while !thread.is_finished() && Time::now() < until {
            sleep_until(Time::now() + LEAVE_POLL);
        }
        match thread.is_finished() {
            // One that panicked has given the terminal back, too.
            true => drop(thread.join()),
            // Nothing more can be written there, but its modes can be what they were.
            false => drop(disable_raw_mode()),
        }
    }
}

/// A panic gives the terminal back before it says what happened, which would be lost with the
/// alternate screen; nothing is drawn from then on.
fn give_back_in_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            if IS_TAKEN.load(Ordering::Acquire) {
                restore();
            }
            before(what);
        }));
    });
}

/// Whether a screen has the terminal.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back where a process ends without dropping its [`Screen`].
pub fn restore() {
    IS_TAKEN.store(false, Ordering::Release);
    // Whoever can't be given it back hasn't lent it.
    let _ = disable_raw_mode();
    let _ = execute!(stderr(), LeaveAlternateScreen, Show);
}

/// The terminal, until it is dropped.
struct Own(Terminal<CrosstermBackend<Stderr>>);

impl Own {
    fn take() -> io::Result<Own> {
        enable_raw_mode()?;
        IS_TAKEN.store(true, Ordering::Release);
        let own = execute!(stderr(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(stderr())));
        own.map(Own).inspect_err(|_| restore())
    }
}

/// Looks for keys until it's over, and draws what is new.
fn watch(stage: &Mutex<Stage>, said: &Mutex<String>, over: &Receiver<()>, stop: &dyn Fn()) {
    let mut is_new = true;
    loop {
        let mut shown = lock(stage);
        is_new |= shown.renew(said);
        if is_new {
            shown.draw();
        }
        drop(shown);
        let has_come = event::poll(FRAME).unwrap_or_else(|_| {
            sleep_until(Time::now() + FRAME);
            false
        });
        // A key, or another size of the terminal.
        is_new = has_come;
        let came = has_come.then(event::read).and_then(Result::ok);
        if let Some(Event::Resize(..)) = came {
            // It may be as large as before by now, and yet have lost what stood on it.
            lock(stage).clear();
        }
        match came.and_then(|event| wish_of(&event)) {
            // Whoever asks for the second time won't wait, as with a second SIGINT.
            Some(Wish::Interrupt) if lock(stage).head.is_ending => {
                restore();
                std::process::exit(INTERRUPTED);
            }
            Some(Wish::Interrupt | Wish::End) => {
                lock(stage).head.is_ending = true;
                stop();
            }
            None => {}
        }
        if over.try_recv() == Err(TryRecvError::Disconnected) {
            return;
        }
    }
}

/// What is drawn, and on what.
struct Stage {
    own: Own,
    head: Head,
    body: Box<dyn Body>,
}

impl Stage {
    /// Takes what is new. Whether anything is.
    fn renew(&mut self, said: &Mutex<String>) -> bool {
        self.body.renew() | self.head.renew(&lock(said))
    }

    /// The next frame is drawn whole. (`Terminal::clear` would ask where the cursor is, and do
    /// nothing on a terminal that doesn't say.)
    fn clear(&mut self) {
        if IS_TAKEN.load(Ordering::Acquire)
            && execute!(stderr(), Clear(ClearType::All)).is_ok()
            && let Ok(empty) = Terminal::new(CrosstermBackend::new(stderr()))
        {
            self.own.0 = empty;
        }
    }

    fn draw(&mut self) {
        if IS_TAKEN.load(Ordering::Acquire) {
            let (head, body) = (&self.head, &*self.body);
            // Whoever watches can do without a frame that could not be drawn.
            let _ = self.own.0.draw(|frame| draw(frame, head, body));
        }
    }
}

/// What stands above every body.
#[derive(Debug, Default)]
struct Head {
    title: String,
    /// How far it is.
    said: String,
    is_ending: bool,
}

impl Head {
    /// Whether something else is said.
    fn renew(&mut self, said: &str) -> bool {
        let is_new = self.said != said;
        said.clone_into(&mut self.said);
        is_new
    }

    fn lines(&self) -> [Line<'_>; 3] {
        let hint = match self.is_ending {
            true => "ending",
            false => "q: stop and report",
        };
        [
            Line::styled(&*self.title, Style::new().add_modifier(Modifier::BOLD)),
            Line::from(&*self.said),
            Line::styled(hint, Style::new().add_modifier(Modifier::DIM)),
        ]
    }
}

/// A whole frame.
fn draw(frame: &mut Frame<'_>, head: &Head, body: &dyn Body) {
    let lines = head.lines();
    let parts = [Constraint::Length(lines.len() as u16), Constraint::Min(0)];
    let [top, below] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(Vec::from(lines)), top);
    body.draw(frame, below);
}

impl Drop for Own {
    fn drop(&mut self) {
        restore();
    }
}

/// What somebody wants who presses a key.
enum Wish {
    End,
    /// Raw mode makes a key of Ctrl-C.
    Interrupt,
}

fn wish_of(event: &Event) -> Option<Wish> {
    let Event::Key(KeyEvent {
        code,
        modifiers,
        kind: KeyEventKind::Press,
        ..
    }) = event
    else {
        return None;
    };
    match code {
        KeyCode::Char('q') => Some(Wish::End),
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Some(Wish::Interrupt),
        _ => None,
    }
}

#[cfg(test)]
mod testing {
    use ratatui::backend::TestBackend;
    use ratatui::{Frame, Terminal};

    /// What stands on a screen of this size, line by line.
    pub(super) fn screen(width: u16, height: u16, draw: impl FnOnce(&mut Frame<'_>)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(draw).unwrap();
        let buffer = terminal.backend().buffer();
        let rows = buffer.content().chunks(width.into());
        let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
        rows.collect::<Vec<_>>().join("\n")
    }
}
