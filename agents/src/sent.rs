//! A plan as a coordinator sends it, with the secrets that its requests have, and what is to be
//! hidden of it; and the files that it names.

use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use fleet::Text;
use fleet::chain::{Digest, Hasher};
use fleet::message::DataFile;
use load::{Plan, Redaction};
use serde::{Deserialize, Serialize};

/// The form on the wire.
#[derive(Serialize, Deserialize)]
struct Sent {
    #[serde(with = "Plan")]
    plan: Plan,
    hidden: Vec<String>,
    shows_bodies: bool,
}

/// Writes a plan.
///
/// # Errors
/// A sentence: it can't be written as JSON.
pub(crate) fn encode(plan: &Plan) -> Result<Vec<u8>, String> {
    let sent = Sent {
        plan: plan.clone(),
        hidden: plan.redaction.names().map(str::to_owned).collect(),
        shows_bodies: plan.redaction.shows_bodies(),
    };
    serde_json::to_vec(&sent).map_err(|why| format!("the plan can't be sent: {why}"))
}

/// Reads one, whose secrets are then known to its redaction.
///
/// # Errors
/// A sentence: it's no plan of this version.
pub(crate) fn decode(bytes: &[u8]) -> Result<Plan, String> {
    let sent: Sent = serde_json::from_slice(bytes)
        .map_err(|why| format!("the plan that came can't be read: {why}"))?;
    let mut plan = sent.plan;
    plan.redaction = Redaction::default()
        .naming(sent.hidden)
        .showing_bodies(sent.shows_bodies);
    plan.tell_secrets();
    Ok(plan)
}

/// The files that a plan needs where it is carried out, and what is in them.
///
/// # Errors
/// A sentence: one of them can't be read.
pub(crate) fn files(plan: &Plan) -> Result<Vec<DataFile>, String> {
    let files = named(plan).into_iter().map(|path| {
        let digest = digest(&path)?;
        Ok(DataFile {
            name: name(&path),
            digest,
        })
    });
    files.collect()
}

/// Whether the files that a plan needs are here, and are the coordinator's.
///
/// # Errors
/// A sentence: which isn't.
pub(crate) fn check_files(plan: &Plan, data: &[DataFile]) -> Result<(), String> {
    for path in named(plan) {
        let wanted = data.iter().find(|file| file.name == name(&path));
        let shown = path.display();
        match wanted {
            None => return Err(format!("nobody says what is in {shown}")),
            Some(wanted) if wanted.digest != digest(&path)? => {
                return Err(format!(
                    "{shown} isn't the file that the coordinator has: copy it to all machines, to \
                     the same path"
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Of a file's content. Of anything else that a path may name none is taken: whoever wrote the plan
/// could have an agent read from a device without end.
fn digest(path: &Path) -> Result<Digest, String> {
    let failed = |why: &dyn fmt::Display| format!("can't read {}: {why}", path.display());
    let meta = fs::metadata(path).map_err(|why| failed(&why))?;
    if !meta.is_file() {
        return Err(failed(&"it isn't a file"));
    }
    let mut file = File::open(path).map_err(|why| failed(&why))?;
    let mut hash = Hasher::new();
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part) {
            Ok(0) => return Ok(hash.finish()),
            Ok(read) => hash.add(&part[..read]),
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(failed(&why)),
        }
    }
}

fn name(path: &Path) -> Text {
    Text::new(&path.display().to_string())
}

/// The paths that a plan names. (Those of steps and bodies were read into it.)
fn named(plan: &Plan) -> Vec<PathBuf> {
    let data = plan
        .workload
        .as_ref()
        .and_then(|workload| workload.data.as_ref());
    let mut all: Vec<PathBuf> = data.map(|data| data.file.clone()).into_iter().collect();
    if let Some(tls) = &plan.tls {
        let files = [&tls.ca_file, &tls.certificate_file, &tls.key_file];
        all.extend(files.into_iter().flatten().cloned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_arrives_with_its_secrets_and_hides_them() {
        let mut plan = Plan::new("https://user.example/p?token=canary-q").unwrap();
        let header = |name: &str| (name.to_owned(), "canary-h".to_owned());
        plan.request.headers = ["authorization", "x-mine"].map(header).into();
        plan.request.body = vec![0, 159, 255];
        plan.redaction = Redaction::default().naming(["x-mine"]);
        let arrived = decode(&encode(&plan).unwrap()).unwrap();
        assert_eq!(arrived, plan);
        let shown = serde_json::to_string(&arrived.recorded()).unwrap();
        assert!(!shown.contains("canary"), "{shown}");
        assert!(!arrived.redaction.scrub("said canary-h").contains("canary"));
        assert!(decode(b"{}").is_err());
    }

    #[test]
    fn a_file_that_differs_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        std::fs::write(&path, "one").unwrap();
        let mut plan = Plan::new("https://h/").unwrap();
        plan.tls.as_mut().unwrap().ca_file = Some(path.clone());
        let data = files(&plan).unwrap();
        assert_eq!(data.len(), 1);
        check_files(&plan, &data).unwrap();
        assert!(check_files(&plan, &[]).unwrap_err().contains("nobody says"));
        std::fs::write(&path, "another").unwrap();
        let said = check_files(&plan, &data).unwrap_err();
        assert!(said.contains("ca.pem isn't the file"), "{said}");
        std::fs::remove_file(&path).unwrap();
        assert!(files(&plan).unwrap_err().contains("can't read"));
        plan.tls.as_mut().unwrap().ca_file = Some("/dev/zero".into());
        assert!(files(&plan).unwrap_err().contains("isn't a file"));
    }
}
