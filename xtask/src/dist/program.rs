//! The programs themselves, linked statically: they need nothing of the host that they run on.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;

/// What packages can be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) triple: &'static str,
    /// The architecture as Debian calls it.
    pub(super) debian: &'static str,
    /// The architecture as images call it.
    pub(super) oci: &'static str,
    /// The C compiler, and how to have it.
    compiler: (&'static str, &'static str),
    /// What links.
    linker: &'static str,
    pub(super) libc: Libc,
}

/// The C library that a program is linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Libc {
    Glibc,
    Musl,
}

impl Target {
    /// The names of packages distinguish what the architecture alone doesn't.
    pub(super) fn distinction(&self) -> &'static str {
        match self.libc {
            Libc::Glibc => "",
            Libc::Musl => "-musl",
        }
    }

    /// What the compiler links in, with licences.
    pub(super) fn runtime(&self) -> [(&'static str, &'static str); 3] {
        let libc = match self.libc {
            Libc::Glibc => (
                "glibc",
                "LGPL-2.1-or-later; `cargo xtask dist` links the program again, with another one",
            ),
            Libc::Musl => ("musl", "MIT"),
        };
        [
            ("Rust's standard library", "MIT OR Apache-2.0"),
            libc,
            ("libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1"),
        ]
    }
}

pub(super) const TARGETS: [Target; 4] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        debian: "amd64",
        oci: "amd64",
        compiler: ("cc", "run `apt-get install build-essential`"),
        linker: "cc",
        libc: Libc::Glibc,
    },
    Target {
        triple: "x86_64-unknown-linux-musl",
        debian: "amd64",
        oci: "amd64",
        compiler: ("musl-gcc", "run `apt-get install musl-tools`"),
        // musl-gcc would name a loader. Rust brings all of musl that links.
        linker: "cc",
        libc: Libc::Musl,
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        debian: "arm64",
        oci: "arm64",
        compiler: (
            "aarch64-linux-gnu-gcc",
            "run `apt-get install gcc-aarch64-linux-gnu`",
        ),
        linker: "aarch64-linux-gnu-gcc",
        libc: Libc::Glibc,
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        debian: "arm64",
        oci: "arm64",
        compiler: (
            "aarch64-linux-musl-gcc",
            "install a cross compiler for musl, which Debian doesn't have",
        ),
        linker: "aarch64-linux-musl-gcc",
        libc: Libc::Musl,
    },
];

/// The target of that name.
pub(super) fn target(triple: &str) -> Result<Target, String> {
    let found = TARGETS.into_iter().find(|target| target.triple == triple);
    found.ok_or_else(|| {
        let names = TARGETS.map(|target| target.triple).join(", ");
        format!("{triple}: ringside isn't packaged for it; the targets are {names}")
    })
}

/// Where cargo builds.
pub(super) fn target_folder(root: &Path) -> PathBuf {
    let given = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root.join(given.unwrap_or_else(|| "target".into()))
}

/// The programs of a package, as they are built.
pub(super) struct Programs {
    /// `ringside`.
    pub(super) main: Vec<u8>,
    /// `ringside-fleet`, which it hands over to.
    pub(super) fleet: Vec<u8>,
}

/// The packages that are built, with their programs.
pub(super) const PROGRAMS: [(&str, &str); 2] =
    [("cli", "ringside"), ("ringside-fleet", "ringside-fleet")];

/// Builds the programs and reads them. One after the other, so that neither has what only the other
/// asks of a library.
pub(super) fn build(root: &Path, target: &Target, profile: &str) -> Result<Programs, String> {
    installed(target)?;
    let [main, fleet] = PROGRAMS.map(|program| build_one(root, target, profile, program));
    Ok(Programs {
        main: main?,
        fleet: fleet?,
    })
}

