use std::os::unix::fs::symlink;

use super::*;

/// Packs, and nobody asks to stop.
fn pack(folder: &Path, file: Option<&Path>) -> Result<Packed, String> {
    super::pack(folder, file, &Stop::new())
}

fn pack_within(folder: &Path, file: Option<&Path>, limits: Limits) -> Result<Packed, String> {
    super::pack_within(folder, file, limits, &Stop::new())
}

/// A folder of records with what belongs into a pack, and what does not.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    for (name, text) in [
        (MANIFEST, "{}"),
        ("rounds/a/001.json", "{\"round\": 1}"),
        ("subjects/a/build.log", "built\n"),
        ("report.html", "<p>made again</p>"),
        ("rounds/a/002.json.tmp", "half"),
        (KEY_FILE, "secret"),
    ] {
        let place = folder.path().join("x").join(name);
        fs::create_dir_all(place.parent().expect("inside")).expect("writable");
        fs::write(place, text).expect("writable");
    }
    folder
}

/// An archive of entries: type, path, contents.
fn archive(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
    let mut archive =
        Builder::new(XzWriter::new(Vec::new(), XzOptions::with_preset(0)).expect("in memory"));
    for (kind, path, text) in entries {
        let mut header = Header::new_ustar();
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(text.len() as u64);
        header.set_cksum();
        archive.append(&header, text.as_bytes()).expect("in memory");
    }
    archive
        .into_inner()
        .expect("whole")
        .finish()
        .expect("whole")
}

const LABELLED: (EntryType, &str, &str) = (
    EntryType::Regular,
    LABEL,
    "{\"ringside_pack\": 1, \"ringside\": \"0.1.0\"}",
);

/// What reading this says; nothing may be left beside it or written elsewhere.
fn refused(bytes: &[u8], limits: Limits) -> String {
    let place = tempfile::tempdir().expect("a directory");
    let (file, inside) = (place.path().join("x.tar.xz"), place.path().join("inside"));
    fs::write(&file, bytes).expect("writable");
    fs::create_dir(&inside).expect("writable");
    let what = unpack_within(&file, &inside, limits, &Stop::new()).expect_err("refused");
    let names: BTreeSet<_> = place
        .path()
        .read_dir()
        .expect("there")
        .flatten()
        .collect::<Vec<_>>()
        .into_iter()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(names, BTreeSet::from(["inside".into(), "x.tar.xz".into()]));
    what
}

#[test]
fn a_folder_with_the_pages_of_a_pack_stands_for_the_pack_beside_it() {
    let folder = folder();
    let records = folder.path().join("x");
    let packed = pack(&records, None).expect("it can be packed");
    let open = || Records::open(&records, &Stop::new()).expect("records");
    assert!(!open().is_pack(), "they are in the folder itself");
    fs::remove_dir_all(&records).expect("writable");
    fs::create_dir(&records).expect("writable");
    fs::write(records.join("CLAIMS.md"), "a page").expect("writable");
    let opened = open();
    assert!(opened.is_pack() && opened.folder().join(MANIFEST).is_file());
    assert_eq!(opened.pages(), records);
    fs::remove_file(&packed.file).expect("writable");
    assert!(!open().is_pack(), "there is none");
}

#[test]
fn a_pack_holds_the_records_and_neither_pages_nor_the_key() {
    let place = folder();
    let packed = pack(&place.path().join("x"), None).expect("packed");
    assert_eq!(packed.file, place.path().join("x.tar.xz"));
    assert_eq!(packed.files, 3);
    assert_eq!(
        packed.left_out,
        ["rounds/a/002.json.tmp: only half written"]
    );
    let records = Records::open(&packed.file, &Stop::new()).expect("opened");
    assert!(records.is_pack());
    assert_eq!(records.pages(), place.path().join("x"));
    let read = |name: &str| fs::read_to_string(records.folder().join(name));
    assert_eq!(read("rounds/a/001.json").expect("there"), "{\"round\": 1}");
    assert_eq!(read("subjects/a/build.log").expect("there"), "built\n");
    for left_out in ["report.html", KEY_FILE, "rounds/a/002.json.tmp", LABEL] {
        assert!(read(left_out).is_err(), "{left_out}");
    }
    let kept = records.folder().to_owned();
    drop(records);
    assert!(!kept.exists(), "what was unpacked stays behind");
}

#[test]
fn the_same_folder_gives_the_same_pack() {
    let place = folder();
    let name = |name: &str| place.path().join(name);
    let bytes = |file: &Path| fs::read(pack(&name("x"), Some(file)).expect("packed").file);
    let (one, two) = (bytes(&name("1")), bytes(&name("2")));
    assert_eq!(one.expect("there"), two.expect("there"));
}

