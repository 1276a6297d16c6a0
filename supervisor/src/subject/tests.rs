use super::*;

#[test]
fn known_placeholders_are_filled_in_and_other_braces_stay() {
    let values = Values {
        port: 8080,
        cpus: "0".into(),
        dir: "/run/x".into(),
        ..Values::default()
    };
    let text = "events { listen {port}; } {dir}/{cpus} {nothing} {";
    let filled = values.fill(text);
    assert_eq!(filled, "events { listen 8080; } /run/x/0 {nothing} {");
}

#[test]
fn a_value_that_looks_like_a_placeholder_is_not_filled_in_again() {
    let values = Values {
        dir: "/tmp/{port}".into(),
        ..Values::default()
    };
    assert_eq!(values.fill("{dir}"), "/tmp/{port}");
}

/// A folder with a `subject.toml` and other files.
fn folder(text: &str, files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("subject.toml"), text).unwrap();
    for file in files {
        fs::write(folder.path().join(file), "").unwrap();
    }
    folder
}

#[test]
fn what_follows_from_the_rest_need_not_be_said() {
    let start = "[start]\ncommand = [\"true\"]\n";
    let answers = "[[answer]]\npath = \"/a\"\nprotocol = \"http2\"\nbody = \"b\"\n";
    let server = folder(
        &format!("{start}{answers}[[requires]]\nprogram = \"true\"\n"),
        &[],
    );
    let read = Subject::read(server.path()).unwrap_or_else(|bad| panic!("{bad}"));
    assert_eq!((read.kind, &read.description), (Kind::Server, &read.name));
    let ready = read.ready.expect("what says that it serves");
    assert_eq!(
        (ready.path.as_str(), ready.protocol),
        ("/a", Protocol::Http2)
    );
    assert_eq!(read.requires[0].install, "Install true.");
    let needed = format!("{start}{answers}[[requires]]\nprogram = \"sh\"\nfails = \"No core.\"\n");
    let why = Subject::read(folder(&needed, &[]).path()).expect_err("nothing can fail");
    assert!(why.to_string().contains("add `check`"), "{why}");
    let checked = folder(&format!("{needed}check = [\"true\"]\n"), &[]);
    let read = Subject::read(checked.path()).unwrap_or_else(|bad| panic!("{bad}"));
    assert_eq!(read.requires[0].install, "");
    let command = folder(&format!("output = \"\"\n{start}"), &[]);
    let read = Subject::read(command.path()).unwrap_or_else(|bad| panic!("{bad}"));
    assert_eq!(read.kind, Kind::Command);
}

#[test]
fn a_file_is_found_in_the_run_directory_or_in_the_subjects_folder() {
    let subject = folder("", &["server", "both"]);
    let run = folder("", &["both"]);
    let values = Values {
        subject: subject.path().to_owned(),
        dir: run.path().to_owned(),
        port: 7,
        ..Values::default()
    };
    let words = ["./server", "./both", "server", "./none", "{port}"];
    let command = Command(words.map(|word| Template(word.to_owned())).to_vec());
    let (program, rest) = command.fill(&values);
    assert_eq!(program, subject.path().join("server").display().to_string());
    assert_eq!(rest, ["./both", "server", "./none", "7"]);
}

#[test]
fn a_command_in_one_text_is_answered_with_the_list() {
    let text =
        "[start]\ncommand = \"./server --port {port}\"\n[[answer]]\npath = \"/\"\nbody = \"\"";
    let bad = Subject::read(folder(text, &[]).path()).expect_err("it is refused");
    let wanted = "expected [\"./server\", \"--port\", \"{port}\"]";
    assert!(bad.to_string().contains(wanted), "{bad}");
}

#[test]
fn names_with_folders_are_not_plain() {
    for name in ["nginx.conf", "a-b_c.1"] {
        assert!(is_plain_name(name), "{name}");
    }
    for name in ["", "../x", "a/b", ".hidden", "a b"] {
        assert!(!is_plain_name(name), "{name}");
    }
}
