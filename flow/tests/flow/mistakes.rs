//! What is refused when a file is read, with its place.

use std::fs;
use std::path::Path;

use flow::{Flow, Given, Mistake};
use measure::random::Random;

use crate::support::{given, parse};

fn mistakes(text: &str) -> Vec<String> {
    let read = parse(text, &given(&[("base", "http://h")], &[]));
    read.unwrap_err().iter().map(Mistake::to_string).collect()
}

/// Of one file, the one mistake.
fn mistake(text: &str) -> String {
    let all = mistakes(text);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.into_iter().next().unwrap()
}

const ASSERTS: &str = "GET http://h/\nHTTP 200\n[Asserts]\n";
const OPTIONS: &str = "GET http://h/\n[Options]\n";

/// What stands before, a line, and what is said of it.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        ASSERTS,
        "xpath \"//h1\" exists",
        "4:1: xpath isn't supported: use jsonpath or regex",
    ),
    (
        ASSERTS,
        "body xpath \"//h1\" exists",
        "4:6: xpath isn't supported: use jsonpath or regex",
    ),
    (
        ASSERTS,
        "certificate \"Subject\" exists",
        "4:1: the query certificate isn't supported",
    ),
    (
        ASSERTS,
        "ip == \"::1\"",
        "4:1: the query ip isn't supported",
    ),
    (
        ASSERTS,
        "redirects count == 1",
        "4:1: the query redirects isn't supported",
    ),
    (
        ASSERTS,
        "md5 == hex,00;",
        "4:1: md5 isn't supported: use sha256",
    ),
    (
        ASSERTS,
        "bytes decode \"gb2312\" == \"x\"",
        "4:7: the filter decode isn't supported: \
         utf8Decode reads UTF-8",
    ),
    (
        ASSERTS,
        "body toDate \"%+\" exists",
        "4:6: the filter toDate isn't supported",
    ),
    (
        ASSERTS,
        "body daysAfterNow > 1",
        "4:6: the filter daysAfterNow isn't supported",
    ),
    (
        ASSERTS,
        "body isDate",
        "4:6: the predicate isDate isn't supported: isIsoDate is, of texts",
    ),
    (
        OPTIONS,
        "proxy: h:1",
        "3:1: the option proxy isn't supported: delay, location, max-redirs, \
         repeat, retry, retry-interval, skip and variable are",
    ),
    (
        OPTIONS,
        "cacert: a.pem",
        "3:1: the option cacert isn't supported: delay, location, \
         max-redirs, repeat, retry, retry-interval, skip and variable are",
    ),
    (
        OPTIONS,
        "repeat: -1",
        "3:9: -1, for any number of times, isn't supported here: a run that \
         must end needs a number",
    ),
    (
        "GET http://h/",
        "\n<a/>",
        "2:1: an XML body isn't supported as such: put it between \
         ```xml and ```",
    ),
    (
        "GET http://h/",
        "\n```yaml\n```",
        "2:1: ```yaml isn't supported",
    ),
    (
        "GET http://h/",
        "\nHTTP/3 200",
        "2:1: HTTP/3 isn't supported",
    ),
    (
        "GET http://h/{{getEnv \"A\"}}",
        "",
        "1:16: getEnv isn't supported: pass --variable \
         NAME=\"$NAME\" instead",
    ),
    ("CONNECT h:1", "", "1:1: the method CONNECT isn't supported"),
    (
        "POST http://h/",
        "\nfile,{{base}}.txt;",
        "2:6: a file's name can't hold placeholders: \
         files are read once, before the run",
    ),
];

#[test]
fn what_isnt_supported_is_refused_by_its_name() {
    for (before, line, expected) in REFUSED {
        assert_eq!(
            mistake(&format!("{before}{line}")),
            format!("a.hurl:{expected}")
        );
    }
}