#[test]
fn links_are_left_out_and_named() {
    let place = folder();
    symlink("/etc/passwd", place.path().join("x/rounds/link.json")).expect("writable");
    let packed = pack(&place.path().join("x"), None).expect("packed");
    assert_eq!(packed.files, 3);
    let named = |what: &String| what.starts_with("rounds/link.json: ");
    assert!(packed.left_out.iter().any(named), "{:?}", packed.left_out);
}

#[test]
fn nothing_is_written_over_and_nothing_left_where_it_fails() {
    let place = folder();
    let (from, there) = (place.path().join("x"), place.path().join("there"));
    fs::write(&there, "mine").expect("writable");
    assert!(pack(&from, Some(&there)).expect_err("there").contains("-o"));
    assert_eq!(fs::read_to_string(&there).expect("there"), "mine");
    let full = pack(&from, Some(Path::new("/proc/ringside.tar.xz"))).expect_err("no place");
    assert!(full.contains("can't write"), "{full}");
    let empty = tempfile::tempdir().expect("a directory");
    let nothing = pack(empty.path(), None).expect_err("nothing is there");
    assert!(nothing.contains("has nothing to pack"), "{nothing}");
    let absent = pack(&empty.path().join("absent"), None).expect_err("no directory");
    assert!(absent.contains("give one written by ringside"), "{absent}");
}

#[test]
fn a_pack_cut_short_anywhere_is_refused() {
    let place = folder();
    let packed = pack(&place.path().join("x"), None).expect("packed");
    let whole = fs::read(packed.file).expect("there");
    for length in MAGIC.len()..whole.len() {
        let what = refused(&whole[..length], LIMITS);
        assert!(what.contains("cut short or damaged"), "{length}: {what}");
    }
    for place in (20..whole.len() - 16).step_by(7) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        refused(&damaged, LIMITS);
    }
}

#[test]
fn a_hostile_pack_writes_nothing_outside_and_is_refused() {
    let file = EntryType::Regular;
    for (kind, path, words) in [
        (file, "../evil", "outside its directory"),
        (file, "rounds/../../evil", "outside its directory"),
        (file, "/tmp/ringside-evil", "outside its directory"),
        (file, "./", "outside its directory"),
        (EntryType::Symlink, "rounds", "regular"),
        (EntryType::Link, "rounds", "regular"),
        (EntryType::Fifo, "rounds", "regular"),
        (EntryType::Directory, "rounds", "another program"),
        (EntryType::GNULongName, "rounds", "regular"),
        (EntryType::XHeader, "rounds", "regular"),
        (file, "\u{1b}]0;owned\u{7}/../x", "outside its directory"),
    ] {
        let what = refused(&archive(&[LABELLED, (kind, path, "x")]), LIMITS);
        assert!(what.contains(words), "{path}: {what}");
        assert!(!what.contains('\u{1b}'), "{what:?}");
    }
    for page in ["report.html", "sub/claims.html", KEY_FILE, "x/half.tmp"] {
        let what = refused(&archive(&[LABELLED, (file, page, "x")]), LIMITS);
        assert!(what.contains("is a page or a key"), "{page}: {what}");
    }
    for (first, second) in [("a", "a"), ("a", "a/b"), ("a/b", "a")] {
        let twice = [LABELLED, (file, first, "1"), (file, second, "2")];
        let what = refused(&archive(&twice), LIMITS);
        assert!(
            what.contains("don't trust this file"),
            "{first}, {second}: {what}"
        );
    }
}

#[test]
fn what_is_no_pack_or_a_newer_one_says_so() {
    let other = archive(&[(EntryType::Regular, "a", "1")]);
    assert!(refused(&other, LIMITS).contains("not a ringside pack"));
    assert!(refused(&archive(&[]), LIMITS).contains("not a ringside pack"));
    let label = "{\"ringside_pack\": 2, \"ringside\": \"9.0.0\", \"more\": 1}";
    let newer = archive(&[(EntryType::Regular, LABEL, label)]);
    assert!(refused(&newer, LIMITS).contains("packed by ringside 9.0.0"));
    let label = "{\"ringside_pack\": 0, \"ringside\": \"0.1.0\"}";
    let none = refused(&archive(&[(EntryType::Regular, LABEL, label)]), LIMITS);
    assert!(none.contains("version 0, which no pack has"), "{none}");
    let mut longer = archive(&[LABELLED, (EntryType::Regular, "a", "1")]);
    longer.extend_from_slice(b"junk");
    let longer = refused(&longer, LIMITS);
    assert!(longer.contains("goes on behind its end"), "{longer}");
}

