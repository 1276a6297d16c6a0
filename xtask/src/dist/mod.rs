//! Packages: a static program with what belongs to it, as an archive, for Debian, and as an image.
//!
//! The same sources and the same compiler make the same bytes: entries are sorted, belong to root,
//! and are as old as the commit, or as `SOURCE_DATE_EPOCH` says.

mod archive;
mod contents;
mod deb;
mod image;
mod program;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use archive::Archive;
use contents::Contents;
use program::Target;

/// The version that packages have.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) const USAGE: &str = "\
usage: cargo xtask dist [--target TARGET] [--profile PROFILE]
  --target TARGET    Default: x86_64-unknown-linux-gnu
  --profile PROFILE  Default: dist. `dev` builds fast, for packages that only try the packaging";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    target: Target,
    profile: String,
}

/// Makes every package of one target, in `target/dist/`.
///
/// # Errors
/// Where the arguments are wrong, the target isn't installed, or something can't be written.
pub(crate) fn run(arguments: &[String], root: &Path) -> Result<(), String> {
    let asked = read(arguments)?;
    let time = commit_time(root)?;
    let program = program::build(root, &asked.target, &asked.profile)?;
    let folder = program::target_folder(root).join("dist");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let contents = Contents::gather(root, program)?;
    let triple = asked.target.triple;
    let name = format!("ringside-{VERSION}-{triple}");
    let packages = [
        (name.clone(), contents.program.clone()),
        (format!("{name}.tar.gz"), tarball(&contents, &name, time)?),
        (
            format!("ringside_{VERSION}_{}.deb", asked.target.debian),
            deb::package(&contents, asked.target.debian, time)?,
        ),
        (
            format!("{name}.oci.tar"),
            image::archive(&contents, asked.target.oci, time)?,
        ),
    ];
    for (name, bytes) in &packages {
        write(&folder.join(name), bytes, *name == packages[0].0)?;
        println!("{}  {}", digest(bytes), folder.join(name).display());
    }
    write(&folder.join("SHA256SUMS"), sums(&folder)?.as_bytes(), false)
}

fn read(arguments: &[String]) -> Result<Asked, String> {
    let mut asked = Asked {
        target: program::TARGETS[0],
        profile: "dist".to_owned(),
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{word}: nothing follows\n{USAGE}"))?;
        match word.as_str() {
            "--target" => asked.target = program::target(value)?,
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

/// Writes a file beside its place and moves it there, so that it's whole or not there.
fn write(path: &Path, bytes: &[u8], executable: bool) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let about = |error: std::io::Error| format!("{}: can't be written: {error}", path.display());
    let beside = path.with_extension("part");
    fs::write(&beside, bytes).map_err(about)?;
    let mode = if executable { 0o755 } else { 0o644 };
    fs::set_permissions(&beside, fs::Permissions::from_mode(mode)).map_err(about)?;
    fs::rename(&beside, path).map_err(about)
}

#[cfg(test)]
mod tests;