/// A file, and what is said of it.
const WRONG: &[(&str, &str)] = &[
    ("", "1:1: there is no request in it"),
    ("# only a comment", "1:1: there is no request in it"),
    (
        "get http://h/",
        "1:1: a request belongs here: GET, HEAD, POST, PUT, DELETE, PATCH, \
         OPTIONS or a method of your own, and a URL",
    ),
    (
        "GET /a",
        "1:5: a URL belongs here: http://HOST/PATH, or {{base}}/PATH with --variable \
         base=…",
    ),
    (
        "GET http://h/{{",
        "1:16: the name of a variable belongs here: letters, digits, _ and -",
    ),
    (
        "GET http://h/{{base",
        "1:20: }} belongs here: a name, and filters behind it, end with it",
    ),
    (
        "GET http://h/{{bsae}}",
        "1:16: the variable bsae isn't defined: did you mean base?",
    ),
    (
        "GET http://h/{{zzz}}",
        "1:16: the variable zzz isn't defined: capture it, or pass \
         --variable zzz=VALUE",
    ),
    (
        "GET http://h/\nX: \\q",
        "2:4: \\q isn't an escape: write \\\\ for a backslash",
    ),
    (
        "GET http://h/\nHTTP abc",
        "2:6: a status belongs here, such as 200, or *",
    ),
    (
        "GET http://h/\n[Nothing]",
        "2:1: the section [Nothing] isn't known here: requests have \
            [Query], [Form], [Multipart], [BasicAuth], [Cookies] and [Options], answers [Captures] \
            and [Asserts]",
    ),
    (
        "GET http://h/\n[Asserts]\nstatus == 1",
        "2:1: [Asserts] belongs behind a line with HTTP \
         and a status, or *",
    ),
    (
        "GET http://h/\n{\"a\":\n1,}",
        "3:1: the body isn't JSON: key must be a string",
    ),
    (
        "GET http://h/\n```\nx",
        "2:1: ``` isn't closed by another ```",
    ),
    (
        "GET http://h/\nhex,0;",
        "2:1: hex has two hexadecimal digits for each byte",
    ),
    (
        "GET http://h/\nbase64,%;",
        "2:1: isn't base64: Invalid symbol 37, offset 0.",
    ),
    (
        "GET http://h/\nfile,none;",
        "2:1: none: can't be read: there is no such file",
    ),
    (
        "GET http://h/\n{}\nX: y",
        "3:1: behind a body HTTP and a status, or another request, \
         follows",
    ),
    (
        "GET http://h/\n[Form]\na: b\n[Multipart]\nc: d",
        "5:1: a request has one body: [Form] or \
         [Multipart]",
    ),
    (
        "GET http://h/\nHTTP 200\n[Asserts]\nbody",
        "4:5: a predicate belongs here: ==, !=, >, \
            >=, <, <=, startsWith, endsWith, contains, includes, matches, exists, isEmpty, \
            isString, …, or not before one",
    ),
    (
        "GET http://h/\nHTTP 200\n[Asserts]\nbody == x",
        "4:9: a value belongs here: a text in \
            quotes, a number, true, false, null, hex,…; base64,…; file,…; or {{a variable}}",
    ),
    (
        "GET http://h/\nHTTP 200\n[Asserts]\nregex /(/ exists",
        "4:7: isn't a regular \
            expression: error: unclosed group",
    ),
    (
        "GET http://h/\nHTTP 200\n[Captures]\na jsonpath \"$\"",
        "4:3: a colon belongs here: \
         NAME: QUERY",
    ),
    (
        "GET http://h/\nHTTP 200\n[Asserts]\nstatus == 200 201",
        "4:15: 201 is more than belongs \
         on this line",
    ),
];

#[test]
fn what_is_wrong_says_where_and_what_belongs_there() {
    for (text, expected) in WRONG {
        assert_eq!(mistake(text), format!("a.hurl:{expected}"), "{text}");
    }
    let path = mistake("GET http://h/\nHTTP 200\n[Asserts]\njsonpath \"$.a-b\" exists");
    assert!(
        path.starts_with("a.hurl:4:10: $.a-b isn't a JSONPath as RFC 9535 has them: "),
        "{path}"
    );
    let read = Flow::parse("b", b"GET http://h/\xff", &Given::default(), &mut |_| {
        Ok(Vec::new())
    });
    assert_eq!(
        read.unwrap_err()[0].to_string(),
        "b:1:14: it isn't text in UTF-8"
    );
}

