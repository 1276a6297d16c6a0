//! What a comparison or a search for a capacity has found so far, drawn in the terminal while it
//! goes on: the bodies of a [`Screen`].
//!
//! An [`Overview`] is told the same events as whoever prints them. It reads what is kept of the
//! rounds between two measurements and judges it as the report does, and it draws then, too, on the
//! thread that tells it: a measured window has nothing of it but a look for keys. It measures
//! nothing and decides nothing.
#![forbid(unsafe_code)]

mod search;
mod table;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lab::Event;
use live::terminal::{Body, Screen};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use search::Searches;
use table::Table;

/// So many of the lines that stay are shown.
const KEPT_SHOWN: usize = 3;

/// Cleans a text from outside, and takes secrets out of it.
pub type Clean = fn(&str) -> String;

/// See the crate. The terminal is as it was once this is dropped.
pub struct Overview {
    screen: Screen,
    found: Arc<Mutex<Found>>,
    clean: Clean,
    /// What is to stay where the screen was.
    kept: Vec<String>,
}

/// What is known so far.
#[derive(Default)]
struct Found {
    table: Table,
    searches: Searches,
    /// The last lines that are to stay.
    kept: VecDeque<String>,
}

impl Overview {
    /// Takes the terminal; `stop` is called where somebody wants the end.
    ///
    /// # Errors
    /// Where the terminal can't be drawn on, or no thread can be had: why.
    pub fn start(
        title: &str,
        clean: Clean,
        stop: impl Fn() + Send + 'static,
    ) -> Result<Overview, String> {
        let found = Arc::<Mutex<Found>>::default();
        let body = Shown(Arc::clone(&found));
        Ok(Overview {
            screen: Screen::start(clean(title), body, stop)?,
            found,
            clean,
            kept: Vec::new(),
        })
    }

    /// Something has begun or happened. Takes no longer than what is read and drawn.
    pub fn tell(&mut self, event: &Event<'_>) {
        let mut found = lock(&self.found);
        found.table.take(event);
        found.searches.take(event, self.clean);
        drop(found);
        self.screen.say(&(self.clean)(&event.to_string()));
        self.screen.draw();
    }

    /// A line that a reader should keep; `painted`: the same in colours.
    pub fn keep(&mut self, text: &str, painted: &str) {
        let text = (self.clean)(text);
        let mut found = lock(&self.found);
        if found.kept.len() == KEPT_SHOWN {
            found.kept.pop_front();
        }
        found.kept.push_back(text);
        drop(found);
        self.kept.push(painted.to_owned());
        self.screen.draw();
    }

    /// Gives the terminal back; the lines that stay.
    pub fn finish(self) -> Vec<String> {
        self.kept
    }
}

fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is drawn, whenever somebody asks for it.
struct Shown(Arc<Mutex<Found>>);

impl Body for Shown {
    /// It's drawn by whoever tells it something.
    fn renew(&mut self) -> bool {
        false
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        draw(frame, area, &lock(&self.0));
    }
}

fn draw(frame: &mut Frame<'_>, area: Rect, found: &Found) {
    let main = match found.searches.is_empty() {
        true => found.table.lines(area),
        false => found.searches.lines(area),
    };
    let caution = Style::new().fg(Color::Yellow);
    let kept = found.kept.iter();
    let kept: Vec<Line<'_>> = kept.map(|line| Line::styled(&**line, caution)).collect();
    let most = usize::from(area.height).saturating_sub(main.len());
    let below = kept.len().min(most);
    let parts = [Constraint::Min(0), Constraint::Length(below as u16)];
    let [middle, bottom] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(main).wrap(Wrap { trim: false }), middle);
    let last = kept.into_iter().rev().take(below).rev();
    frame.render_widget(Paragraph::new(last.collect::<Vec<_>>()), bottom);
}
