//! The codes with which a server closed WebSockets.

use std::collections::BTreeMap;

/// How often which code came, with what it means; nothing where none did.
pub(super) fn line(codes: &BTreeMap<String, u64>) -> String {
    if codes.is_empty() {
        return String::new();
    }
    let told: Vec<String> = codes
        .iter()
        .map(|(code, count)| match meaning(code) {
            Some(meaning) => format!("{count} with {code} ({meaning})"),
            None => format!("{count} with {code}"),
        })
        .collect();
    format!("Closed by the server: {}\n", told.join(", "))
}

/// RFC 6455 §7.4.1, and the registry of IANA that it founds.
fn meaning(code: &str) -> Option<&'static str> {
    Some(match code {
        "1000" => "normal closure",
        "1001" => "going away",
        "1002" => "protocol error",
        "1003" => "unsupported data",
        "1005" => "no code given",
        "1007" => "invalid payload",
        "1008" => "policy violation",
        "1009" => "message too big",
        "1010" => "extension missing",
        "1011" => "internal error",
        "1012" => "service restart",
        "1013" => "try again later",
        "1014" => "bad gateway",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_with_what_they_mean() {
        let codes = [("1001", 12), ("1013", 3), ("4000", 1)];
        let codes = codes.map(|(code, count)| (code.to_owned(), count)).into();
        let expected = "Closed by the server: 12 with 1001 (going away), 3 with 1013 (try again \
                        later), 1 with 4000\n";
        assert_eq!(line(&codes), expected);
        assert_eq!(line(&BTreeMap::new()), "");
    }
}
