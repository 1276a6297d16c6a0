//! Texts that are compared with what is kept beside the source. After a change that is meant, run
//! the tests with `BLESS=1` and read the difference before keeping it.

use std::fs;
use std::path::Path;

/// Compares `text` with the file `snapshots/NAME` of a folder of `src`.
pub(crate) fn check(folder: &str, name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src")
        .join(folder)
        .join("snapshots")
        .join(name);
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(&path, text).expect("writable");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{} differs; with BLESS=1 it becomes:\n{text}",
        path.display()
    );
}
