//! An image for container engines: the layout of the OCI image specification (image-layout.md) in
//! one archive, with one layer.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::archive::{Archive, zip};
use super::contents::{Contents, LIBRARIES};
use super::{VERSION, digest};

/// Where this host keeps the roots that it trusts, and where the program looks for them.
const ROOTS: &str = "etc/ssl/certs/ca-certificates.crt";

/// The image for `architecture`, as images call it.
pub(super) fn archive(
    contents: &Contents,
    architecture: &str,
    time: u64,
) -> Result<Vec<u8>, String> {
    let host = Path::new("/").join(ROOTS);
    let roots = fs::read(&host).map_err(|error| {
        format!(
            "{}: {error}; run `apt-get install ca-certificates`",
            host.display()
        )
    })?;
    let mut files = Archive::default();
    files.file("usr/bin/ringside", &contents.program, 0o755);
    files.file("usr/bin/ringside-fleet", &contents.fleet, 0o755);
    files.file(ROOTS, &roots, 0o644);
    for (name, text) in &contents.documents {
        if name.starts_with("LICENSE") || *name == LIBRARIES {
            files.file(&format!("usr/share/doc/ringside/{name}"), text, 0o644);
        }
    }
    // Who runs it there isn't root, and has a name.
    files.file(
        "etc/passwd",
        b"ringside:x:65532:65532::/:/nonexistent\n",
        0o644,
    );
    let plain = files.plain(time)?;
    let layer = zip(&plain)?;
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": "65532:65532",
            "Entrypoint": ["/usr/bin/ringside"],
            "Labels": {
                "org.opencontainers.image.title": "ringside",
                "org.opencontainers.image.version": VERSION,
                "org.opencontainers.image.licenses": "Apache-2.0 OR MIT",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", digest(&plain))] },
    });
    layout(&text(&config), &layer, time)
}

/// The files of the layout around one configuration and one layer.
fn layout(config: &[u8], layer: &[u8], time: u64) -> Result<Vec<u8>, String> {
    const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
    let manifest = text(&json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": described("application/vnd.oci.image.config.v1+json", config),
        "layers": [described("application/vnd.oci.image.layer.v1.tar+gzip", layer)],
    }));
    let mut entry = described(MANIFEST, &manifest);
    entry["annotations"] = json!({
        "org.opencontainers.image.ref.name": VERSION,
        "io.containerd.image.name": format!("localhost/ringside:{VERSION}"),
    });
    let index = text(&json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [entry],
    }));
    let mut archive = Archive::default();
    archive.file(
        "oci-layout",
        &text(&json!({ "imageLayoutVersion": "1.0.0" })),
        0o644,
    );
    archive.file("index.json", &index, 0o644);
    for blob in [config, layer, &manifest] {
        archive.file(&format!("blobs/sha256/{}", digest(blob)), blob, 0o644);
    }
    archive.plain(time)
}

/// What points to `blob`.
fn described(media_type: &str, blob: &[u8]) -> Value {
    json!({
        "mediaType": media_type,
        "digest": format!("sha256:{}", digest(blob)),
        "size": blob.len(),
    })
}

fn text(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}
