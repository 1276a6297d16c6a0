//! Certificates in files.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// All certificates of a PEM file.
pub(super) fn certificates_in(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let unreadable = |why: &dyn std::fmt::Display| {
        format!(
            "can't read certificates from {} ({why}): give a PEM file with BEGIN CERTIFICATE",
            path.display()
        )
    };
    let found = CertificateDer::pem_file_iter(path).map_err(|why| unreadable(&why))?;
    let found: Vec<_> = found
        .collect::<Result<_, _>>()
        .map_err(|why| unreadable(&why))?;
    if found.is_empty() {
        return Err(unreadable(&"it has none"));
    }
    Ok(found)
}
