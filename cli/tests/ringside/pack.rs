//! Records in one file: packed, read wherever their folder is, and gone on with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use measure::random::Random;
use rustix::process::Signal;

use super::child::{
    Folder, assert_says, command, comparison_of_ours, ringside, rounds, start, until,
};
use super::peers::answers;

const REST: &str = "rounds = 20\naa = false\nceiling = false\n[workload]\npath = \"/\"\n\
                    connections = 2\nwindow = \"100ms\"\nsettle = \"20ms\"\nwarm_up = \"20ms\"\n";

/// What `report` prints.
const FORMATS: [&str; 8] = [
    "text",
    "markdown",
    "json",
    "csv",
    "junit",
    "smaller-is-better",
    "bigger-is-better",
    "bencher",
];

#[test]
fn a_pack_says_what_its_folder_says_and_goes_on_where_that_ended() {
    let folder = Folder::new();
    let (file, out) = (comparison_of_ours(&folder, "", REST), folder.path("out"));
    let running = start(&mut command(&["compare", &file, "-o", &out]));
    until("a round is measured", || !rounds(&out).is_empty());
    running.signal(Signal::KILL);
    running.end();
    let before = rounds(&out);
    let (half, whole) = (folder.path("half.tar.xz"), folder.path("whole.tar.xz"));
    let ended = ringside(&["pack", &out, "-o", &half]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);

    // What cannot be gone on in is not left unpacked.
    let other = folder.path("other.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&other, format!("{text}\n# Something else.\n")).unwrap();
    let refused = ringside(&["compare", &other, "--resume", &half]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_says(&refused.stderr, "removed the unpacked directory again");
    assert!(fs::metadata(folder.path("half")).is_err());

    let ended = ringside(&["compare", &file, "--resume", &half]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let gone_on = folder.path("half");
    let after = rounds(&gone_on);
    assert_eq!(after.len(), 20, "{:?}", after.keys());
    for (name, bytes) in before {
        assert!(after[&name] == bytes, "{name} has changed");
    }
    let again = ringside(&["compare", &file, "--resume", &half]);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert_says(&again.stderr, "was unpacked before");
    let again = ringside(&["compare", &file, "--resume", &gone_on]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);

    let packed = ringside(&["pack", &gone_on, "-o", &whole]);
    assert_eq!(packed.code, Some(0), "{}", packed.stderr);
    let says = |place: &str, format: &str| {
        let ended = ringside(&["report", place, "--format", format]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stdout
    };
    for format in FORMATS {
        assert_eq!(says(&whole, format), says(&gone_on, format), "{format}");
    }
    let page = |place: &str| fs::read_to_string(format!("{place}/report.html")).unwrap();
    assert_eq!(page(&folder.path("whole")), page(&gone_on));
    let names = fs::read_dir(folder.path("whole")).unwrap().count();
    assert_eq!(names, 8, "pages alone go beside a pack");

    let diff = |before: &str, after: &str| ringside(&["diff", before, after]);
    let of_packs = diff(&whole, &whole);
    let of_folders = diff(&gone_on, &gone_on);
    assert_eq!(of_packs.code, of_folders.code, "{}", of_packs.stderr);
    assert_eq!(of_packs.stdout, of_folders.stdout);

    // A page that can't be written isn't said to be there.
    fs::remove_file(format!("{gone_on}/report.html")).unwrap();
    fs::create_dir(format!("{gone_on}/report.html")).unwrap();
    let ended = ringside(&["report", &gone_on]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert_says(&ended.stderr, "couldn't write report.html");
    assert!(!ended.stderr.contains("report: "), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_packed_or_read_says_why_and_leaves_nothing() {
    let folder = Folder::new();
    let file = folder.path("cut.tar.xz");
    fs::write(&file, b"\xfd7zXZ\0\0\x04").unwrap();
    for verb in [&["report", &file][..], &["diff", &file, &file]] {
        let ended = ringside(verb);
        assert_eq!(ended.code, Some(2), "{verb:?}: {}", ended.stderr);
        assert_says(&ended.stderr, "cut short or damaged");
    }
    let empty = folder.path("empty");
    fs::create_dir(&empty).unwrap();
    let ended = ringside(&["pack", &empty]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_says(&ended.stderr, "has nothing to pack");
    let ended = ringside(&["pack", &folder.path("nowhere")]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let names = fs::read_dir(folder.path(".")).unwrap().count();
    assert_eq!(names, 2, "something was left");
}

#[test]
fn a_full_disk_leaves_no_half_of_a_pack() {
    let mut mounting = Command::new("unshare");
    mounting.args(["-Urm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
    if !answers(&mut mounting, "unshare(1) with the right to mount a tmpfs") {
        return;
    }
    let folder = Folder::new();
    let (records, disk) = (folder.path("x"), folder.path("disk"));
    fs::create_dir(&records).unwrap();
    fs::create_dir(&disk).unwrap();
    fs::write(format!("{records}/comparison.json"), "{}").unwrap();
    // What no compression makes small.
    let mut noise = Random::seeded(1);
    let bytes = (0..1 << 20).map(|_| noise.next() as u8);
    fs::write(format!("{records}/noise"), bytes.collect::<Vec<u8>>()).unwrap();
    let script = "mount -t tmpfs -o size=256k tmpfs disk || exit 9\n\
                  $ringside pack x -o disk/x.tar.xz 2>said; echo $? >code; ls -A disk >left\n\
                  $ringside pack x; TMPDIR=$PWD/disk $ringside report x.tar.xz 2>read";
    let mut shell = Command::new("unshare");
    shell
        .args(["-Urm", "sh", "-c", script])
        .current_dir(folder.path("."))
        .env("ringside", env!("CARGO_BIN_EXE_ringside"));
    let ended = start(&mut shell).end();
    assert_eq!(ended.code, Some(2), "{}{}", ended.stdout, ended.stderr);
    let read = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    assert_eq!(read("code").trim(), "2", "{}", read("said"));
    assert_says(&read("said"), "No space left on device");
    assert_eq!(read("left"), "", "half a pack was left");
    assert_says(&read("read"), "set TMPDIR");
}

/// The packs below a folder.
fn packs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(packs(&path));
        } else if path.to_string_lossy().ends_with(".tar.xz") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_pack_that_is_kept_can_be_read() {
    let folder = Folder::new();
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records");
    let kept = packs(&records);
    assert!(!kept.is_empty());
    for pack in kept {
        let name = pack.file_name().unwrap().to_str().unwrap();
        let copy = folder.path(name);
        fs::copy(&pack, &copy).unwrap();
        let claims = concat!(env!("CARGO_MANIFEST_DIR"), "/../claims");
        let ended = match name {
            "claims.tar.xz" => ringside(&["claims", "list", "-o", &copy, "--dir", claims]),
            // Their pages are in them, and made by the soak alone.
            _ if name.starts_with("soak-") => continue,
            _ => ringside(&["report", &copy]),
        };
        assert_eq!(ended.code, Some(0), "{}: {}", pack.display(), ended.stderr);
        assert!(!ended.stdout.is_empty(), "{}", pack.display());
        fs::remove_file(&copy).unwrap();
    }
}

#[test]
fn a_signal_while_a_pack_is_read_leaves_no_directory_behind() {
    let folder = Folder::new();
    let (records, file, place) = (
        folder.path("records"),
        folder.path("records.tar.xz"),
        folder.path("tmp"),
    );
    fs::create_dir_all(format!("{records}/rounds/a")).unwrap();
    fs::create_dir(&place).unwrap();
    fs::write(format!("{records}/comparison.json"), "{}").unwrap();
    for number in 0..3000 {
        fs::write(format!("{records}/rounds/a/{number}.json"), "{}").unwrap();
    }
    let ended = ringside(&["pack", &records, "-o", &file]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let entries = || fs::read_dir(&place).unwrap().count();
    for verb in [&["report", &file][..], &["diff", &file, &file]] {
        let running = start(command(verb).env("TMPDIR", &place));
        until("something is unpacked, or all is over", || {
            entries() > 0 || running.has_ended()
        });
        running.signal(Signal::INT);
        let ended = running.end();
        // It may have read that this is no comparison before the signal came.
        assert!(matches!(ended.code, Some(130 | 2)), "{}", ended.stderr);
        assert_eq!(entries(), 0, "{verb:?}: {}", ended.stderr);
    }
}

#[test]
fn what_documents_quote_is_what_a_report_of_the_kept_records_says_now() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let kept = root.join("records/2026-11-22-2core-kvm-6.18/lab");
    for name in ["hello", "capacity"] {
        let folder = Folder::new();
        let pack = folder.path(&format!("{name}.tar.xz"));
        fs::copy(kept.join(format!("{name}.tar.xz")), &pack).unwrap();
        let ended = ringside(&["report", &pack]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let quoted = kept.join(name).join("terminal.txt");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&quoted, &ended.stdout).unwrap();
        }
        assert!(
            fs::read_to_string(&quoted).unwrap() == ended.stdout,
            "{} differs; run this test with BLESS=1, then `cargo xtask docs`; it becomes:\n{}",
            quoted.display(),
            ended.stdout
        );
    }
}
