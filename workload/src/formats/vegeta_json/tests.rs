use super::super::tests::{shown, source};
use super::*;

fn read(text: &str) -> Result<Targets, Invalid> {
    parse(&source(text.as_bytes()), &Defaults::default())
}

#[test]
fn what_vegeta_reads_is_read() {
    let text = "\n\n  {\"method\": \"GET\", \"url\": \"https://goku\"}\r\n\n\
        {\"method\":\"post\",\"url\":\"http://goku/a?b={{c d}}\",\
        \"header\":{\"x\":[\"foo\",\"{{e}}\"],\
        \"A\":[\" b \"],\"n\":null},\"body\":\"QVRUe3sgfX1BQ0s=\"}\n\
        {\"method\":\"GET\",\"url\":\"http://goku/2\",\"header\":null,\"body\":\"\"}";
    let expected = [
        "\"GET /\" 1 GET https://goku/",
        "\"POST /a\" 1 POST http://goku/a?b={{c d}} [A: b] [x: foo] [x: {{e}}] \"ATT{{ }}ACK\"",
        "\"GET /2\" 1 GET http://goku/2",
    ];
    let targets = read(text).unwrap();
    let found: Vec<String> = targets.steps.iter().map(shown).collect();
    assert_eq!(found, expected);
    let places: Vec<_> = targets
        .steps
        .iter()
        .filter_map(|step| step.at.as_deref())
        .collect();
    assert_eq!(places, ["a.x:3", "a.x:5", "a.x:6"]);
    assert_eq!(targets.notes, [""; 0]);
}

#[test]
fn what_looks_like_a_template_in_a_body_is_noted_and_sent_as_it_is() {
    let text = "{\"method\":\"POST\",\"url\":\"http://x/\",\"body\":\"e3thfX0=\"}";
    let targets = read(text).unwrap();
    assert_eq!(
        shown(&targets.steps[0]),
        "\"POST /\" 1 POST http://x/ \"{{a}}\""
    );
    assert!(!targets.steps[0].body_is_template);
    assert_eq!(
        targets.notes,
        [
            "a.x:1: the {{…}} in this body is sent as it is, since bodies in vegeta's formats \
             have no templates; to have it filled in, write the request in a .http file"
        ]
    );
}

const MISTAKES: &[(&str, &str)] = &[
    ("{}", "`method` is missing"),
    ("{\"method\": \"\"}", "`method` is missing"),
    ("{\"method\": \"GET\"}", "`url` is missing"),
    (
        "{\"method\": 1, \"url\": \"http://x\"}",
        "`method` isn't a text",
    ),
    (
        "{\"method\": \"GET\", \"url\": \"http://goku\", \"body\": \"SECRET BASE64\"}",
        "`body` isn't base64",
    ),
    (
        "{\"method\": \"GET\", \"url\": \"http://x\", \"headers\": {}}",
        "\"headers\" isn't a prop",
    ),
    (
        "{\"method\": \"GET\", \"url\": \"http://x\", \"header\": {\"A\": \"SECRET\"}}",
        "`header` isn't an object of lists",
    ),
    (
        "{\"method\": \"GET\", \"url\": \"http://x\", \"header\": {\"A\": [\"SECRET\\n\"]}}",
        "",
    ),
    (
        "{\"method\": \"GET\", \"url\": \"http://x\", \"header\": {\"A\": [\"SE\\nCRET\"]}}",
        "the value of `A` has a control character",
    ),
    (
        "{\"method\": \"GET\", \"url\": \"http://x\", \"header\": {\"A B\": [\"SECRET\"]}}",
        "\"A B\" isn't the name of a header",
    ),
    (
        "{\"method\": \"G T\", \"url\": \"http://x\"}",
        "\"G T\" isn't a method",
    ),
    (
        "{\"method\": \"fetch\", \"url\": \"http://x\"}",
        "\"fetch\" isn't a method",
    ),
    ("[]", "this isn't an object"),
    (
        "{",
        "this isn't JSON: EOF while parsing an object, in column 1; each request is one",
    ),
    (
        "GET http://x/",
        "this isn't JSON: expected value, in column 1",
    ),
    (
        "{\"method\": \"GET\", \"url\": \"{{host}}/\"}",
        "a template can't be the scheme, host or port",
    ),
];

#[test]
fn mistakes_say_where_and_quote_no_value() {
    let ok = "{\"method\":\"GET\",\"url\":\"http://x/\"}\n";
    for (text, part) in MISTAKES {
        let found = read(&format!("{ok}{text}\n{ok}"));
        if part.is_empty() {
            assert!(found.is_ok(), "{text}");
            continue;
        }
        let found = found.unwrap_err().to_string();
        assert!(
            found.starts_with(&format!("a.x:2: {part}")),
            "{text}: {found}"
        );
        assert!(
            !found.contains("SECRET") && !found.contains("CRET"),
            "{found}"
        );
    }
}
