use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::*;

#[path = "../../../tests/skip.rs"]
mod skip;

const TIME: u64 = 1_700_000_000;

fn contents() -> Contents {
    let (programs, licences) = (
        program::Programs {
            main: b"a program".to_vec(),
            fleet: b"for fleets".to_vec(),
        },
        b"of libraries".to_vec(),
    );
    Contents::gather(&crate::workspace::root(), programs, licences).unwrap()
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}

/// Paths in the order of the archive, with their modes and what they hold.
fn unpacked(archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in tar::Archive::new(archive).entries().unwrap() {
        let mut entry = entry.unwrap();
        let header = entry.header();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        assert_eq!(header.mtime().unwrap(), TIME);
        let (path, mode) = (
            entry.path().unwrap().display().to_string(),
            header.mode().unwrap(),
        );
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        found.push((path, mode, bytes));
    }
    found
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn arguments_that_are_wrong_are_refused() {
    let asked = read(&words("--profile dev --target x86_64-unknown-linux-musl")).unwrap();
    assert_eq!(asked.profile, "dev");
    assert_eq!(asked.target.triple, "x86_64-unknown-linux-musl");
    assert_eq!(read(&[]).unwrap().profile, "dist");
    let wrong = [
        "--target",
        "--speed 3",
        "--target sparc",
        "--profile ../dev",
    ];
    for wrong in wrong {
        let code = run(&words(wrong), Path::new("/nowhere"));
        assert_eq!(code, ExitCode::from(2), "{wrong}");
    }
}

#[test]
fn no_package_of_one_target_or_profile_replaces_another() {
    let mut seen = std::collections::BTreeSet::new();
    for target in program::TARGETS {
        for profile in [DIST, "trial", "dev"] {
            let profile = profile.to_owned();
            let names = names(&Asked { target, profile });
            for name in [names.program, names.tarball, names.deb, names.image] {
                assert!(seen.insert(name.clone()), "{name}: twice");
            }
        }
    }
    // What people look for first has the plainest name.
    assert!(seen.contains(&format!("ringside_{VERSION}_amd64.deb")));
}

#[test]
fn a_file_that_cannot_be_written_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    let refused = write(&taken, b"a", false).unwrap_err();
    assert!(refused.contains("taken: can't be written: "), "{refused}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let free = folder.path().join("free");
    write(&free, b"a", true).unwrap();
    assert_eq!(fs::read(&free).unwrap(), b"a");
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(&free).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn the_tarball_holds_the_program_licences_completions_and_a_page_for_each_verb() {
    let packed = tarball(&contents(), "ringside-x", TIME).unwrap();
    let files = unpacked(&unzipped(&packed));
    let paths: Vec<&str> = files.iter().map(|(path, ..)| path.as_str()).collect();
    assert!(paths.is_sorted(), "{paths:?}");
    for (name, bytes) in [
        ("ringside", &b"a program"[..]),
        ("ringside-fleet", b"for fleets"),
    ] {
        let path = format!("ringside-x/{name}");
        let program = files.iter().find(|(known, ..)| *known == path);
        let (_, mode, packed) = program.expect("a program");
        assert_eq!((*mode, &packed[..]), (0o755, bytes));
    }
    for file in [
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "README.md",
        "THIRD-PARTY.txt",
        "completions/_ringside",
    ] {
        assert!(
            paths.contains(&&*format!("ringside-x/{file}")),
            "{file}: {paths:?}"
        );
    }
    for verb in cli::verbs() {
        let page = format!("ringside-x/man/man1/ringside-{verb}.1");
        let (.., text) = files.iter().find(|(path, ..)| *path == page).expect(&page);
        assert!(
            String::from_utf8_lossy(text).contains(".SH SYNOPSIS"),
            "{page}"
        );
    }
    assert_eq!(
        tarball(&contents(), "ringside-x", TIME).unwrap(),
        packed,
        "bytes differ"
    );
}

#[test]
fn completions_know_verbs_and_flags() {
    for shell in contents().completions {
        let text = String::from_utf8(shell.text).unwrap();
        for word in ["compare", "connections"] {
            assert!(text.contains(word), "{}: {word}", shell.file);
        }
    }
}

#[test]
fn a_blob_of_the_image_is_what_its_name_says_and_all_point_to_each_other() {
    let packed = image::archive(&contents(), "amd64", TIME).unwrap();
    assert_eq!(
        image::archive(&contents(), "amd64", TIME).unwrap(),
        packed,
        "bytes differ"
    );
    let files: BTreeMap<String, Vec<u8>> = unpacked(&packed)
        .into_iter()
        .map(|(path, _, bytes)| (path, bytes))
        .collect();
    let blob = |described: &Value| -> Vec<u8> {
        let name = described["digest"].as_str().unwrap().replace(':', "/");
        let bytes = files[&format!("blobs/{name}")].clone();
        assert_eq!(format!("sha256/{}", digest(&bytes)), name);
        assert_eq!(described["size"], bytes.len());
        bytes
    };
    let json = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).unwrap() };
    assert_eq!(json(&files["oci-layout"])["imageLayoutVersion"], "1.0.0");
    let manifest = json(&blob(&json(&files["index.json"])["manifests"][0]));
    let config = json(&blob(&manifest["config"]));
    let layer = unzipped(&blob(&manifest["layers"][0]));
    assert_eq!(
        config["rootfs"]["diff_ids"][0],
        format!("sha256:{}", digest(&layer))
    );
    let entry = config["config"]["Entrypoint"][0].as_str().unwrap();
    let layer = unpacked(&layer);
    let holds = |path: &str| layer.iter().any(|(there, ..)| there == path);
    assert!(
        holds(&entry[1..]) && holds("etc/ssl/certs/ca-certificates.crt"),
        "{config}"
    );
    assert!(holds("usr/share/doc/ringside/THIRD-PARTY.txt"));
    // What the program hands over to is looked for beside it.
    assert!(holds("usr/bin/ringside-fleet"));
}

