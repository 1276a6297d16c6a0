//! Programs in Go that others wrote, as peers of our servers. Included by path from the tests of
//! the crates whose servers they try.
#![allow(dead_code)] // Each includer needs some of it.

use std::path::PathBuf;
use std::process::Command;

use crate::skip::skip;

/// The status of a program that Go installs, with what it said; `None`, loudly, where it is not
/// installed: with `go install PACKAGE`, into the folder that CI uses or one in the path.
pub(crate) fn run_go_peer(
    program: &str,
    package: &str,
    arguments: &[&str],
) -> Option<(bool, String)> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache"),
        PathBuf::from,
    );
    let installed = cache.join("ringside-ci/go").join(program);
    let program = match installed.exists() {
        true => installed.to_string_lossy().into_owned(),
        false => program.to_owned(),
    };
    let output = match Command::new(&program).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            skip(format!(
                "{program} is not installed ({error}); go install {package}"
            ));
            return None;
        }
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    Some((output.status.success(), said))
}

/// Holds the server at this port of the loopback interface to RFC 9113 and RFC 7541, as h2spec
/// reads them.
pub(crate) fn h2spec(port: u16, is_secured: bool, who: &str) {
    let port = port.to_string();
    let mut arguments = vec!["-h", "127.0.0.1", "-p", &port, "-o", "2", "--strict"];
    if is_secured {
        arguments.extend(["-t", "-k"]);
    }
    let package = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible";
    let Some((passed, said)) = run_go_peer("h2spec", package, &arguments) else {
        return;
    };
    let last: Vec<&str> = said.lines().rev().take(40).collect();
    // `146 tests, 145 passed, 1 skipped, 0 failed`
    let summary = last.iter().find(|line| line.contains(" tests, "));
    let count = |what: &str| {
        let mut parts = summary?.split(", ");
        parts.find_map(|part| part.trim().strip_suffix(what)?.trim().parse::<u32>().ok())
    };
    let [tests, ran_well, skipped, failed] = ["tests", "passed", "skipped", "failed"].map(count);
    assert!(passed, "{who}: {last:#?}");
    assert_eq!((tests, failed), (Some(146), Some(0)), "{who}: {last:#?}");
    let done = ran_well
        .zip(skipped)
        .map(|(ran_well, skipped)| ran_well + skipped);
    assert_eq!(done, tests, "{who}: {last:#?}");
    assert!(skipped < Some(10), "{who}: {last:#?}");
}
