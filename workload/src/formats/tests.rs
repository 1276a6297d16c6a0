use plan::Request;

use super::*;

const FORMATS: [Format; 3] = [Format::Http, Format::Vegeta, Format::VegetaJson];

#[test]
fn the_ending_says_the_format() {
    let table = [
        ("a.http", Some(Format::Http)),
        ("b/a.REST", Some(Format::Http)),
        ("a.json", Some(Format::VegetaJson)),
        ("a.jsonl", Some(Format::VegetaJson)),
        ("a.ndjson", Some(Format::VegetaJson)),
        ("a.txt", Some(Format::Vegeta)),
        ("a.targets", Some(Format::Vegeta)),
        ("a.vegeta", Some(Format::Vegeta)),
        ("a.har", None),
        ("http", None),
        ("", None),
    ];
    for (file, format) in table {
        assert_eq!(Format::of_file(Path::new(file)), format, "{file}");
    }
}

#[test]
fn formats_are_named_as_they_are_shown() {
    for format in FORMATS {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    let text = "ht\u{1b}tp".parse::<Format>().unwrap_err().to_string();
    assert_eq!(
        text,
        "\"ht\\u{1b}tp\": targets are written as `http`, `vegeta` or `vegeta-json`"
    );
}

#[test]
fn a_file_and_the_bodies_beside_it_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mix.http");
    std::fs::write(folder.path().join("body.bin"), [0, 255, b'{', b'{']).unwrap();
    std::fs::write(&file, "\u{feff}POST http://x/\r\n\r\n< body.bin\r\n").unwrap();
    let targets = read(&file, Format::Http, &Defaults::default()).unwrap();
    let [step] = &targets.steps[..] else {
        panic!("{targets:?}");
    };
    assert_eq!(step.request.body, [0, 255, b'{', b'{']);
    assert!(!step.body_is_template);
    assert_eq!(step.at, Some(format!("{}:1", file.display())));
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.http");
    File::create(&large)
        .unwrap()
        .set_len(FILE_BYTES_MAX as u64 + 1)
        .unwrap();
    let table = [
        (
            folder.path().join("none.http"),
            "can't read the targets: No such file",
        ),
        (
            folder.path().to_owned(),
            "can't read the targets: Is a directory",
        ),
        (
            large,
            "targets are at most 64 MiB: for more, use one template and a data file (--data)",
        ),
    ];
    for (file, part) in table {
        let text = read(&file, Format::Http, &Defaults::default())
            .unwrap_err()
            .to_string();
        let expected = format!("{}: {part}", file.display());
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn what_is_not_text_says_where() {
    for format in FORMATS {
        let text = b"\n\xff http://x/\n";
        let found = parse(format, &source(text), &Defaults::default(), &mut no_files);
        let text = found.unwrap_err().to_string();
        assert_eq!(text, "a.x:2: this line isn't UTF-8: save the file as UTF-8");
    }
}

#[test]
fn a_file_without_a_request_says_so() {
    for format in FORMATS {
        for text in ["", "\n\n", "\u{feff}"] {
            let found = parse(
                format,
                &source(text.as_bytes()),
                &Defaults::default(),
                &mut no_files,
            );
            let text = found.unwrap_err().to_string();
            assert!(text.starts_with("a.x:1: the file has no request"), "{text}");
        }
    }
}

#[test]
fn there_is_a_bound_on_requests() {
    let many = "GET http://x/\n".repeat(plan::workload::STEPS_MAX);
    let all = parse(
        Format::Vegeta,
        &source(many.as_bytes()),
        &Defaults::default(),
        &mut no_files,
    );
    assert_eq!(all.unwrap().steps.len(), plan::workload::STEPS_MAX);
    let more = format!("{many}GET http://x/\n");
    let found = parse(
        Format::Vegeta,
        &source(more.as_bytes()),
        &Defaults::default(),
        &mut no_files,
    );
    let text = found.unwrap_err().to_string();
    assert!(
        text.starts_with("a.x:65536: more than 65535 requests"),
        "{text}"
    );
}

#[test]
fn there_is_a_bound_on_what_they_hold() {
    let many = "GET http://x/\n".repeat(257);
    let defaults = Defaults {
        body: Some(vec![0; 1 << 20]),
        ..Defaults::default()
    };
    let found = parse(
        Format::Vegeta,
        &source(many.as_bytes()),
        &defaults,
        &mut no_files,
    );
    let text = found.unwrap_err().to_string();
    assert!(
        text.starts_with("a.x:256: up to here the requests have more than 256 MiB"),
        "{text}"
    );
}

#[test]
fn what_a_request_lacks_comes_from_the_defaults() {
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let defaults = Defaults {
        headers: vec![
            field("Host", "h"),
            field("X-A", "1"),
            field("X-A", "2"),
            field("Y", "3"),
        ],
        body: Some(b"{{b}}".to_vec()),
        method: Some("PUT".to_owned()),
    };
    let http = "GET http://x/\nx-a: 0\n###\nhttp://x/\n\nbody";
    let vegeta = "GET http://x/\nx-a: 0\n\nPUT http://x/\n@body";
    let json = "{\"method\":\"GET\",\"url\":\"http://x/\",\"header\":{\"x-a\":[\"0\"]}}\n\
                {\"url\":\"http://x/\",\"body\":\"Ym9keQ==\"}";
    let table = [
        (Format::Http, http),
        (Format::Vegeta, vegeta),
        (Format::VegetaJson, json),
    ];
    for (format, text) in table {
        let mut open = |_: &Path| Ok(b"body".to_vec());
        let targets = parse(format, &source(text.as_bytes()), &defaults, &mut open).unwrap();
        let [first, second] = &targets.steps[..] else {
            panic!("{targets:?}");
        };
        assert_eq!(first.request.method, "GET", "{format}");
        let own = [field("x-a", "0"), field("Host", "h"), field("Y", "3")];
        assert_eq!(first.request.headers, own, "{format}");
        assert_eq!(first.request.body, b"{{b}}", "{format}");
        assert!(!first.body_is_template, "{format}");
        assert_eq!(second.request.method, "PUT", "{format}");
        assert_eq!(second.request.headers, defaults.headers, "{format}");
        assert_eq!(second.request.body, b"body", "{format}");
    }
}

#[test]
fn no_message_commands_a_terminal() {
    let table = [
        (Format::Http, "GET http://x/\nA\u{1b}[2J: b"),
        (Format::Http, "get\u{1b} http://x/"),
        (Format::Vegeta, "GET http://x/\n@\u{1b}[2J"),
        (
            Format::VegetaJson,
            "{\"\\u001b[2J\":1, \"method\":\"GET\", \"url\":\"http://x/\"}",
        ),
    ];
    for (format, text) in table {
        let found = parse(
            format,
            &source(text.as_bytes()),
            &Defaults::default(),
            &mut no_files,
        );
        let text = found.unwrap_err().to_string();
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}

#[test]
fn the_examples_of_the_reference_are_read_without_notes() {
    let reference = include_str!("../../../docs/src/reference/targets.md");
    let mut examples = Vec::new();
    for (sign, format) in [
        ("http", Format::Http),
        ("vegeta", Format::Vegeta),
        ("json", Format::VegetaJson),
    ] {
        let fence = format!("```{sign}\n");
        let blocks = reference.split(&*fence).skip(1);
        examples.extend(blocks.map(|block| (format, block.split("```").next().unwrap())));
    }
    let mut found = Vec::new();
    for (format, example) in examples {
        let mut open = |_: &Path| Ok(b"content".to_vec());
        let example = source(example.as_bytes());
        let targets = parse(format, &example, &Defaults::default(), &mut open).unwrap();
        assert_eq!(targets.notes, [""; 0]);
        let named = |step: &Step| format!("{format} {} {}", step.name, step.weight);
        found.extend(targets.steps.iter().map(named));
    }
    let expected = [
        "http blue 95",
        "http green 5",
        "http List 9",
        "http create 1",
        "http POST /upload 1",
        "http join 1",
        "http chat#2 1",
        "http say 1",
        "http Get 9",
        "http Watch 1",
        "vegeta list 9",
        "vegeta POST /items 1",
        "vegeta-json GET /items 1",
        "vegeta-json POST /items 1",
    ];
    assert_eq!(found, expected);
}

/// A file of this text.
pub(super) fn source(text: &[u8]) -> Source<'_> {
    Source {
        name: "a.x",
        folder: Path::new("folder"),
        text,
    }
}

/// There are none.
pub(super) fn no_files(_: &Path) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::NotFound.into())
}

/// A request as the tables write it: `NAME WEIGHT URL METHOD [Header: value …] [body]`, with a `+`
/// before a body that is a template.
pub(super) fn shown(step: &Step) -> String {
    let Request {
        method,
        headers,
        body,
    } = &step.request;
    let target = &step.target;
    let mut out = format!(
        "{:?} {} {method} {}://{}{}",
        step.name,
        step.weight,
        target.scheme,
        target.authority(),
        target.path
    );
    for (name, value) in headers {
        out.push_str(&format!(" [{name}: {value}]"));
    }
    if !body.is_empty() || step.body_is_template {
        let sign = if step.body_is_template { "+" } else { "" };
        out.push_str(&format!(" {sign}{:?}", String::from_utf8_lossy(body)));
    }
    out
}
