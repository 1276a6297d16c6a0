//! What a comparison or a search for a capacity has found so far, drawn while it goes on: in the
//! terminal, as the body of a [`Screen`], or on a [`Page`] in the browser.
//!
//! An [`Overview`] is told the same events as whoever prints them. It reads what is kept of the
//! rounds between two measurements and judges it as the report does, and it draws then, too, on the
//! thread that tells it: a measured window has nothing of it but a look for keys, or answers to
//! browsers of what was drawn before. Screen and page are drawn of the same. It measures nothing
//! and decides nothing.
#![forbid(unsafe_code)]

mod search;
mod table;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lab::Event;
use live::page::{Page, Place, Teller, part};
use live::terminal::{Body, Screen};
use maud::html;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};
use report::html::page::{Section, sentences};

use search::Searches;
use table::Table;

/// So many of the lines that stay are shown on a screen, and on a page.
const KEPT_SHOWN: usize = 3;
const KEPT_MAX: usize = 200;

/// Cleans a text from outside, and takes secrets out of it.
pub type Clean = fn(&str) -> String;

/// See the crate. The terminal is as it was once this is dropped.
pub struct Overview {
    shown: Shown,
    found: Arc<Mutex<Found>>,
    clean: Clean,
    /// What is going on.
    now: String,
    /// What is to stay where the screen was.
    kept: Vec<String>,
}

/// Where it's shown.
enum Shown {
    Screen(Screen),
    Page(Page, Teller),
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
    pub fn on_screen(
        title: &str,
        clean: Clean,
        stop: impl Fn() + Send + 'static,
    ) -> Result<Overview, String> {
        let found = Arc::<Mutex<Found>>::default();
        let body = Drawn(Arc::clone(&found));
        let screen = Screen::start(clean(title), body, stop)?;
        Ok(Overview::new(Shown::Screen(screen), found, clean))
    }

    /// Serves a page at `place`, of a `noun` such as a comparison; `stop` is called where somebody
    /// who looks on wants the end.
    ///
    /// # Errors
    /// Where it can't listen there, or no thread or no token can be had: why.
    pub fn on_page(
        place: Place,
        (noun, title): (&'static str, &str),
        clean: Clean,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Result<Overview, String> {
        let sections = vec![
            Section::new("Found so far", "", part(FOUND)),
            Section::new("Messages", "", part(KEPT)),
        ];
        let (page, teller) = Page::told(place, (noun, &clean(title)), sections, stop)?;
        let found = Arc::default();
        Ok(Overview::new(Shown::Page(page, teller), found, clean))
    }

    fn new(shown: Shown, found: Arc<Mutex<Found>>, clean: Clean) -> Overview {
        Overview {
            shown,
            found,
            clean,
            now: String::new(),
            kept: Vec::new(),
        }
    }

    /// Where the page is looked at, if it's one.
    pub fn url(&self) -> Option<&str> {
        match &self.shown {
            Shown::Page(page, _) => Some(page.url()),
            Shown::Screen(_) => None,
        }
    }

    /// Something has begun or happened. Takes no longer than what is read and drawn.
    pub fn tell(&mut self, event: &Event<'_>) {
        let mut found = lock(&self.found);
        found.table.take(event);
        found.searches.take(event, self.clean);
        drop(found);
        self.now = (self.clean)(&event.to_string());
        self.draw();
    }

    /// A line that a reader should keep; `painted`: the same in colours.
    pub fn keep(&mut self, text: &str, painted: &str) {
        let text = (self.clean)(text);
        let mut found = lock(&self.found);
        if found.kept.len() == KEPT_MAX {
            found.kept.pop_front();
        }
        found.kept.push_back(text);
        drop(found);
        if let Shown::Screen(_) = &self.shown {
            self.kept.push(painted.to_owned());
        }
        self.draw();
    }

    fn draw(&self) {
        match &self.shown {
            Shown::Screen(screen) => {
                screen.say(&self.now);
                screen.draw();
            }
            Shown::Page(_, teller) => {
                let found = lock(&self.found);
                teller.tell(&self.now, found.table.share(), found.parts());
            }
        }
    }

    /// Nothing more is measured. Gives the terminal back; the lines that stay, and the page, which
    /// has what came last, and is to be told how it ended.
    pub fn finish(self) -> (Vec<String>, Option<Page>) {
        if let Shown::Page(..) = &self.shown {
            let mut found = lock(&self.found);
            found.table.end();
            found.searches.end();
            drop(found);
            self.draw();
        }
        match self.shown {
            Shown::Screen(_) => (self.kept, None),
            Shown::Page(page, _) => (self.kept, Some(page)),
        }
    }
}

/// The parts of the page.
const FOUND: &str = "found";
const KEPT: &str = "kept";

impl Found {
    fn parts(&self) -> BTreeMap<&'static str, String> {
        let found = match self.searches.is_empty() {
            true => self.table.markup(),
            false => self.searches.markup(),
        };
        let kept: Vec<String> = self.kept.iter().cloned().collect();
        let kept = html! {
            @if kept.is_empty() { p.small { "Nothing so far." } } @else { (sentences(&kept)) }
        };
        BTreeMap::from([(FOUND, found.into_string()), (KEPT, kept.into_string())])
    }
}

fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is drawn, whenever somebody asks for it.
struct Drawn(Arc<Mutex<Found>>);

impl Body for Drawn {
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
    let kept = found.kept.iter().rev().take(KEPT_SHOWN).rev();
    let kept: Vec<Line<'_>> = kept.map(|line| Line::styled(&**line, caution)).collect();
    let most = usize::from(area.height).saturating_sub(main.len());
    let below = kept.len().min(most);
    let parts = [Constraint::Min(0), Constraint::Length(below as u16)];
    let [middle, bottom] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(main).wrap(Wrap { trim: false }), middle);
    let last = kept.into_iter().rev().take(below).rev();
    frame.render_widget(Paragraph::new(last.collect::<Vec<_>>()), bottom);
}