#[test]
fn more_than_any_pack_holds_is_refused() {
    let file = EntryType::Regular;
    let bytes = archive(&[LABELLED, (file, "a", "123456"), (file, "b", "123456")]);
    let few = |files, bytes| Limits { files, bytes };
    assert!(refused(&bytes, few(2, 1 << 20)).contains("has more than"));
    assert!(refused(&bytes, few(3, 50)).contains("has more than"));
}

#[test]
fn a_signal_while_a_pack_is_unpacked_leaves_nothing_behind() {
    let place = folder();
    let name = |name: &str| place.path().join(name);
    let packed = pack(&name("x"), Some(&name("y.tar.xz"))).expect("packed");
    let stop = Stop::new();
    stop.request(Signal::Interrupt);
    let said = unpack(&packed.file, &stop).expect_err("stopped");
    assert!(said.ends_with("stopped by SIGINT"), "{said}");
    assert!(!name("y").exists());
    let said = Records::open(&packed.file, &stop).expect_err("stopped");
    assert!(said.ends_with("stopped by SIGINT"), "{said}");
    // A folder is not unpacked.
    assert!(Records::open(&name("x"), &stop).is_ok());
}

#[test]
fn a_signal_while_a_folder_is_packed_leaves_nothing_behind() {
    let place = folder();
    let stop = Stop::new();
    stop.request(Signal::Terminate);
    let said = super::pack(&place.path().join("x"), None, &stop).expect_err("stopped");
    assert!(said.ends_with("stopped by SIGTERM"), "{said}");
    let left = place.path().read_dir().expect("there").count();
    assert_eq!(left, 1, "something was left beside the folder");
}

#[test]
fn names_in_a_folder_reach_no_terminal_as_they_are() {
    let place = folder();
    let name = "a\n\u{1b}[31mfake.tmp";
    fs::write(place.path().join("x").join(name), "x").expect("writable");
    let packed = pack(&place.path().join("x"), None).expect("packed");
    let named = packed.left_out.iter().find(|what| what.contains("fake"));
    let named = named.expect("it is named");
    assert!(!named.contains(['\n', '\u{1b}']), "{named:?}");
}

#[test]
fn directories_are_counted_as_they_are_made_and_none_is_deep() {
    let file = EntryType::Regular;
    let deep = format!("{}f", "d/".repeat(PARTS_MAX));
    let what = refused(&archive(&[LABELLED, (file, &deep, "")]), LIMITS);
    assert!(what.contains("directories"), "{what}");
    let path = |nth: usize| format!("{nth}/a/b/c/d/e/f/g/h/i/j");
    let paths: Vec<String> = (0..=FOLDERS_MAX / 10).map(path).collect();
    let mut folders = BTreeSet::new();
    let fitting = paths
        .iter()
        .take_while(|path| fits(Path::new(path), &mut folders));
    assert_eq!(fitting.count(), FOLDERS_MAX / 10);
    // Those that are there already cost nothing.
    let mut few = BTreeSet::new();
    assert!(
        (0..3 * FOLDERS_MAX).all(|nth| fits(&Path::new("a/b").join(nth.to_string()), &mut few))
    );
    // And nothing is packed that would not be unpacked.
    let place = folder();
    let inside = place.path().join("x").join(&deep);
    fs::create_dir_all(inside.parent().expect("inside")).expect("writable");
    fs::write(inside, "x").expect("writable");
    let what = pack(&place.path().join("x"), None).expect_err("too deep");
    assert!(what.contains("directories"), "{what}");
    assert!(!place.path().join("x.tar.xz").exists());
}

#[test]
fn a_log_is_packed_without_what_looks_like_a_secret() {
    let place = folder();
    let log = "subjects/a/output.log";
    let text = "GET /?a=canary\nAuthorization: Bearer canary\nserved\n";
    fs::write(place.path().join("x").join(log), text).expect("writable");
    let packed = pack(&place.path().join("x"), None).expect("packed");
    let stop = Stop::new();
    let records = Records::open(&packed.file, &stop).expect("opened");
    let read = fs::read_to_string(records.folder().join(log)).expect("there");
    assert_eq!(read, "GET /?a=…\nAuthorization: …\nserved\n");
}