fn build_one(
    root: &Path,
    target: &Target,
    profile: &str,
    (package, name): (&str, &str),
) -> Result<Vec<u8>, String> {
    let triple = target.triple;
    let mut cargo = cargo::cargo(root);
    cargo
        .args(["build", "--locked", "--package", package, "--bin", name])
        .args(["--target", triple, "--profile", profile])
        .env("CARGO_ENCODED_RUSTFLAGS", flags(root));
    let shouted = triple.replace('-', "_");
    let linker = format!("CARGO_TARGET_{}_LINKER", shouted.to_uppercase());
    let compiler = format!("CC_{shouted}");
    for (name, value) in [(linker, target.linker), (compiler, target.compiler.0)] {
        if std::env::var_os(&name).is_none() {
            cargo.env(name, value);
        }
    }
    let status = cargo
        .status()
        .map_err(|error| format!("cargo can't be started: {error}"))?;
    if !status.success() {
        return Err(format!(
            "{triple}: cargo didn't build it; what it says stands above"
        ));
    }
    let output = if profile == "dev" { "debug" } else { profile };
    let path = target_folder(root).join(triple).join(output).join(name);
    let program = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if names_a_loader(&program) {
        return Err(format!(
            "{}: isn't static: it names a dynamic loader; is another linker configured?",
            path.display()
        ));
    }
    Ok(program)
}

/// Static, and without the paths of the machine that builds.
pub(super) fn flags(root: &Path) -> String {
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    for (path, name) in [(Some(root.to_path_buf()), "/ringside"), (home, "/cargo")] {
        if let Some(path) = path {
            flags.push(format!("--remap-path-prefix={}={name}", path.display()));
        }
    }
    flags.join("\x1f")
}

/// Whether Rust and C can be compiled for it here; else the command that installs what is missing.
fn installed(target: &Target) -> Result<(), String> {
    let triple = target.triple;
    let question = ["--print", "target-libdir", "--target", triple];
    let said = Command::new("rustc").args(question).output();
    let said = said.map_err(|error| format!("rustc can't be started: {error}"))?;
    let library = String::from_utf8_lossy(&said.stdout).into_owned();
    if !Path::new(library.trim()).is_dir() {
        return Err(format!(
            "{triple}: Rust's library for it isn't installed; run `rustup target add {triple}`"
        ));
    }
    let (compiler, advice) = target.compiler;
    if Command::new(compiler).arg("--version").output().is_err() {
        return Err(format!("{triple}: {compiler} isn't installed; {advice}"));
    }
    Ok(())
}

/// Whether a program of 64 bits, least byte first, has a header `PT_INTERP` (elf(5)).
fn names_a_loader(program: &[u8]) -> bool {
    const PT_INTERP: u64 = 3;
    let number = |at: usize, size: usize| -> Option<u64> {
        let bytes = program.get(at..at.checked_add(size)?)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        )
    };
    let headers = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    let Some((first, size, count)) = headers() else {
        return false;
    };
    (0..count).any(|at| {
        let at = usize::try_from(first + at * size).unwrap_or(usize::MAX);
        number(at, 4) == Some(PT_INTERP)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_a_loader_is_told_from_one_that_does_not() {
        // Tests are linked dynamically.
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(names_a_loader(&this));
        let first = u64::from_le_bytes(this[32..40].try_into().unwrap()) as usize;
        let size = usize::from(u16::from_le_bytes([this[54], this[55]]));
        let count = usize::from(u16::from_le_bytes([this[56], this[57]]));
        let mut without = this.clone();
        for at in (0..count).map(|at| first + at * size) {
            if without[at] == 3 {
                without[at] = 0;
            }
        }
        assert!(!names_a_loader(&without));
        assert!(!names_a_loader(&this[..50]));
    }

    #[test]
    fn a_target_that_is_not_there_is_refused_with_what_to_do() {
        let refused = target("riscv64gc-unknown-linux-gnu").unwrap_err();
        assert!(
            refused.contains("the targets are x86_64-unknown-linux-gnu, "),
            "{refused}"
        );
        let nowhere = Target {
            triple: "x86_64-unknown-none-elf-missing",
            ..TARGETS[0]
        };
        let refused = installed(&nowhere).unwrap_err();
        let command = "`rustup target add x86_64-unknown-none-elf-missing`";
        assert!(refused.ends_with(command), "{refused}");
        let compilerless = Target {
            compiler: ("no-such-compiler", "run `apt-get install a-package`"),
            ..TARGETS[0]
        };
        let refused = installed(&compilerless).unwrap_err();
        assert!(
            refused.ends_with("run `apt-get install a-package`"),
            "{refused}"
        );
    }
}
