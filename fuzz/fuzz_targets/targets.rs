//! Files of targets: none makes the readers panic or grow, what ends its lines changes nothing, and
//! what comes out can be a request.
//!
//! The first byte of an input chooses the format and the defaults, the rest is the file. Files that
//! it names are not read: some have a text, others aren't there.
#![no_main]

use std::io;
use std::path::Path;

use libfuzzer_sys::{Corpus, fuzz_target};
use plan::workload::WEIGHT_MAX;
use plan::{Invalid, Step, Target};
use workload::formats::{Defaults, Format, Source, Targets, parse};

fuzz_target!(|data: &[u8]| -> Corpus {
    let &[choice, ref text @ ..] = data else {
        return Corpus::Reject;
    };
    let format = [Format::Http, Format::Vegeta, Format::VegetaJson][usize::from(choice % 3)];
    let found = read(format, choice & 64 != 0, text);
    match &found {
        Ok(targets) => {
            assert!(!targets.steps.is_empty());
            let schemes = match &targets.flow {
                Some(flow) => {
                    assert_eq!(flow.turns.len(), targets.steps.len());
                    let rests = flow.turns.iter().map(|turn| turn.rest_s);
                    assert!(rests.chain([flow.rest_s]).all(|rest_s| rest_s >= 0.0));
                    &["ws", "wss"][..]
                }
                None => &["http", "https", "grpc", "grpcs"],
            };
            targets.steps.iter().for_each(|step| check(step, schemes));
            // All are calls, or none.
            let calls = targets.steps.iter().filter(|step| step.target.is_grpc());
            assert!([0, targets.steps.len()].contains(&calls.count()));
        }
        Err(Invalid(what)) => assert!(what.starts_with("a:"), "{what}"),
    }
    if !text.contains(&b'\r') {
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let again = read(format, choice & 64 != 0, &lines.join(&b"\r\n"[..]));
        assert_eq!(again, found);
    }
    Corpus::Keep
});

fn read(format: Format, has_defaults: bool, text: &[u8]) -> Result<Targets, Invalid> {
    let mut defaults = Defaults::default();
    if has_defaults {
        defaults.headers = vec![("Host".to_owned(), "x:8443".to_owned())];
        defaults.body = Some(b"{{a}}".to_vec());
        defaults.method = Some("PUT".to_owned());
    }
    let source = Source {
        name: "a",
        folder: Path::new("f"),
        text,
    };
    parse(format, &source, &defaults, &mut |path: &Path| {
        let name = path.as_os_str().as_encoded_bytes();
        match name.last() {
            Some(b'a') => Ok(b"{{a}} {{%b".to_vec()),
            Some(b'b') => Ok(vec![0xff]),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    })
}

fn check(step: &Step, schemes: &[&str]) {
    assert!(step.weight <= WEIGHT_MAX);
    assert!(step.at.as_deref().is_some_and(|at| at.starts_with("a:")));
    assert!(step.name.chars().all(|c| !c.is_control()));
    let Target { scheme, path, .. } = &step.target;
    assert!(schemes.contains(&&**scheme));
    if step.target.is_grpc() {
        assert!(step.request.method == "POST" && step.expect.is_empty());
        assert!(!path.contains("{{") && !path.contains('?'), "{path}");
        let method = path.rsplit('/').next();
        assert!(method.is_some_and(|name| !name.is_empty()), "{path}");
    }
    assert!(path.starts_with('/'));
    // Without templates it's the target that its URL is otherwise.
    if !path.contains("{{") {
        let url = format!("{scheme}://{}{path}", step.target.authority());
        assert_eq!(Target::parse(&url).as_ref(), Ok(&step.target));
    }
    for (name, value) in &step.request.headers {
        assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(value.trim() == value && !value.contains(['\r', '\n', '\0']));
    }
    assert!(!step.request.method.is_empty());
}
