use std::fs;

use prost::Message as _;
use tempfile::TempDir;

use super::*;
use plan::method::Encoder as _;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/proto");

fn proto(file: &str) -> Source {
    Source::Proto {
        files: vec![PathBuf::from(FOLDER).join(file)],
        import_paths: Vec::new(),
    }
}

fn found(path: &str, source: &Source) -> Result<Method, String> {
    let plan = Plan::new(&format!("grpc://localhost:1/{path}")).unwrap();
    Method::find(&plan, source).map_err(|error| error.to_string())
}

fn zoo(method: &str) -> Method {
    found(&format!("zoo.v1.Zoo/{method}"), &proto("zoo.proto")).unwrap()
}

/// The JSON of a message that a method of the zoo takes, after it was encoded and decoded.
fn through(json: &str) -> Value {
    let method = zoo("Feed");
    let call = method
        .call(Some(json))
        .unwrap_or_else(|why| panic!("{json}: {why}"));
    let decoded = DynamicMessage::decode(method.0.input(), &*call.messages[0]).unwrap();
    serde_json::to_value(&decoded).unwrap()
}

#[test]
fn json_becomes_the_message_that_it_says() {
    let table = [
        ("{}", "{}"),
        (
            r#"{"small": -3, "open": true}"#,
            r#"{"small": -3, "open": true}"#,
        ),
        (
            r#"{"large": "-9007199254740993"}"#,
            r#"{"large": "-9007199254740993"}"#,
        ),
        (
            r#"{"large": -9007199254740993}"#,
            r#"{"large": "-9007199254740993"}"#,
        ),
        (
            r#"{"count": "18446744073709551615"}"#,
            r#"{"count": "18446744073709551615"}"#,
        ),
        (r#"{"picture": "AAH/"}"#, r#"{"picture": "AAH/"}"#),
        (r#"{"picture": "AAH_"}"#, r#"{"picture": "AAH/"}"#),
        (r#"{"weight": "Infinity"}"#, r#"{"weight": "Infinity"}"#),
        (
            r#"{"animal": {"kind": "KIND_LION"}}"#,
            r#"{"animal": {"kind": "KIND_LION"}}"#,
        ),
        (
            r#"{"animal": {"kind": 2}}"#,
            r#"{"animal": {"kind": "KIND_GOOSE"}}"#,
        ),
        (
            r#"{"herd": [{"young": [{"name": "a"}]}, {}]}"#,
            r#"{"herd": [{"young": [{"name": "a"}]}, {}]}"#,
        ),
        (
            r#"{"ages": {"x": 1, "y": 2}}"#,
            r#"{"ages": {"x": 1, "y": 2}}"#,
        ),
        (
            r#"{"cages": {"-7": {"name": "a"}}}"#,
            r#"{"cages": {"-7": {"name": "a"}}}"#,
        ),
        (r#"{"number": 0}"#, r#"{"number": 0}"#),
        (r#"{"guests": 0, "name": null}"#, r#"{"guests": 0}"#),
        (
            r#"{"at": "2026-01-31T12:00:00.5Z"}"#,
            r#"{"at": "2026-01-31T12:00:00.500Z"}"#,
        ),
        (r#"{"stay": "1.5s"}"#, r#"{"stay": "1.500s"}"#),
        (
            r#"{"notes": {"a": [1, null, "b"]}}"#,
            r#"{"notes": {"a": [1.0, null, "b"]}}"#,
        ),
        (
            r#"{"thing": {"@type": "type.googleapis.com/zoo.v1.Animal", "name": "a"}}"#,
            r#"{"thing": {"@type": "type.googleapis.com/zoo.v1.Animal", "name": "a"}}"#,
        ),
        (r#"{"guide": "b"}"#, r#"{"guide": "b"}"#),
        (r#"{"steps": [1, -2]}"#, r#"{"steps": [1, -2]}"#),
        (r#"{"plot": 5}"#, r#"{"plot": 5}"#),
        (r#"{"fixed_size": 5}"#, r#"{"plot": 5}"#),
    ];
    for (json, expected) in table {
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(through(json), expected, "{json}");
    }
}

#[test]
fn the_bytes_are_those_of_the_encoding() {
    // Field 1 as a varint, field 5 with its length (protobuf.dev/programming-guides/encoding).
    let call = zoo("Feed")
        .call(Some(r#"{"small": 150, "name": "ab"}"#))
        .unwrap();
    assert_eq!(call.messages, [b"\x08\x96\x01\x2a\x02ab"]);
    assert_eq!(call.deadline_s, None);
}

/// JSON that does not fit, and a part of what is said of it.
const MISFITS: [(&str, &str); 26] = [
    (
        r#"{"smal": 1}"#,
        "smal isn't a field of zoo.v1.Visit; it has small, ",
    ),
    (
        r#"{"small": "x"}"#,
        r#"small must be a 32-bit integer, not "x""#,
    ),
    (
        r#"{"small": 3000000000}"#,
        "small must be a 32-bit integer, not 3000000000",
    ),
    (r#"{"large": 1.5}"#, "large must be a 64-bit integer"),
    (
        r#"{"count": -1}"#,
        "count must be an unsigned 64-bit integer",
    ),
    (
        r#"{"open": "yes"}"#,
        r#"open must be true or false, not "yes""#,
    ),
    (r#"{"name": 5}"#, "name must be a string, not 5"),
    (r#"{"picture": "%"}"#, "picture must be a base64 string"),
    (
        r#"{"animal": []}"#,
        "animal must be an object of zoo.v1.Animal, not []",
    ),
    (
        r#"{"animal": {"kind": "LION"}}"#,
        r#"animal.kind must be one of KIND_LION, KIND_UNKNOWN, KIND_GOOSE, not "LION""#,
    ),
    (
        r#"{"herd": {}}"#,
        "herd must be an array, because the field is repeated",
    ),
    (
        r#"{"herd": [{}, {"young": [{"name": 1}]}]}"#,
        "herd[1].young[0].name must be a string, not 1",
    ),
    (
        r#"{"ages": [1]}"#,
        "ages must be an object, because the field is a map",
    ),
    (
        r#"{"ages": {"a": 1, "b": "c"}}"#,
        r#"ages["b"] must be a 32-bit integer"#,
    ),
    (
        r#"{"cages": {"1": {"nam": ""}}}"#,
        r#"cages["1"].nam isn't a field of zoo.v1.Animal"#,
    ),
    (
        r#"{"cages": {"x": {}}}"#,
        r#"the key of cages["x"] must be a 32-bit integer"#,
    ),
    (
        r#"{"code": "a", "number": 1}"#,
        "multiple fields provided for oneof 'ticket'",
    ),
    (
        r#"{"at": "yesterday"}"#,
        r#"at must be a time such as "2026-01-31T12:00:00Z""#,
    ),
    (
        r#"{"stay": 5}"#,
        r#"stay must be a duration in seconds such as "1.5s""#,
    ),
    (r#"{"notes": 5}"#, "notes must be an object"),
    (
        r#"{"thing": {"@type": "x/y.Z"}}"#,
        "thing must be an object with",
    ),
    (r#"{"guide": 5}"#, "guide must be a string"),
    (
        r#"{"steps": [1, "a"]}"#,
        "steps[1] must be a 32-bit integer",
    ),
    ("5", "the message must be an object of zoo.v1.Visit, not 5"),
    ("{", "-b isn't valid JSON"),
    (
        "[{}, {}]",
        "zoo.v1.Zoo.Feed takes one message, not a stream",
    ),
];

#[test]
fn json_that_does_not_fit_is_told_its_place_and_what_is_expected() {
    let method = zoo("Feed");
    for (json, part) in MISFITS {
        let Invalid(text) = method.call(Some(json)).unwrap_err();
        assert!(text.contains(part), "{json}: {text}");
    }
}

#[test]
fn names_that_a_template_filled_in_are_not_told() {
    let method = zoo("Feed");
    for (json, expected) in [
        (
            r#"{"canary": 1}"#,
            "the message has a name in it that isn't a field of zoo.v1.Visit; it has small, ",
        ),
        (
            r#"{"ages": {"canary": "b"}}"#,
            "ages[…] must be a 32-bit integer, not that text",
        ),
        (
            r#"{"cages": {"canary": {}}}"#,
            "the key of cages[…] must be a 32-bit integer",
        ),
    ] {
        let text = method.messages(json.as_bytes(), false).unwrap_err();
        assert!(
            text.contains(expected) && !text.contains("canary"),
            "{text}"
        );
    }
}

#[test]
fn a_body_of_a_mix_is_told_its_place_and_its_values_only_where_nobody_filled_them_in() {
    let method = zoo("Feed");
    for (json, part) in MISFITS {
        let text = method.messages(json.as_bytes(), true).unwrap_err();
        assert!(
            text.contains(&part.replace("-b isn", "the body isn")),
            "{json}: {text}"
        );
    }
    let table = [
        (
            r#"{"small": "canary"}"#,
            "the body doesn't match the request message: small must be a 32-bit integer, not that \
             text",
        ),
        (
            r#"{"at": "canary"}"#,
            "the body doesn't match the request message: at must be a time such as \
             \"2026-01-31T12:00:00Z\", not that text",
        ),
        (
            r#"{"code": "canary", "number": 1}"#,
            "the body doesn't match the request message: the message has a value that doesn't fit, \
             or several of one `oneof`",
        ),
        (
            "{\n\"small\": canary}",
            "the body isn't valid JSON in line 2, column 10: put {{values}} that are text in \
             quotes",
        ),
        (
            "[{}, {}]",
            "zoo.v1.Zoo.Feed takes one message, not a stream: write one JSON object, not an \
             array of 2",
        ),
    ];
    for (json, expected) in table {
        assert_eq!(
            method.messages(json.as_bytes(), false).unwrap_err(),
            expected
        );
    }
    let count = |name: &str, json: &[u8]| {
        let method = zoo(name);
        let messages = method.messages(json, false).unwrap();
        let same = std::str::from_utf8(json).unwrap();
        let same = Some(same).filter(|text| !text.trim().is_empty());
        assert_eq!(messages, method.call(same).unwrap().messages);
        messages.len()
    };
    assert_eq!(count("Feed", b" \n"), 1);
    assert_eq!(
        count("Feed", br#"{"small": 3, "animal": {"kind": "KIND_LION"}}"#),
        1
    );
    assert_eq!(count("FeedAll", br#"[{"small": 1}, {}]"#), 2);
    assert_eq!(count("Talk", b"[]"), 0);
    assert_eq!(count("List", b"[1, 2]"), 1);
}

#[test]
fn the_methods_of_a_mix_are_found_and_what_is_not_there_says_where_it_is_called() {
    let describe = |file: &str, paths: &[&str], headers: &[(&str, &str)]| {
        let mut plan = Plan::new("grpc://localhost:1/zoo.v1.Zoo/Feed").unwrap();
        let steps = (1..).zip(paths).map(|(line, path)| plan::Step {
            name: String::new(),
            weight: 1,
            target: plan::Target::parse(&format!("grpc://localhost:1/{path}")).unwrap(),
            request: plan.request.clone(),
            body_is_template: false,
            expect: Vec::new(),
            at: Some(format!("a.http:{line}")),
        });
        let mut workload = plan::Workload::new(steps.collect());
        let fields = headers.iter();
        workload.steps[0].request.headers = fields
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        plan.workload = Some(workload);
        describe(&plan, &proto(file)).map_err(|error| error.to_string())
    };
    let text = describe("animal.proto", &["zoo.v1.Zoo/Feed"], &[]).unwrap_err();
    let expected = "a.http:1: the descriptions don't define any services: give another file with";
    assert!(text.starts_with(expected), "{text}");
    let describe = |paths: &[&str], headers: &[_]| describe("zoo.proto", paths, headers);
    let paths = ["zoo.v1.Zoo/Feed", "zoo.v1.Zoo/Talk", "zoo.v1.Zoo/Feed"];
    let methods = describe(&paths, &[("a", "{{b}}")]).unwrap();
    let kind = |path: &str| methods.of(path).map(|method| method.kind());
    assert_eq!(kind("/zoo.v1.Zoo/Feed"), Some(CallKind::Unary));
    assert_eq!(kind("/zoo.v1.Zoo/Talk"), Some(CallKind::Bidirectional));
    assert_eq!(kind("/zoo.v1.Zoo/Close"), None);
    let table = [
        (
            "zoo.v1.Zoo/Fed",
            &[][..],
            "a.http:2: zoo.v1.Zoo has no method Fed; it has Feed, ",
        ),
        (
            "zoo.v1.Zo/Feed",
            &[],
            "a.http:2: there's no service zoo.v1.Zo; there is zoo.v1.Zoo",
        ),
        (
            "zoo.v1.Zoo/Feed",
            &[("a-bin", "!")],
            "a.http:1: the name of the metadata a-bin ends in -bin, so its value must be base64",
        ),
    ];
    for (path, headers, expected) in table {
        let text = describe(&["zoo.v1.Zoo/Feed", path], headers).unwrap_err();
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn streams_take_an_array_of_messages_and_the_others_one() {
    let counts = |method: &str, json: Option<&str>| {
        let call = zoo(method).call(json).unwrap();
        (call.kind, call.messages.len())
    };
    let two = Some(r#"[{"small": 1}, {}]"#);
    assert_eq!(counts("FeedAll", two), (CallKind::ClientStream, 2));
    assert_eq!(counts("Talk", two), (CallKind::Bidirectional, 2));
    assert_eq!(counts("Talk", Some("[]")), (CallKind::Bidirectional, 0));
    assert_eq!(counts("Talk", Some("{}")), (CallKind::Bidirectional, 1));
    assert_eq!(counts("Talk", None), (CallKind::Bidirectional, 1));
    assert_eq!(counts("Watch", Some("{}")), (CallKind::ServerStream, 1));
    assert_eq!(counts("Close", None), (CallKind::Unary, 1));
    // The JSON form of a `ListValue` is an array, and yet one message.
    assert_eq!(counts("List", Some("[1, 2]")), (CallKind::Unary, 1));
    let Invalid(text) = zoo("Talk").call(Some(r#"[{}, {"name": 1}]"#)).unwrap_err();
    assert!(text.contains("[1].name must be a string"), "{text}");
}

#[test]
fn an_answer_is_shown_as_json() {
    let shown = zoo("Feed").answer(b"\x0a\x01a\x10\x02").unwrap();
    assert_eq!(shown.to_string(), r#"{"kind":"KIND_GOOSE","name":"a"}"#);
    let Invalid(text) = zoo("Feed").answer(b"\x0a\x05a").unwrap_err();
    assert!(text.contains("isn't a zoo.v1.Animal"), "{text}");
}

#[test]
fn what_does_not_exist_is_answered_with_what_does_the_nearest_first() {
    let table = [
        (
            "zoo.v1.Zoo/Fed",
            "zoo.v1.Zoo has no method Fed; it has Feed, ",
        ),
        (
            "zoo.v1.Zo/Feed",
            "there's no service zoo.v1.Zo; there is zoo.v1.Zoo, zoo.v1.Gate",
        ),
        (
            "Gate/Open",
            "there's no service Gate; there is zoo.v1.Gate, zoo.v1.Zoo",
        ),
        (
            "",
            "doesn't name a method: write grpc://HOST:PORT/package.Service/Method",
        ),
        (
            "zoo.v1.Gate",
            "with one of these services: zoo.v1.Gate, zoo.v1.Zoo",
        ),
        ("zoo.v1.Gate/", "doesn't name a method"),
        ("zoo.v1.Gate/Open/Wide", "no service zoo.v1.Gate/Open"),
    ];
    for (path, part) in table {
        let text = found(path, &proto("zoo.proto")).unwrap_err();
        assert!(text.contains(part), "{path}: {text}");
    }
    let text = found("a.B/C", &proto("animal.proto")).unwrap_err();
    assert!(text.contains("don't define any services"), "{text}");
}

#[test]
fn a_file_that_does_not_compile_is_told_line_and_column() {
    let table = [
        ("broken/syntax.proto", "syntax.proto:4:17: expected"),
        (
            "broken/unknown_type.proto",
            "unknown_type.proto:4:3: name 'Mane' is not defined",
        ),
        (
            "broken/import.proto",
            "import.proto:3:1: import 'nowhere/mane.proto' not found",
        ),
        ("broken/import.proto", "--import-path"),
        ("broken/end.proto", "end.proto: expected"),
        ("nothing.proto", "no such file"),
        ("broken", "broken"),
    ];
    for (file, part) in table {
        let text = found("a.B/C", &proto(file)).unwrap_err();
        assert!(text.contains(part), "{file}: {text}");
        assert!(text.starts_with("--proto "), "{text}");
    }
}

#[test]
fn imports_are_looked_for_in_the_given_folders_too() {
    let folder = Folder::new();
    let text = "syntax = \"proto3\"; import \"animal.proto\"; service S { rpc M(zoo.v1.Animal) \
                returns (zoo.v1.Animal); }";
    let file = folder.write("far.proto", text.as_bytes());
    let find = |import_paths| {
        let files = vec![file.clone()];
        found(
            "S/M",
            &Source::Proto {
                files,
                import_paths,
            },
        )
    };
    find(vec![PathBuf::from(FOLDER)]).unwrap();
    let text = find(Vec::new()).unwrap_err();
    assert!(text.contains("import 'animal.proto' not found"), "{text}");
}

#[test]
fn a_set_of_descriptors_serves_as_well_and_a_broken_one_says_how_to_make_it() {
    let folder = Folder::new();
    let pool = zoo("Feed").0.parent_pool().clone();
    let whole = Source::Protoset(folder.write("whole", &pool.encode_to_vec()));
    let by_proto = zoo("Feed").call(Some(r#"{"name": "a"}"#)).unwrap();
    let by_set = found("zoo.v1.Zoo/Feed", &whole).unwrap();
    assert_eq!(by_set.call(Some(r#"{"name": "a"}"#)).unwrap(), by_proto);

    let only = |name: &str| {
        let files = pool.files().filter(|file| file.name().ends_with(name));
        let file = files
            .map(|file| file.file_descriptor_proto().clone())
            .collect();
        prost_reflect::prost_types::FileDescriptorSet { file }.encode_to_vec()
    };
    // Those of google/protobuf are built in, others are not.
    let lacking = Source::Protoset(folder.write("lacking", &only("zoo.proto")));
    let garbage = Source::Protoset(folder.write("garbage", b"\xff\xff\xff"));
    let table = [
        (
            &lacking,
            "the import animal.proto is missing; create one with `protoc --include_imports",
        ),
        (&garbage, "it isn't a descriptor set"),
        (&Source::Protoset("/nonexistent".into()), "check the path"),
    ];
    for (source, part) in table {
        let text = found("zoo.v1.Zoo/Feed", source).unwrap_err();
        assert!(text.contains(part), "{text}");
        assert!(text.starts_with("--protoset "), "{text}");
    }
}

/// A folder for one test, gone at its end.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}
