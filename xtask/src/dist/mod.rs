//! Packages: a static program with what belongs to it, as an archive, for Debian, and as an image.
//!
//! The same sources and the same compiler make the same bytes: entries are sorted, belong to root,
//! and are as old as the commit, or as `SOURCE_DATE_EPOCH` says.

mod archive;
mod contents;
mod deb;
mod image;
mod licences;
mod program;

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sha2::{Digest, Sha256};

use archive::Archive;
use contents::Contents;
use program::Target;

/// The version that packages have.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) const USAGE: &str = "\
usage: cargo xtask dist [--target TARGET] [--profile PROFILE]
  --target TARGET    Default: x86_64-unknown-linux-gnu
  --profile PROFILE  Default: dist. `trial` builds fast, for packages that only try the packaging";

/// The profile of packages for others. Of another one, they carry its name.
const DIST: &str = "dist";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    target: Target,
    profile: String,
}

/// `cargo xtask dist` with what stands after it.
pub(crate) fn run(arguments: &[String], root: &Path) -> ExitCode {
    let asked = match read(arguments) {
        Ok(asked) => asked,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    match make(&asked, root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

/// Makes every package of one target, in `target/packages/`: cargo itself builds in `target/dist/`.
fn make(asked: &Asked, root: &Path) -> Result<(), String> {
    let time = commit_time(root)?;
    let programs = program::build(root, &asked.target, &asked.profile)?;
    let licences = licences::document(root, &asked.target)?;
    let folder = program::target_folder(root).join("packages");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let contents = Contents::gather(root, programs, licences)?;
    let names = names(asked);
    let packages = [
        (&names.program, contents.program.clone()),
        (&names.tarball, tarball(&contents, &names.program, time)?),
        (
            &names.deb,
            deb::package(&contents, asked.target.debian, time)?,
        ),
        (
            &names.image,
            image::archive(&contents, asked.target.oci, time)?,
        ),
    ];
    for (name, bytes) in &packages {
        write(&folder.join(name), bytes, *name == &names.program)?;
        println!("{}  {}", digest(bytes), folder.join(name).display());
    }
    write(&folder.join("SHA256SUMS"), sums(&folder)?.as_bytes(), false)
}

/// What the packages are called.
struct Names {
    program: String,
    tarball: String,
    deb: String,
    image: String,
}

/// No two targets and no two profiles have a name in common, so that no package replaces another.
fn names(asked: &Asked) -> Names {
    let Asked { target, profile } = asked;
    let profile = match &**profile {
        DIST => String::new(),
        other => format!("-{other}"),
    };
    let program = format!("ringside-{VERSION}-{}{profile}", target.triple);
    let distinction = target.distinction();
    Names {
        tarball: format!("{program}.tar.gz"),
        deb: format!(
            "ringside_{VERSION}_{}{distinction}{profile}.deb",
            target.debian
        ),
        image: format!("{program}.oci.tar"),
        program,
    }
}

fn read(arguments: &[String]) -> Result<Asked, String> {
    let mut asked = Asked {
        target: program::TARGETS[0],
        profile: DIST.to_owned(),
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{word}: nothing follows\n{USAGE}"))?;
        match word.as_str() {
            "--target" => asked.target = program::target(value)?,
            // It becomes a part of paths and names.
            "--profile"
                if !value
                    .chars()
                    .all(|c| c.is_alphanumeric() || "-_".contains(c)) =>
            {
                return Err(format!("{value:?}: profiles aren't called that\n{USAGE}"));
            }
            "--profile" => asked.profile.clone_from(value),
            _ => return Err(format!("{word}: no such option\n{USAGE}")),
        }
    }
    Ok(asked)
}

/// When the packages are from, in seconds since 1970.
fn commit_time(root: &Path) -> Result<u64, String> {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let said = match given {
        Some(given) => given,
        None => {
            let log = ["log", "-1", "--format=%ct"];
            let output = std::process::Command::new("git")
                .current_dir(root)
                .args(log)
                .output();
            let output = output.map(|output| output.stdout).unwrap_or_default();
            String::from_utf8_lossy(&output).into_owned()
        }
    };
    said.trim().parse().map_err(|_| {
        "the packages need a date, and git names none: set SOURCE_DATE_EPOCH to seconds since 1970"
            .to_owned()
    })
}

/// Everything in one folder, as whoever unpacks it by hand wants it.
fn tarball(contents: &Contents, name: &str, time: u64) -> Result<Vec<u8>, String> {
    let mut archive = Archive::default();
    archive.file(&format!("{name}/ringside"), &contents.program, 0o755);
    archive.file(&format!("{name}/ringside-fleet"), &contents.fleet, 0o755);
    for (file, text) in &contents.documents {
        archive.file(&format!("{name}/{file}"), text, 0o644);
    }
    for (file, text) in contents
        .completions
        .iter()
        .map(|shell| (shell.file, &shell.text))
    {
        archive.file(&format!("{name}/completions/{file}"), text, 0o644);
    }
    for (file, text) in &contents.manual {
        archive.file(&format!("{name}/man/man1/{file}"), text, 0o644);
    }
    archive.zipped(time)
}

/// A line for each package of this version that lies there, of whatever target.
fn sums(folder: &Path) -> Result<String, String> {
    let about = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(about)? {
        let path = entry.map_err(about)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let ours = ["-", "_"]
            .iter()
            .any(|dash| name.starts_with(&format!("ringside{dash}{VERSION}{dash}")));
        if ours && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    let mut text = String::new();
    for path in found {
        let bytes = fs::read(&path).map_err(about)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        writeln!(text, "{}  {name}", digest(&bytes)).map_err(|error| error.to_string())?;
    }
    Ok(text)
}

/// The SHA-256 of `bytes`, in hexadecimal digits.
fn digest(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Writes a file beside its place and moves it there, so that it's whole or not there. If that
/// fails, nothing stays behind.
fn write(path: &Path, bytes: &[u8], executable: bool) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let about = |error: std::io::Error| format!("{}: can't be written: {error}", path.display());
    let folder = path.parent().unwrap_or(Path::new("."));
    let beside = tempfile::NamedTempFile::new_in(folder).map_err(about)?;
    let mut file = beside.as_file();
    file.write_all(bytes).map_err(about)?;
    let mode = if executable { 0o755 } else { 0o644 };
    file.set_permissions(fs::Permissions::from_mode(mode))
        .map_err(about)?;
    let kept = beside.persist(path).map_err(|error| error.error);
    kept.map(drop).map_err(about)
}

#[cfg(test)]
mod tests;
