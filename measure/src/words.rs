//! Words that somebody wrote in place of others: keys, flags, names.

/// The candidate that differs least from `word`, if it differs little enough to be meant. Neither
/// the case of letters nor `-` in place of `_` is a difference.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_ascii_lowercase().replace('-', "_");
    let wanted = plain(word);
    let limit = word.chars().count().div_ceil(3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&wanted, &plain(candidate)), candidate))
        .filter(|(edits, _)| *edits <= limit)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not_offered() {
        let keys = ["connections", "pipeline", "self_signed"];
        assert_eq!(nearest("conections", keys), Some("connections"));
        assert_eq!(nearest("weather", keys), None);
        assert_eq!(nearest("rnu", ["run", "rates"]), Some("run"));
        assert_eq!(nearest("Self-Signd", keys), Some("self_signed"));
    }
}