#[test]
fn a_pack_is_unpacked_beside_itself_once() {
    let place = folder();
    let packed = pack(
        &place.path().join("x"),
        Some(&place.path().join("y.tar.xz")),
    )
    .expect("packed");
    let unpacked = unpack(&packed.file, &Stop::new()).expect("unpacked");
    assert_eq!(unpacked, place.path().join("y"));
    assert!(unpacked.join(MANIFEST).is_file());
    assert!(
        unpack(&packed.file, &Stop::new())
            .expect_err("there")
            .contains("unpacked before")
    );
    // Pages beside a pack are no comparison.
    fs::remove_dir_all(&unpacked).expect("its own");
    fs::create_dir(&unpacked).expect("new");
    fs::write(unpacked.join("report.html"), "made").expect("writable");
    let in_the_way = unpack(&packed.file, &Stop::new()).expect_err("there");
    assert!(
        in_the_way.contains("holds no comparison; remove it"),
        "{in_the_way}"
    );
    assert!(unpacked.join("report.html").is_file());
}

#[test]
fn pages_go_beside_the_pack_and_never_above_it_or_through_a_link() {
    for (name, folder) in [
        ("x.tar.xz", "x"),
        ("...tar.xz", "...tar.xz.unpacked"),
        ("x", "x.unpacked"),
    ] {
        assert_eq!(without_ending(Path::new(name)), Path::new(folder), "{name}");
    }
    let place = folder();
    let packed = pack(
        &place.path().join("x"),
        Some(&place.path().join("y.tar.xz")),
    );
    let records = Records::open(&packed.expect("packed").file, &Stop::new()).expect("opened");
    fs::write(records.folder().join("report.html"), "made").expect("writable");
    fs::create_dir(records.pages()).expect("new");
    let (target, link) = (
        place.path().join("mine"),
        records.pages().join("report.html"),
    );
    fs::write(&target, "mine").expect("writable");
    symlink(&target, &link).expect("writable");
    assert_eq!(records.bring_pages(), Vec::<String>::new());
    assert_eq!(fs::read_to_string(&target).expect("there"), "mine");
    assert_eq!(fs::read_to_string(&link).expect("there"), "made");
}

#[test]
fn a_key_that_was_being_made_and_a_name_that_is_too_long_stay_out() {
    let place = folder();
    let long = "n".repeat(200);
    for name in [format!("{KEY_FILE}.123"), long.clone()] {
        fs::write(place.path().join("x").join(name), "x").expect("writable");
    }
    let packed = pack(&place.path().join("x"), None).expect("packed");
    assert_eq!(packed.files, 3);
    let named = |what: &String| what.starts_with(&long);
    assert!(packed.left_out.iter().any(named), "{:?}", packed.left_out);
}

#[test]
fn what_is_left_out_without_being_a_page_or_a_key_is_named() {
    let place = folder();
    let inside = place.path().join("x/subjects/a");
    for name in [LABEL, "report.csv", "half.tmp"] {
        fs::write(inside.join(name), "x").expect("writable");
    }
    let packed = pack(&place.path().join("x"), None).expect("packed");
    let expected = [
        "rounds/a/002.json.tmp: only half written",
        "subjects/a/half.tmp: only half written",
        "subjects/a/ringside-pack.json: this is the label of another pack; a pack has only its own",
    ];
    let left_out: BTreeSet<&str> = packed.left_out.iter().map(String::as_str).collect();
    assert_eq!(left_out, BTreeSet::from(expected));
}

#[test]
fn whatever_is_packed_can_be_read_and_what_cannot_be_is_not_packed() {
    let place = folder();
    let (from, to) = (place.path().join("x"), place.path().join("x.tar.xz"));
    let whole = pack(&from, None).expect("packed");
    fs::remove_file(&to).expect("its own file");
    // Those of the folder and the label, whose length nobody has to know: as much as can be read.
    let reads = |bytes| {
        let inside = tempfile::tempdir().expect("a directory");
        let file = pack(&from, None).expect("packed").file;
        let limits = Limits { files: 4, bytes };
        let read = unpack_within(&file, inside.path(), limits, &Stop::new()).is_ok();
        fs::remove_file(file).expect("its own file");
        read
    };
    let least = (whole.bytes..).find(|bytes| reads(*bytes)).expect("some");
    let limits = |files, bytes| Limits { files, bytes };
    assert!(pack_within(&from, None, limits(4, least)).is_ok());
    fs::remove_file(&to).expect("its own file");
    for limits in [limits(3, least), limits(4, least - 1), limits(0, 0)] {
        let what = pack_within(&from, None, limits).expect_err("too much");
        assert!(what.contains("the most a pack can hold"), "{what}");
        let names: Vec<_> = place.path().read_dir().expect("there").flatten().collect();
        assert_eq!(names.len(), 1, "something was left: {names:?}");
    }
}
