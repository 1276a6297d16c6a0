//! Hashes of files, by which two loads are known to be the same.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// The hash of what is in a file (SHA-256).
///
/// # Errors
/// Which file can't be read, and why.
pub fn digest(file: &Path) -> Result<Vec<u8>, String> {
    let read = || -> io::Result<Vec<u8>> {
        let (mut file, mut hash) = (File::open(file)?, Sha256::new());
        let mut block = vec![0; 1 << 16];
        loop {
            match file.read(&mut block)? {
                0 => return Ok(hash.finalize().to_vec()),
                count => hash.update(&block[..count]),
            }
        }
    };
    read().map_err(|error| format!("{}: {error}", file.display()))
}
