use std::io;

use super::super::tests::{no_files, shown, source};
use super::*;

fn read(text: &str) -> Result<Targets, Invalid> {
    let mut open = |path: &Path| match path.to_str() {
        Some("/tmp/body") => Ok(b"Hello {{world}}!".to_vec()),
        Some("body with spaces") => Ok(Vec::new()),
        _ => Err(io::ErrorKind::NotFound.into()),
    };
    parse(&source(text.as_bytes()), &Defaults::default(), &mut open)
}

/// The cases are those of vegeta's own tests (`TestNewHTTPTargeter`), with hosts: `http://:6060` is
/// localhost to Go.
#[test]
fn what_vegeta_reads_is_read() {
    let text = "
        GET http://x:6060/
        X-Header: 1
        X-Header: 2

        PUT https://x:6060/123

        DELETE http://moo:443/boo

        POST http://foobar.org/fnord
        Authorization: x12345
        @/tmp/body


        POST http://foobar.org/fnord/2
        Authorization: x67890
        @/tmp/body
        SUBSCRIBE http://foobar.org/sub

        # This is a comment. Lines starting with hash pound are ignored.
        GET http://x:6060/
        X-Header:1

        GET http://x:8000/?a={{random 1 100}}#f
        # This is a comment. Lines starting with hash pound are ignored even inside the target.
        X-Header: {{newUuid}}
        # Another comment.
        X-Header: a:b
        @body with spaces
        GET http://x/1
        GET http://x/2\r
        HEAD  http://x/3";
    let expected = [
        "\"GET /\" 1 GET http://x:6060/ [X-Header: 1] [X-Header: 2]",
        "\"PUT /123\" 1 PUT https://x:6060/123",
        "\"DELETE /boo\" 1 DELETE http://moo:443/boo",
        "\"POST /fnord\" 1 POST http://foobar.org/fnord [Authorization: x12345] \
         \"Hello {{world}}!\"",
        "\"POST /fnord/2\" 1 POST http://foobar.org/fnord/2 [Authorization: x67890] \
         \"Hello {{world}}!\"",
        "\"SUBSCRIBE /sub\" 1 SUBSCRIBE http://foobar.org/sub",
        "\"GET /\" 1 GET http://x:6060/ [X-Header: 1]",
        "\"GET /\" 1 GET http://x:8000/?a={{random 1 100}} [X-Header: {{newUuid}}] [X-Header: a:b]",
        "\"GET /1\" 1 GET http://x/1",
        "\"GET /2\" 1 GET http://x/2",
        "\"HEAD /3\" 1 HEAD http://x/3",
    ];
    let targets = read(text).unwrap();
    let found: Vec<String> = targets.steps.iter().map(shown).collect();
    assert_eq!(found, expected);
    assert_eq!(
        targets.notes,
        [
            "a.x:12: the {{…}} in this body is sent as it is, since bodies in vegeta's formats \
             have no templates; to have it filled in, write the request in a .http file (and 1 \
             more)"
        ]
    );
    assert_eq!(targets.steps[1].at.as_deref(), Some("a.x:6"));
}

#[test]
fn comments_name_and_weigh() {
    let text = "# @name home\n#@weight 0\nGET http://x/\n\n# @weight 3\n\nGET http://x/a\n\
                # @name = the other\n# @owner me\n# me@example.com\nA: b";
    let targets = read(text).unwrap();
    let found: Vec<String> = targets.steps.iter().map(shown).collect();
    let expected = [
        "\"home\" 0 GET http://x/",
        "\"the other\" 3 GET http://x/a [A: b]",
    ];
    assert_eq!(found, expected);
    let note = "a.x:9: this comment begins with @, but isn't `@name`, `@weight` or `@expect`";
    assert_eq!(targets.notes, [note]);
}

const MISTAKES: &[(&str, &str)] = &[
    ("GET", "1: this isn't a request"),
    ("DO_WORK http://x", "1: this isn't a request"),
    ("DOwork http://x", "1: this isn't a request"),
    (
        "# @weight 1000001\nGET http://x",
        "1: the weight \"1000001\" is out of range",
    ),
    (
        "# @weight +1\nGET http://x",
        "1: the weight \"+1\" is out of range",
    ),
    (
        "# @weight\nGET http://x",
        "1: the weight \"\" is out of range",
    ),
    ("# @name\nGET http://x", "1: @name has no name"),
    (
        "GET http://x\n\n# @weight 2\n",
        "3: this weight belongs to no request",
    ),
    ("GET foobar", "1: this URL has no scheme"),
    ("GET /a", "1: the URL has no host"),
    (
        "GET http://:6060/",
        "1: can't load \"http://:6060\": the host is missing",
    ),
    (
        "GET http://user:password@goku:9090/",
        "credentials in URLs aren't sent",
    ),
    (
        "\nGET http://x\nAuthorization",
        "3: this header has no colon",
    ),
    (
        "GET http://x\nAuthorization:",
        "2: this header has no value",
    ),
    ("GET http://x\n: 1234", "2: this header has no name"),
    (
        "GET http://x\na b: 1234",
        "2: \"a b\" isn't the name of a header",
    ),
    (
        "GET http://x\nA: b\nGET http://x",
        "3: a request begins among the headers of another",
    ),
    (
        "GET http://x\n@none",
        "2: can't read the body none: entity not found; paths are relative to the working \
         directory",
    ),
    (
        "GET http://x\n@/none",
        "2: can't read the body /none: entity not found",
    ),
    ("GET http://x\n@/tmp/body\nA: b", "3: this isn't a request"),
];

#[test]
fn mistakes_say_where_and_what_to_do() {
    for (text, part) in MISTAKES {
        let found = read(text).unwrap_err().to_string();
        let place = if part.starts_with(|c: char| c.is_ascii_digit()) {
            "a.x:"
        } else {
            ""
        };
        assert!(
            found.contains(&format!("{place}{part}")),
            "{text:?}: {found}"
        );
        assert!(!found.contains("password"), "{found}");
    }
}

#[test]
fn no_body_is_read_but_those_that_are_named() {
    let text = "GET http://x/\nA: @b";
    let targets = parse(
        &source(text.as_bytes()),
        &Defaults::default(),
        &mut no_files,
    )
    .unwrap();
    assert_eq!(targets.steps.len(), 1);
}
