//! A package for Debian and what stands on it: deb(5), an archive of ar with two archives of tar.

use super::VERSION;
use super::archive::{Archive, zip};
use super::contents::{Contents, LIBRARIES};

/// The package for `architecture`, as Debian calls it.
pub(super) fn package(
    contents: &Contents,
    architecture: &str,
    time: u64,
) -> Result<Vec<u8>, String> {
    let (data, installed_kib) = data(contents, time)?;
    let mut control = Archive::under("./");
    let text = fields(architecture, installed_kib);
    control.file("control", text.as_bytes(), 0o644);
    Ok(ar(
        &[
            ("debian-binary", b"2.0\n"),
            ("control.tar.gz", &control.zipped(time)?),
            ("data.tar.gz", &data),
        ],
        time,
    ))
}

/// The files where Debian wants them, and how much room they take.
fn data(contents: &Contents, time: u64) -> Result<(Vec<u8>, usize), String> {
    let mut files: Vec<(String, Vec<u8>, u32)> = Vec::new();
    for (name, program) in [
        ("ringside", &contents.program),
        ("ringside-fleet", &contents.fleet),
    ] {
        files.push((format!("usr/bin/{name}"), program.clone(), 0o755));
    }
    for shell in &contents.completions {
        files.push((shell.installed.into(), shell.text.clone(), 0o644));
    }
    for (name, text) in &contents.manual {
        files.push((format!("usr/share/man/man1/{name}.gz"), zip(text)?, 0o644));
    }
    let mut copyright = format!(
        "ringside is licensed under Apache-2.0 or MIT, as you prefer. {LIBRARIES}.gz, beside this\n\
         file, has the licences of the libraries that are linked into it.\n"
    )
    .into_bytes();
    for (name, text) in &contents.documents {
        if name.starts_with("LICENSE") {
            copyright.extend_from_slice(format!("\n{name}\n\n").as_bytes());
            copyright.extend_from_slice(text);
        } else {
            files.push((
                format!("usr/share/doc/ringside/{name}.gz"),
                zip(text)?,
                0o644,
            ));
        }
    }
    files.push(("usr/share/doc/ringside/copyright".into(), copyright, 0o644));
    let mut archive = Archive::under("./");
    let mut bytes = 0;
    for (path, text, mode) in &files {
        archive.file(path, text, *mode);
        bytes += text.len();
    }
    Ok((archive.zipped(time)?, bytes.div_ceil(1024)))
}

/// deb-control(5). It depends on nothing; certificates are wanted for TLS to others' servers.
fn fields(architecture: &str, installed_kib: usize) -> String {
    format!(
        "Package: ringside\n\
         Version: {VERSION}\n\
         Architecture: {architecture}\n\
         Maintainer: The ringside contributors\n\
         Installed-Size: {installed_kib}\n\
         Recommends: ca-certificates\n\
         Section: net\n\
         Priority: optional\n\
         Description: load generator, comparisons of servers, and a server\n \
         ringside measures servers over HTTP/1.1, HTTP/2, gRPC and WebSocket, compares them side\n \
         by side with intervals, and serves for the tests of clients.\n"
    )
}

/// ar(5) as deb(5) narrows it: short names, even offsets.
fn ar(members: &[(&str, &[u8])], time: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let size = bytes.len();
        let header = format!(
            "{name:<16}{time:<12}{:<6}{:<6}{:<8}{size:<10}`\n",
            0, 0, 100_644
        );
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(bytes);
        if size % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}
