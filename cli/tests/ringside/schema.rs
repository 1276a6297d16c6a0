//! `ringside schema`: what it prints is the committed schema, and what the program writes keeps to
//! it.

mod files;
mod models;

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use lzma_rust2::XzReader;
use serde_json::Value;

use super::child::{assert_says, ringside};
use super::record::faults;

#[test]
fn each_schema_is_the_committed_one_and_all_are_listed() {
    let listed = ringside(&["schema"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (Some(0), ""));
    assert_eq!(listed.stdout.lines().count(), cli::schemas().len());
    for schema in cli::schemas() {
        assert_says(&listed.stdout, &format!("{} ", schema.name));
        let printed = ringside(&["schema", schema.name]);
        assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""));
        let path = root().join(format!("schema/{}.schema.json", schema.name));
        let committed = fs::read_to_string(path).unwrap();
        assert_eq!(printed.stdout, committed, "run `cargo xtask docs`");
        let schema: Value = serde_json::from_str(&printed.stdout).unwrap();
        let draft = "https://json-schema.org/draft/2020-12/schema";
        assert_eq!(schema["$schema"], draft);
    }
}

#[test]
fn an_unknown_schema_is_answered_with_the_nearest() {
    let ended = ringside(&["schema", "recrod"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert_says(&ended.stderr, "there is no schema of the name \"recrod\"");
    assert_says(&ended.stderr, "did you mean record?");
    let ended = ringside(&["schema", "weather"]);
    assert_eq!(ended.code, Some(2));
    assert_says(&ended.stderr, "(ringside schema lists all of them)");
}

#[test]
fn records_of_the_repository_keep_to_the_schema_of_holds() {
    let records = "records/2026-11-27-2core-kvm-6.18";
    for name in ["chat", "grpc", "http2", "tls"] {
        let record = unpacked(&root().join(format!("{records}/{name}.json.xz")));
        assert_fits("hold", &record, name);
    }
}

#[test]
fn what_doctor_finds_keeps_to_its_schema() {
    let found = ringside(&["doctor", "--format", "json"]).record();
    assert_fits("doctor", &found, "doctor");
    let mut spoilt = found.clone();
    spoilt["findings"][0]["state"] = Value::from("fine");
    let schema = schema("doctor");
    assert_ne!(faults(&schema, &schema, &spoilt, "spoilt"), [""; 0]);
}

/// That `document` keeps to the schema of that name, as it is printed.
pub(super) fn assert_fits(name: &str, document: &Value, place: &str) {
    let schema = schema(name);
    assert_eq!(faults(&schema, &schema, document, place), [""; 0]);
}

fn schema(name: &str) -> Value {
    serde_json::from_str(&ringside(&["schema", name]).stdout).unwrap()
}

fn unpacked(path: &Path) -> Value {
    let file = BufReader::new(File::open(path).unwrap());
    let mut text = String::new();
    XzReader::new(file, false)
        .read_to_string(&mut text)
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