#[test]
fn all_mistakes_of_a_file_are_found_at_once() {
    let text = "GET http://h/\n[Options]\nproxy: a\ndelay: x\nHTTP 200\n[Asserts]\nxpath \"a\" \
         exists\n\nPOST http://h/\n{,}\n\nGET nowhere\n";
    let places: Vec<String> = mistakes(text)
        .iter()
        .map(|mistake| mistake.split(": ").next().unwrap().to_owned())
        .collect();
    assert_eq!(
        places,
        [
            "a.hurl:3:1",
            "a.hurl:4:8",
            "a.hurl:7:1",
            "a.hurl:10:1",
            "a.hurl:12:5"
        ]
    );
    let many = "GET nowhere\n".repeat(100);
    assert_eq!(mistakes(&many).len(), 20);
}

#[test]
fn files_lie_in_the_folder_of_the_flow_or_the_file_root() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(folder.path().join("out.txt"), "out").unwrap();
    fs::write(inner.join("in.txt"), "in").unwrap();
    std::os::unix::fs::symlink("../out.txt", inner.join("link.txt")).unwrap();
    let path = inner.join("a.hurl");
    let read = |name: &str, root: Option<&Path>| {
        fs::write(&path, format!("POST http://h/\nfile,{name};\n")).unwrap();
        let given = Given {
            file_root: root.map(Path::to_owned),
            ..Given::default()
        };
        match Flow::read(&path, &given) {
            Ok(flow) => Ok(flow.len()),
            Err(mistakes) => Err(mistakes[0].what.clone()),
        }
    };
    assert_eq!(read("in.txt", None), Ok(1));
    assert_eq!(read("./in.txt", None), Ok(1));
    let absolute = inner.join("in.txt");
    for outside in [
        "../out.txt",
        "link.txt",
        absolute.to_str().unwrap(),
        "x/../../out.txt",
    ] {
        let what = read(outside, None).unwrap_err();
        assert!(what.contains("it lies outside of "), "{outside}: {what}");
    }
    assert_eq!(read("out.txt", Some(folder.path())), Ok(1));
    assert_eq!(read("inner/link.txt", Some(folder.path())), Ok(1));
    assert!(
        read("none.txt", None)
            .unwrap_err()
            .contains("can't be read")
    );
    assert!(read(".", None).unwrap_err().contains("isn't a file"));
    let none = Flow::read(&folder.path().join("none.hurl"), &Given::default()).unwrap_err();
    assert!(
        none[0].to_string().contains("none.hurl: can't be read"),
        "{none:?}"
    );
}

/// Pieces of files in any order, and what is left of files that were cut or had a byte changed.
#[test]
fn no_bytes_make_the_reader_panic() {
    const PIECES: [&str; 44] = [
        "GET http://h/",
        "POST {{base}}/x",
        "\n",
        "\n",
        "\n",
        " ",
        "\t",
        "HTTP 200",
        "HTTP/2 *",
        "[Asserts]\n",
        "[Captures]\n",
        "[Options]\n",
        "[Form]\n",
        "[Multipart]\n",
        "[Query]\n",
        "[BasicAuth]\n",
        "[Cookies]\n",
        "a: b",
        "a: file,a.txt; x/y",
        "{{",
        "}}",
        "{{base}}",
        "{\"a\": [",
        "]}",
        "```",
        "```json\n",
        "`",
        "\"",
        "\\u{",
        "hex,00;",
        "base64,AA==;",
        "file,a.txt;",
        "status == 200",
        "jsonpath \"$.a\" ",
        "regex /(a)/ ",
        "not ",
        "exists",
        "split \",\" ",
        "nth -1 ",
        "== 1",
        "#",
        "é\u{202e}",
        "a: header \"x\" redact",
        "\r\n",
    ];
    let given = given(&[("base", "http://h")], &[]);
    for seed in 0..3000 {
        let mut random = Random::seeded(seed);
        let count = 1 + random.index(24);
        let text: String = (0..count)
            .map(|_| PIECES[random.index(PIECES.len())])
            .collect();
        let mut bytes = text.into_bytes();
        if random.below(3) == 0 && !bytes.is_empty() {
            let at = random.index(bytes.len());
            bytes[at] = random.next() as u8;
        }
        let mut files = |_: &str| Ok(b"x".to_vec());
        if let Err(mistakes) = Flow::parse("a", &bytes, &given, &mut files) {
            assert!(!mistakes.is_empty() && mistakes.len() <= 20, "seed {seed}");
            for mistake in mistakes {
                let shown = mistake.to_string();
                assert!(!shown.chars().any(char::is_control), "seed {seed}: {shown}");
            }
        }
    }
}

