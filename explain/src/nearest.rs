//! Which names are meant by one that nobody knows.

/// A name that is less like a word than this isn't meant by it: 0 to 1.
const LIKENESS_MIN: f64 = 0.6;
/// So many names are worth reading.
const NAMES_MAX: usize = 3;

/// The few of `names` that are most like `word`, the likest first: those that hold it or are held
/// by it, as `generator` and `generator-limited` do, and those with a few letters changed.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut near: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (likeness(word, name), name))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .collect();
    // Names that are as like stay in their order.
    near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    near.truncate(NAMES_MAX);
    near.into_iter().map(|(_, name)| name).collect()
}

fn likeness(word: &str, name: &str) -> f64 {
    let by_letters = strsim::normalized_damerau_levenshtein(word, name);
    match is_part(word, name) || is_part(name, word) {
        true => by_letters.max(LIKENESS_MIN),
        false => by_letters,
    }
}

/// Whether the words of `part` stand side by side in `whole`.
fn is_part(part: &str, whole: &str) -> bool {
    !part.is_empty() && format!("-{whole}-").contains(&format!("-{part}-"))
}
