//! How a text of a peer's begins, and what of that is told.

use measure::foreign::Foreign;

use super::coding::gunzipped;

/// So much of a text is kept.
const BYTES_MAX: usize = 1024;
/// So much of its first line is told.
pub(crate) const CHARACTERS_MAX: usize = 160;

/// How a text of a peer's begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    bytes: [u8; BYTES_MAX],
    length: usize,
    /// There is more of it.
    is_cut: bool,
}

impl Beginning {
    /// Nothing was kept.
    pub(crate) const NOTHING: Beginning = Beginning {
        bytes: [0; BYTES_MAX],
        length: 0,
        is_cut: false,
    };

    /// Keeps how `bytes` begin, which may be gzipped: then what they become.
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        if let Some((length, is_all)) = gunzipped(bytes, &mut self.bytes) {
            (self.length, self.is_cut) = (length, !is_all);
            return;
        }
        self.length = bytes.len().min(BYTES_MAX);
        self.bytes[..self.length].copy_from_slice(&bytes[..self.length]);
        self.is_cut = bytes.len() > BYTES_MAX;
    }

    /// The first line of it with something to read, which may have secrets in it.
    pub(crate) fn line(&self) -> String {
        first_line(&self.bytes[..self.length], self.is_cut)
    }
}

/// The first line with something to read in it: of a page, what stands outside its tags. The last
/// word of what is cut is left out, since it may be a part of a secret.
fn first_line(bytes: &[u8], is_cut: bool) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = match is_cut {
        true => text
            .rsplit_once(char::is_whitespace)
            .map_or("", |(whole, _)| whole),
        false => &text,
    };
    let is_page = text.trim_start().starts_with('<');
    let mut lines = text.lines().map(|line| match is_page {
        true => without_tags(line),
        false => line.to_owned(),
    });
    let line = lines.find(|line| !line.trim().is_empty());
    line.unwrap_or_default().trim().to_owned()
}

fn without_tags(line: &str) -> String {
    let mut inside = false;
    let outside = |c: &char| {
        let was_inside = inside;
        inside = (inside || *c == '<') && *c != '>';
        !inside && !was_inside
    };
    line.chars().filter(outside).collect()
}

/// A line as it may be shown.
pub(crate) fn shortened(line: &str) -> String {
    let shown: String = line.chars().take(CHARACTERS_MAX).collect();
    let more = if shown.len() < line.len() { "…" } else { "" };
    format!("{}{more}", Foreign::new(shown))
}
