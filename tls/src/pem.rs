//! Certificates in files.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};

/// All certificates of a PEM file.
pub(super) fn certificates_in(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = |path| CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
    let found = read(path).map_err(|why| unreadable(CERTIFICATES, path, &why))?;
    if found.is_empty() {
        let path = path.display();
        return Err(format!(
            "{path} has no certificate: give a PEM file with BEGIN CERTIFICATE"
        ));
    }
    Ok(found)
}

/// What is read from files, and how it's to stand there.
pub(super) type Wanted = (&'static str, &'static str);
const CERTIFICATES: Wanted = ("certificates", "BEGIN CERTIFICATE");
pub(super) const KEY: Wanted = ("a key", "an unencrypted PRIVATE KEY");

/// Why something isn't read from a file, and what to give instead where the file is there.
pub(super) fn unreadable((what, form): Wanted, path: &Path, why: &pem::Error) -> String {
    let path = path.display();
    match why {
        pem::Error::Io(why) => format!("can't read {what} from {path}: {why}"),
        why => format!("can't read {what} from {path} ({why}): give a PEM file with {form}"),
    }
}
