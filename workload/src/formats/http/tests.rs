use std::io;
use std::path::Path;

use super::super::tests::{no_files, shown, source};
use super::*;

fn read(text: &str) -> Result<Targets, Invalid> {
    let mut open = |path: &Path| match path.to_str() {
        Some("folder/./plain.txt") => Ok(b"\nmessage-body\n".to_vec()),
        Some("folder/braces.txt" | "/braces.txt") => Ok(b"{{a}} {{b}}".to_vec()),
        Some("folder/bytes.bin") => Ok(vec![0, 255]),
        Some("folder/app.js") => Ok(b"js".to_vec()),
        _ => Err(io::ErrorKind::NotFound.into()),
    };
    parse(&source(text.as_bytes()), &Defaults::default(), &mut open)
}

fn steps(text: &str) -> Vec<String> {
    let targets = read(text).unwrap();
    targets.steps.iter().map(shown).collect()
}

/// A file, and the requests in it.
type Case = (&'static str, &'static [&'static str]);

fn check(table: &[Case]) {
    for (text, expected) in table {
        assert_eq!(steps(text), *expected, "{text:?}");
        // What ends lines changes nothing.
        let found = steps(&text.replace('\n', "\r\n"));
        assert_eq!(found, *expected, "{text:?} with CR LF");
    }
}

#[test]
fn request_lines_are_read_as_editors_read_them() {
    check(&[
        (
            "GET https://x/c/1 HTTP/1.1",
            &["\"GET /c/1\" 1 GET https://x/c/1"],
        ),
        ("https://x/c/1", &["\"GET /c/1\" 1 GET https://x/c/1"]),
        (
            "localhost:8080",
            &["\"GET /\" 1 GET http://localhost:8080/"],
        ),
        ("get http://x/ http/1.0", &["\"GET /\" 1 GET http://x/"]),
        (
            "  Delete\thttp://x/ \n",
            &["\"DELETE /\" 1 DELETE http://x/"],
        ),
        ("PURGE http://x/a", &["\"PURGE /a\" 1 PURGE http://x/a"]),
        ("http://[::1]:81/#a", &["\"GET /\" 1 GET http://[::1]:81/"]),
        (
            "GET http://x/c\n    ?page=2\n    &size=10",
            &["\"GET /c\" 1 GET http://x/c?page=2&size=10"],
        ),
        (
            "GET http://x/c\n?page=2\n# half of it\n&size=10 HTTP/1.1\nA: b",
            &["\"GET /c\" 1 GET http://x/c?page=2&size=10 [A: b]"],
        ),
        (
            "http://x\n  /api\n  /get",
            &["\"GET /api/get\" 1 GET http://x/api/get"],
        ),
        (
            "GET /a?b\nHost: x:8080",
            &["\"GET /a\" 1 GET http://x:8080/a?b [Host: x:8080]"],
        ),
        (
            "/a\nhost: x:443",
            &["\"GET /a\" 1 GET https://x/a [host: x:443]"],
        ),
        (
            "GET http://x/i/{{random 1 100}}?q={{pick a? b}} HTTP/1.1",
            &["\"GET /i/{{random 1 100}}\" 1 GET http://x/i/{{random 1 100}}?q={{pick a? b}}"],
        ),
        (
            "http://x/{{pick a HTTP/1}}",
            &["\"GET /{{pick a HTTP/1}}\" 1 GET http://x/{{pick a HTTP/1}}"],
        ),
    ]);
}

#[test]
fn blocks_have_names_and_weights_and_comments() {
    check(&[
        (
            "###\n###\nhttp://x/1\n###\n\n### \nhttp://x/2\n###",
            &["\"GET /1\" 1 GET http://x/1", "\"GET /2\" 1 GET http://x/2"],
        ),
        (
            "### Get it\n# @name login\nhttp://x/",
            &["\"login\" 1 GET http://x/"],
        ),
        (
            "#### Get it \n// @weight 3\n\nhttp://x/",
            &["\"Get it\" 3 GET http://x/"],
        ),
        ("### Lost\n###\nhttp://x/", &["\"GET /\" 1 GET http://x/"]),
        (
            "# @name = a b\n//@weight=0\nhttp://x/",
            &["\"a b\" 0 GET http://x/"],
        ),
        (
            "# c\n  // c\nhttp://x/\n# @weight 2\nA: 1\n// c: d\nB:2\nC:",
            &["\"GET /\" 2 GET http://x/ [A: 1] [B: 2] [C: ]"],
        ),
        (
            "// @no-redirect\nhttp://x/\n\n# that was all",
            &["\"GET /\" 1 GET http://x/"],
        ),
    ]);
}

#[test]
fn what_answers_must_be_stands_in_comments() {
    let text = "# @expect status=201\nPOST http://x/\n// @expect json:$.a[?@.b == 'c']=d e\nA: b\n\
                ###\nhttp://x/";
    let steps = read(text).unwrap().steps;
    let expected: Vec<Vec<String>> = steps
        .iter()
        .map(|step| step.expect.iter().map(ToString::to_string).collect())
        .collect();
    let first = ["status=201", "json:$.a[?@.b == 'c']=d e"].map(str::to_owned);
    assert_eq!(expected, [first.to_vec(), Vec::new()]);
}

#[test]
fn bodies_are_read_as_editors_read_them() {
    check(&[
        (
            "POST http://x/\n\n{\"a\": 1}",
            &["\"POST /\" 1 POST http://x/ +\"{\\\"a\\\": 1}\""],
        ),
        (
            "POST http://x/\nA: b\n\n\n a \n\nb\n\n\n###\nx",
            &[
                "\"POST /\" 1 POST http://x/ [A: b] +\" a \\n\\nb\"",
                "\"GET /\" 1 GET http://x/",
            ],
        ),
        (
            "POST http://x/\n\n# c\na\n // c\nb\n# c\n",
            &["\"POST /\" 1 POST http://x/ +\"a\\nb\""],
        ),
        (
            "http://x/\nContent-Type: application/x-www-form-urlencoded\n\na=b\n&c=d\ne\n&f",
            &[
                "\"GET /\" 1 GET http://x/ [Content-Type: application/x-www-form-urlencoded] \
             +\"a=b&c=d\\ne&f\"",
            ],
        ),
        (
            "http://x/\nContent-Type: application/x-ndjson\n\n{}\n{}",
            &["\"GET /\" 1 GET http://x/ [Content-Type: application/x-ndjson] +\"{}\\n{}\\n\""],
        ),
        (
            "http://x/\n\n> quoted\n<p>\n> more",
            &["\"GET /\" 1 GET http://x/ +\"> quoted\\n<p>\\n> more\""],
        ),
        ("http://x/\n\n\n", &["\"GET /\" 1 GET http://x/"]),
        (
            "http://x/\nContent-Length: 3\n\nabcd",
            &["\"GET /\" 1 GET http://x/ +\"abcd\""],
        ),
    ]);
}

#[test]
fn files_are_bodies_and_parts_of_them() {
    check(&[
        (
            "http://x/\n\n< ./plain.txt\n\n",
            &["\"GET /\" 1 GET http://x/ \"\\nmessage-body\\n\""],
        ),
        (
            "http://x/\n\n<   app.js  ",
            &["\"GET /\" 1 GET http://x/ \"js\""],
        ),
        (
            "@a = 1\nhttp://x/\n\n< /braces.txt",
            &["\"GET /\" 1 GET http://x/ \"{{a}} {{b}}\""],
        ),
        (
            "@a = 1\nhttp://x/\n\n<@ braces.txt",
            &["\"GET /\" 1 GET http://x/ +\"1 {{b}}\""],
        ),
        (
            "@f = braces\nhttp://x/\n\n<@utf8 {{f}}.txt",
            &["\"GET /\" 1 GET http://x/ +\"{{a}} {{b}}\""],
        ),
        // Beside templates of its own a body may have files without any.
        (
            "http://x/\n\n{{a}}\n< app.js\nb",
            &["\"GET /\" 1 GET http://x/ +\"{{a}}\\njs\\nb\""],
        ),
        (
            "http://x/\n\na\n< braces.txt",
            &["\"GET /\" 1 GET http://x/ \"a\\n{{a}} {{b}}\""],
        ),
        (
            "POST http://x/\nContent-Type: multipart/form-data; boundary=abcd\n\n--abcd\n\
             Content-Disposition: form-data; name=\"text\"\n\nText\n--abcd\n\
             Content-Disposition: form-data; name=\"file_to_send\"; filename=\"input.txt\"\n\n\
             < ./plain.txt\n--abcd--\n",
            &[
                "\"POST /\" 1 POST http://x/ [Content-Type: multipart/form-data; boundary=abcd] \
               +\"--abcd\\r\\nContent-Disposition: form-data; name=\\\"text\\\"\\r\\n\\r\\nText\
               \\r\\n--abcd\\r\\nContent-Disposition: form-data; name=\\\"file_to_send\\\"; \
               filename=\\\"input.txt\\\"\\r\\n\\r\\n\\nmessage-body\\n\\r\\n--abcd--\\r\\n\"",
            ],
        ),
    ]);
    let bytes = read("http://x/\n\n< bytes.bin").unwrap();
    assert_eq!(bytes.steps[0].request.body, [0, 255]);
}

#[test]
fn variables_of_the_file_are_put_in() {
    check(&[
        // The example of VS Code's editor.
        (
            "@hostname = api.example.com\n@port = 8080\n@host = {{hostname}}:{{port}}\n\
             @contentType = application/json\n\n###\n\n@name = Strunk & White\n\n\
             GET https://{{host}}/authors/{{%name}} HTTP/1.1\n\n###\n\n\
             PATCH https://{{ host }}/authors/{{%name}} HTTP/1.1\n\
             Content-Type: {{contentType}}\n\n{\n\"content\": \"{{name}}\"\n}\n",
            &[
                "\"GET /authors/Strunk%20%26%20White\" 1 GET \
                 https://api.example.com:8080/authors/Strunk%20%26%20White",
                "\"PATCH /authors/Strunk%20%26%20White\" 1 PATCH \
                 https://api.example.com:8080/authors/Strunk%20%26%20White \
                 [Content-Type: application/json] \
                 +\"{\\n\\\"content\\\": \\\"Strunk & White\\\"\\n}\"",
            ],
        ),
        (
            "http://{{later}}/\n###\n@later=x",
            &["\"GET /\" 1 GET http://x/"],
        ),
        (
            "@a = {{b}}\n@a = {{b}}\nhttp://x/{{a}}",
            &["\"GET /{{b}}\" 1 GET http://x/{{b}}"],
        ),
        (
            "@h = A: b\nhttp://x/\n{{h}}",
            &["\"GET /\" 1 GET http://x/ [A: b]"],
        ),
        (
            "@a = \\x\\\\\\ty\\{{b}}\nhttp://x/\n\n{{a}}",
            &["\"GET /\" 1 GET http://x/ +\"x\\\\\\ty\\\\{{b}}\""],
        ),
        (
            "@id = {{random 1 9}}\nhttp://x/\n\n{{id}} {{$guid}} \\{{id}} {{id",
            &["\"GET /\" 1 GET http://x/ +\"{{random 1 9}} {{$guid}} \\\\{{id}} {{id\""],
        ),
        (
            "@empty =\nhttp://x/a{{empty}}",
            &["\"GET /a\" 1 GET http://x/a"],
        ),
    ]);
}

#[test]
fn what_is_ignored_is_noted_once() {
    let table: [(&str, &[&str]); 8] = [
        (
            "# @no-log\nhttp://x/\n###\n# @no-log\nhttp://x/",
            &["a.x:1: `@no-log` is ignored: no request is in a log (and 1 more)"],
        ),
        (
            "# @note\n# @no-cookie-jar\n# @no-redirect\n# @timeout 5\nhttp://x/",
            &[
                "a.x:1: `@note` is ignored: nobody is asked before a request is sent",
                "a.x:2: `@no-cookie-jar` is ignored: --cookies is for all requests, or none",
                "a.x:4: `@timeout` is ignored: directives are @name, @weight and @expect",
            ],
        ),
        (
            "http://x/\nContent-Length: 0",
            &["a.x:1: `Content-Length` is ignored: it's computed from each body"],
        ),
        (
            "http://x/ HTTP/2",
            &["a.x:1: the version of HTTP is ignored: flags set what is spoken"],
        ),
        (
            "http://x/\n\na\n# b\nc",
            &[
                "a.x:4: a line of a body that begins with # or // is a comment, as in editors, and \
             isn't sent: to send it, put the body into a file (`< FILE`)",
            ],
        ),
        (
            "http://x/\n\n@a = b",
            &[
                "a.x:3: this line looks like a variable, but is sent as part of a body: variables \
             are defined above a request line",
            ],
        ),
        (
            "GET http://x/1\n\nGET http://x/2\nHEAD http://x/3",
            &[
                "a.x:3: this line looks like a request, but is sent as part of a body: separate \
               requests by a line `###` (and 1 more)",
            ],
        ),
        (
            "http://x/\n###\nHTTP/1.1 200 OK\nA: b",
            &["a.x:3: the answer that stands here is ignored"],
        ),
    ];
    for (text, notes) in table {
        assert_eq!(read(text).unwrap().notes, notes, "{text:?}");
    }
    let many: String = (0..30).map(|n| format!("# @d{n}\n")).collect();
    assert_eq!(read(&format!("{many}http://x/")).unwrap().notes.len(), 20);
}

const NOT_HONOURED: &[(&str, &str)] = &[
    (
        "http://x/\n\n> {% client.log(1) %}",
        "3: a script that handles the answer (`>`)",
    ),
    (
        "http://x/\n\n>{%\n%}",
        "3: a script that handles the answer (`>`)",
    ),
    (
        "http://x/\n> ./check.js",
        "2: a script that handles the answer (`>`)",
    ),
    (
        "< {% request.variables.set(1) %}\nhttp://x/",
        "1: a script that runs before the request",
    ),
    (
        "http://x/\n\n< {%\n%}",
        "3: a script that runs before the request",
    ),
    (
        "< ./x.js\nGET http://x/",
        "1: `< FILE` above a request is a script",
    ),
    (
        "http://x/\n\n>> answer.json",
        "3: answers aren't written to files (`>>`)",
    ),
    (
        "http://x/\n\n>>! answer.json",
        "3: answers aren't written to files (`>>`)",
    ),
    (
        "http://x/\n\nbody\n\n<> before.200.json",
        "5: `<>` refers to an answer of before",
    ),
    (
        "import a.http\n",
        "1: `import` takes requests from other files",
    ),
    ("run #login\n", "1: `run` takes requests from other files"),
    ("curl http://x/", "1: curl's command lines aren't read"),
    (
        "GRAPHQL http://x/",
        "1: GRAPHQL isn't a method of HTTP: write POST",
    ),
    (
        "POST http://x/\nX-REQUEST-TYPE: GraphQL",
        "2: `X-Request-Type: GraphQL`",
    ),
    ("# @prompt user\nhttp://x/", "1: @prompt asks a person"),
    (
        "http://x/\nA: {{login.response.body.$.token}}",
        "2: {{login.response.body.$.token}} takes a value from an earlier request",
    ),
    (
        "http://x/\n\n{{a.request.headers.B}}",
        "3: {{a.request.headers.B}} takes a value",
    ),
    (
        "\n@t = {{l.response.headers.A}}\nhttp://x/",
        "2: {{l.response.headers.A}} takes a value",
    ),
];

#[test]
fn what_cannot_be_honoured_is_refused_by_name() {
    mistakes(NOT_HONOURED);
}

#[test]
fn calls_are_read_as_jetbrains_editor_writes_them() {
    check(&[
        ("GRPC x:1/p.S/M", &["\"p.S/M\" 1 POST grpc://x:1/p.S/M"]),
        (
            "### get\n# @weight 3\nGRPC grpc://x:1/p.S/M\nA: {{b}}\nx-bin: AP8\n\n{\"c\": {{d}}}",
            &["\"get\" 3 POST grpc://x:1/p.S/M [A: {{b}}] [x-bin: AP8] +\"{\\\"c\\\": {{d}}}\""],
        ),
        (
            "@h = x:1\ngrpc http://{{h}}/p.S/M\n\n< bytes.bin\n###\nGRPC https://{{h}}\n    /p.S/N",
            &[
                "\"p.S/M\" 1 POST grpc://x:1/p.S/M \"\\0\u{fffd}\"",
                "\"p.S/N\" 1 POST grpcs://x:1/p.S/N",
            ],
        ),
        (
            "GRPC /p.S/M\nHost: x:443",
            &["\"p.S/M\" 1 POST grpcs://x/p.S/M [Host: x:443]"],
        ),
    ]);
    let notes = read("GRPC x/p.S/M\nContent-Type: application/json\n\n{}").unwrap();
    assert_eq!(notes.steps[0].request.headers, []);
    let note = "a.x:1: `Content-Type` is ignored: that of a call is gRPC's";
    assert_eq!(notes.notes, [note]);
}

#[test]
fn what_is_no_call_is_refused_with_its_line() {
    mistakes(NO_CALLS);
}

const NO_CALLS: &[(&str, &str)] = &[
    (
        "GRPC x:1/p.S",
        "1: the path of a call is /package.Service/Method: write GRPC HOST",
    ),
    (
        "GRPC x:1/p.S/M?a=b",
        "1: the path of a call is /package.Service/Method",
    ),
    (
        "\nGRPC x:1/p.S/{{m}}",
        "2: a template can't be in the path of a call: the method can't change per request",
    ),
    (
        "GRPC {{x}}/p.S/M",
        "1: a template can't be the scheme, host or port",
    ),
    ("GRPC", "1: the URL is missing"),
    (
        "grpc://x/p.S/M",
        "1: a grpc:// URL is called: write `GRPC` as the method",
    ),
    (
        "POST grpcs://x/p.S/M",
        "1: a grpcs:// URL is called: write `GRPC` as the method",
    ),
    (
        "GRPC x/p.S/M\n###\n\nGET http://x/",
        "4: a request of HTTP stands among gRPC calls (the first is in line 1), and a run speaks \
         one protocol: give each kind a file of its own",
    ),
    (
        "\nhttp://x/\n###\nGRPC x/p.S/M",
        "4: a gRPC call stands among requests of HTTP (the first is in line 2)",
    ),
    (
        "# @weight 2\n# @expect status=2xx\nGRPC x/p.S/M",
        "2: `@expect` is about answers of HTTP, and a gRPC call is judged by its own status: \
         remove it",
    ),
    (
        "GRPC x/p.S/M\nGRPC x/p.S/N",
        "2: a request begins among the headers of another",
    ),
];

const MISTAKES: &[(&str, &str)] = &[
    (
        "# a comment\n\n// another\n@a = b",
        "1: the file has no request",
    ),
    ("\nGET", "2: the URL is missing"),
    ("GET HTTP/1.1", "1: the URL is missing"),
    ("GET /a", "1: the URL has no host"),
    ("OPTIONS *", "1: `*` is no URL to load"),
    (
        "Authorization: SECRET",
        "1: a header stands where a request should begin",
    ),
    (
        "Authorization:SECRET SECRET",
        "1: the host has a space in it",
    ),
    (
        "GET http://x/\nA: b\nHEAD http://x/",
        "3: a request begins among the headers",
    ),
    ("fetch http://x/", "1: \"fetch\" isn't a method"),
    ("GET http://x/a b", "1: the URL has a space in it"),
    (
        "GET http://x/ä",
        "1: the URL has a character that must be percent-encoded",
    ),
    (
        "GET http://{{host}}/",
        "1: a template can't be the scheme, host or port",
    ),
    (
        "GET http://x/{{a",
        "1: a `{{` in the URL isn't closed by `}}`",
    ),
    (
        "GET http://u:SECRET@x/",
        "1: can't load \"http://…@x\": credentials",
    ),
    (
        "GET http://x/\nAuthorization SECRET",
        "2: this header has no colon",
    ),
    (
        "POST http://x/\n{\"a\": 1}",
        "2: \"{\"a\"\" isn't the name of a header: write `Name: value`, and leave a line empty \
         above the body",
    ),
    (
        "GET http://x/\n{{a}}: b",
        "2: \"{{a}}\" isn't the name of a header",
    ),
    (
        "@a = b\\nc\nGET http://x/\nA: {{a}}",
        "3: the value of `A` has a control character",
    ),
    (
        "# @weight 1.5\nhttp://x/",
        "1: the weight \"1.5\" is out of range: use a whole number",
    ),
    (
        "# @weight 4294967296\nhttp://x/",
        "1: the weight \"4294967296\" is out of range",
    ),
    (
        "http://x/\n###\n# @weight 2\n###\nhttp://x/",
        "3: this weight belongs to no request",
    ),
    (
        "http://x/\n###\n# @expect status=2xx\n###\nhttp://x/",
        "3: this expectation belongs to no request",
    ),
    (
        "http://x/\n# @expect\nA: b",
        "2: this isn't a rule: write status=2xx",
    ),
    ("# @expect status=20\nhttp://x/", "1: \"20\" isn't a status"),
    (
        "@page = 1\n# @expect body={{page}}\nhttp://x/",
        "2: expectations are constant: variables and {{templates}} aren't filled in; write what \
         is the same in each answer, such as `json:$.id`",
    ),
    (
        "http://x/\n# @expect header:a~{{ $uuid }}\nA: b",
        "2: expectations are constant",
    ),
    (
        "@a\nhttp://x/",
        "1: this line begins with @, but defines nothing",
    ),
    (
        "@a b = c\nhttp://x/",
        "1: this line begins with @, but defines nothing",
    ),
    (
        "@a = 1\n###\n@a = 2\nhttp://x/",
        "3: `@a` has another value in line 1",
    ),
    (
        "@a = {{b}}\n@b = {{c}}\n@c = {{b}}\nhttp://x/",
        "2: this variable is defined by itself, b → c → b: give one of them a value",
    ),
    (
        "@a = {{a}}\nhttp://x/",
        "1: this variable is defined by itself, a → a",
    ),
    (
        "@a = {{%a}}\nhttp://x/",
        "1: this variable is defined by itself, a → a",
    ),
    (
        "http://x/\n\n< none.txt",
        "3: can't read the body folder/none.txt: entity not found; paths are relative to the \
         folder of the .http file (a line that begins with `< ` names a file)",
    ),
    (
        "http://x/\n\n< {{f}}.txt",
        "3: a template can't be in a file's name",
    ),
    (
        "http://x/\n\n<@latin1 braces.txt",
        "3: the encoding \"latin1\" isn't read",
    ),
    ("http://x/\n\n<@ bytes.bin", "3: this file isn't UTF-8"),
    (
        "http://x/\n\n{{a}}\n< braces.txt",
        "4: this file has a `{{` in it, and so has the body",
    ),
    (
        "\nhttp://x/\nContent-Type: multipart/form-data; boundary=\"ab\"\n\n--ab\n\nx\n--ab",
        "2: the multipart body isn't closed: add the line --ab--",
    ),
    (
        "http://x/\nContent-Type: multipart/form-data\n\nx",
        "1: the `Content-Type` of a multipart",
    ),
];

#[test]
fn mistakes_say_where_and_what_to_do() {
    mistakes(MISTAKES);
}

fn mistakes(table: &[(&str, &str)]) {
    for (text, part) in table {
        let found = read(text).unwrap_err().to_string();
        assert!(
            found.starts_with(&format!("a.x:{part}")),
            "{text:?}: {found}"
        );
        assert!(!found.contains("SECRET"), "{found}");
    }
}

#[test]
fn variables_are_bounded() {
    let doubled = |n: usize| format!("@a{} = {{{{a{n}}}}}{{{{a{n}}}}}\n", n + 1);
    let laughs: String = (0..20).map(doubled).collect();
    let found = read(&format!("@a0 = lol\n{laughs}http://x/"))
        .unwrap_err()
        .to_string();
    assert!(found.contains("this has more than 64 KiB"), "{found}");

    let chain: String = (0..40)
        .map(|n| format!("@b{n} = {{{{b{}}}}}\n", n + 1))
        .collect();
    let found = read(&format!("{chain}http://x/")).unwrap_err().to_string();
    assert!(found.contains("more than 32 variables refer"), "{found}");

    let many: String = (0..1001).map(|n| format!("@c{n} = 1\n")).collect();
    let found = read(&format!("{many}http://x/")).unwrap_err().to_string();
    assert!(
        found.starts_with("a.x:1001: more than 1000 variables"),
        "{found}"
    );

    let long = format!(
        "@d = {}\nhttp://x/\n\n{}",
        "x".repeat(60_000),
        "{{d}}".repeat(1200)
    );
    let found = read(&long).unwrap_err().to_string();
    assert!(
        found.starts_with("a.x:4: with its variables put in"),
        "{found}"
    );
}

#[test]
fn bodies_need_not_be_text() {
    let text = b"POST http://x/\n\n\xff\n@\xff = {{a}}";
    let targets = parse(&source(text), &Defaults::default(), &mut no_files).unwrap();
    assert_eq!(targets.steps[0].request.body, b"\xff\n@\xff = {{a}}");
}