#[test]
fn nothing_stands_so_deep_that_it_overflows_the_stack() {
    let nested = "GET http://h/".to_owned() + &"{{base split \"".repeat(10_000);
    assert!(mistakes(&nested)[0].contains("placeholders stand too deep"));
    let array = "POST http://h/\n".to_owned() + &"[".repeat(100_000) + &"]".repeat(100_000);
    assert!(parse(&array, &given(&[], &[])).is_ok());
    let path = format!(
        "GET http://h/\nHTTP 200\n[Asserts]\njsonpath \"$[?{}\" exists",
        "(".repeat(1000)
    );
    assert!(
        mistakes(&path)[0].contains("is too long for a JSONPath"),
        "{:?}",
        mistakes(&path)
    );
    let regex = format!(
        "GET http://h/\nHTTP 200\n[Asserts]\nregex /{}/ exists",
        "(".repeat(10_000)
    );
    assert!(mistakes(&regex)[0].contains("isn't a regular expression"));
}

#[test]
fn rows_of_which_nothing_is_used_are_refused() {
    let given = |columns: &[&str]| Given {
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        ..Given::default()
    };
    let read = |text: &str, columns: &[&str]| {
        let mut none = |_: &str| Err("there are no files".to_owned());
        Flow::parse("a.hurl", text.as_bytes(), &given(columns), &mut none)
    };
    let wrong = read("GET http://h/a\n", &["user", "id"]).unwrap_err();
    assert_eq!(
        wrong[0].to_string(),
        "a.hurl: no request uses the data file: write one of its columns as {{user}}, {{id}}, or \
         drop it"
    );
    assert!(read("GET http://h/{{id}}\n", &["user", "id"]).is_ok());
    let asserted = "GET http://h/a\nHTTP 200\n[Asserts]\nvariable \"user\" exists\n";
    assert!(read(asserted, &["user", "id"]).is_ok());
    assert!(read("GET http://h/a\n", &[]).is_ok());
}

#[test]
fn hints_name_what_was_meant_and_nothing_far_from_it() {
    let base = given(&[("base", "http://h")], &[]);
    for (text, hint) in [
        (
            "GET {{base}}/\nHTTP 200\n[Asserts]\njsonpth \"$.a\" == 1\n",
            "the query jsonpth isn't known: did you mean jsonpath?",
        ),
        (
            "GET {{base}}/\nHTTP 200\n[Options]\nretry: 1\n",
            "[Options] belongs to the request: put it before the line HTTP",
        ),
        ("GET {{base}}/{{user}}\n", "pass --variable user=VALUE"),
        (
            "GET {{base}}/{{password}}\n",
            "pass --secret password=VALUE",
        ),
        ("GET {{bsae}}/\n", "did you mean base?"),
    ] {
        let mistakes = parse(text, &base).unwrap_err();
        let said = mistakes[0].to_string();
        assert!(said.contains(hint), "{said}");
    }
}