#[test]
fn sums_name_the_packages_of_this_version_only() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("ringside-{VERSION}-x.tar.gz");
    for file in [&*name, "ringside", "ringside-0.0.0-x.tar.gz", "SHA256SUMS"] {
        fs::write(folder.path().join(file), "").unwrap();
    }
    // Of nothing, as everybody knows it.
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(sums(folder.path()).unwrap(), format!("{empty}  {name}\n"));
}

#[test]
fn the_package_is_one_that_dpkg_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ringside.deb");
    let packed = deb::package(&contents(), "amd64", TIME).unwrap();
    assert_eq!(
        deb::package(&contents(), "amd64", TIME).unwrap(),
        packed,
        "bytes differ"
    );
    fs::write(&path, packed).unwrap();
    let root = folder.path().join("root");
    let mut known = std::process::Command::new("dpkg-deb");
    if known.arg("--version").output().is_err() {
        return skip::skip("dpkg-deb isn't installed: nobody else reads the package");
    }
    let dpkg = |arguments: &[&str]| {
        let output = std::process::Command::new("dpkg-deb")
            .args(arguments)
            .output()
            .expect("dpkg-deb is installed");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let (path, root_text) = (path.to_str().unwrap(), root.to_str().unwrap());
    assert!(dpkg(&["--info", path]).contains("Package: ringside\n"));
    // As Debian's own tools name it.
    assert!(dpkg(&["--contents", path]).contains(" ./usr/bin/ringside\n"));
    dpkg(&["--extract", path, root_text]);
    assert_eq!(
        fs::read(root.join("usr/bin/ringside")).unwrap(),
        b"a program"
    );
    assert_eq!(
        fs::read(root.join("usr/bin/ringside-fleet")).unwrap(),
        b"for fleets"
    );
    let licences = fs::read(root.join("usr/share/doc/ringside/THIRD-PARTY.txt.gz")).unwrap();
    assert_eq!(unzipped(&licences), b"of libraries");
    let page = fs::read(root.join("usr/share/man/man1/ringside-run.1.gz")).unwrap();
    let page = String::from_utf8(unzipped(&page)).unwrap();
    assert!(
        page.contains(".SH NOTES") && !page.contains(".SH EXTRA"),
        "{page}"
    );
}
