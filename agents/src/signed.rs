//! Plans that are signed: by whom, for which agents, for which run, and until when.
//!
//! A plan travels behind a line that says all of that; the signature is over that line, the plan
//! and the digests of its files. So whoever may publish at the broker, or keeps one, can neither
//! make a plan for agents that want signatures nor use one of yesterday again. Which signatures an
//! agent wants stands in its policy. Orders are signed by themselves ([`crate::orders`]).

use std::path::Path;

use bytes::Bytes;
use fleet::chain::{Digest, Hasher};
use fleet::message::DataFile;
use fleet::{Name, RunId, Text};
use nkeys::{KeyPair, KeyPairType};
use serde::{Deserialize, Serialize};

use crate::nats;

/// How long agents may take to answer the call and to look at their plan, in seconds.
const VALID_S: u64 = 300;
/// The longest that an agent lets anybody sign for, with clocks that are off.
const AHEAD_MAX_S: u64 = 3600;

/// Who signs plans, and for whom.
pub struct Signer {
    key: KeyPair,
    audience: Option<Name>,
}

/// What is signed besides the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Terms {
    /// The agents that it's for, by the name that their policies have for all of them.
    audience: Option<Name>,
    run: RunId,
    /// In seconds since 1970.
    expires_s: u64,
}

/// What stands before a plan.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    warrant: Option<Warrant>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Warrant {
    terms: Terms,
    /// The public nkey.
    key: String,
    signature: Vec<u8>,
}

/// Which signatures an agent wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Public nkeys, one of which has to have signed; none: whoever may publish may ask.
    by: Vec<String>,
    audience: Option<Name>,
}

impl Signer {
    /// One whose seed stands in a file.
    ///
    /// # Errors
    /// A sentence: it doesn't.
    pub fn new(seed: &Path, audience: Option<&str>) -> Result<Signer, String> {
        let text = nats::seed(seed)?;
        let key = KeyPair::from_seed(&text);
        let key = key.map_err(|_| format!("{} has no seed of an nkey", seed.display()))?;
        let audience = audience.map(Name::new).transpose();
        Ok(Signer {
            key,
            audience: audience.map_err(|why| why.to_string())?,
        })
    }

    /// Its public nkey.
    pub(crate) fn public(&self) -> String {
        self.key.public_key()
    }

    /// Its signature.
    ///
    /// # Errors
    /// A sentence: there is none.
    pub(crate) fn sign(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let signature = self.key.sign(text);
        signature.map_err(|why| format!("the plan can't be signed: {why}"))
    }

    fn warrant(&self, terms: Terms, plan: &[u8], data: &[DataFile]) -> Result<Warrant, String> {
        let signature = self.sign(&text(&terms, plan, data)?)?;
        Ok(Warrant {
            terms,
            key: self.public(),
            signature,
        })
    }
}

/// A plan as it is sent for a run, signed if there's a signer, at this time (seconds since 1970).
///
/// # Errors
/// A sentence: it can't be signed.
pub fn seal(
    plan: &[u8],
    data: &[DataFile],
    (run, now_s): (&RunId, u64),
    signer: Option<&Signer>,
) -> Result<Bytes, String> {
    let warrant = signer.map(|signer| {
        let terms = Terms {
            audience: signer.audience.clone(),
            run: run.clone(),
            expires_s: now_s.saturating_add(VALID_S),
        };
        signer.warrant(terms, plan, data)
    });
    let head = Head {
        warrant: warrant.transpose()?,
    };
    let head = serde_json::to_vec(&head).map_err(|why| why.to_string())?;
    Ok([&head[..], b"\n", plan].concat().into())
}

/// Who a plan says has signed it, for whoever writes that down; nobody has looked whether that's
/// so.
pub(crate) fn claimed(sealed: &[u8]) -> String {
    let line = sealed.split(|byte| *byte == b'\n').next();
    let head = serde_json::from_slice::<Head>(line.unwrap_or_default());
    match head.unwrap_or_default().warrant {
        Some(warrant) => format!("signed with {}", Text::new(&warrant.key)),
        None => "not signed".to_owned(),
    }
}

/// The plan of what came, if it is signed as wanted.
///
/// # Errors
/// A sentence: it isn't.
pub(crate) fn open<'a>(
    sealed: &'a [u8],
    data: &[DataFile],
    (run, now_s): (&RunId, u64),
    wanted: &Wanted,
) -> Result<&'a [u8], String> {
    let end = sealed.iter().position(|byte| *byte == b'\n');
    let (head, plan) = match end {
        Some(end) => (&sealed[..end], &sealed[end + 1..]),
        None => return Err("the plan that came has no head".to_owned()),
    };
    let head: Head = serde_json::from_slice(head)
        .map_err(|why| format!("the head of the plan that came can't be read: {why}"))?;
    if !wanted.by.is_empty() {
        let warrant = head.warrant.ok_or(
            "this agent's policy wants plans to be signed ([signed] by), and this one isn't: use \
             --sign",
        )?;
        wanted.check(&warrant, &text(&warrant.terms, plan, data)?, (run, now_s))?;
    }
    Ok(plan)
}

impl Wanted {
    /// Those of a policy's file.
    ///
    /// # Errors
    /// A sentence that says which is no public nkey.
    pub(crate) fn new(by: Vec<String>, audience: Option<&str>) -> Result<Wanted, String> {
        for key in &by {
            let pair = KeyPair::from_public_key(key);
            if !pair.is_ok_and(|pair| pair.key_pair_type() == KeyPairType::User) {
                return Err(format!(
                    "[signed] by: {key:?} is no public nkey of a user, which begins with U: \
                     `ringside fleet keys FILE` prints one"
                ));
            }
        }
        if by.is_empty() && audience.is_some() {
            return Err("[signed] audience means nothing without by".to_owned());
        }
        let audience = audience.map(Name::new).transpose();
        Ok(Wanted {
            by,
            audience: audience.map_err(|why| why.to_string())?,
        })
    }

    /// The public nkeys.
    pub(crate) fn by(&self) -> &[String] {
        &self.by
    }

    fn check(
        &self,
        warrant: &Warrant,
        signed: &[u8],
        (run, now_s): (&RunId, u64),
    ) -> Result<(), String> {
        let Warrant {
            terms,
            key,
            signature,
        } = warrant;
        if !self.by.contains(key) {
            return Err(
                "the plan is signed with a key that this agent's policy doesn't name \
                        ([signed] by)"
                    .to_owned(),
            );
        }
        let pair = KeyPair::from_public_key(key).map_err(|why| why.to_string())?;
        pair.verify(signed, signature)
            .map_err(|_| "the signature isn't this plan's".to_owned())?;
        let shown = |name: Option<&Name>| name.map_or("nobody by name".to_owned(), Name::to_string);
        if terms.audience != self.audience {
            return Err(format!(
                "the plan is for {}, and this agent's policy is for {} ([signed] audience): use \
                 --audience",
                shown(terms.audience.as_ref()),
                shown(self.audience.as_ref())
            ));
        }
        if terms.run != *run {
            return Err(format!("the plan was signed for run {}", terms.run));
        }
        if terms.expires_s < now_s {
            return Err(format!(
                "the signature ended {} s ago: if the clocks of both machines are right, it's an \
                 old one",
                now_s - terms.expires_s
            ));
        }
        if terms.expires_s - now_s > AHEAD_MAX_S {
            return Err(format!(
                "the signature is good for {} s, and agents take {AHEAD_MAX_S} s at most: are the \
                 clocks of both machines right?",
                terms.expires_s - now_s
            ));
        }
        Ok(())
    }
}

/// What is signed.
fn text(terms: &Terms, plan: &[u8], data: &[DataFile]) -> Result<Vec<u8>, String> {
    let mut files = Hasher::new();
    for file in data {
        // Names are sentences of one line.
        files.add(format!("{}\n{}\n", file.name, file.digest).as_bytes());
    }
    let terms = serde_json::to_string(terms).map_err(|why| why.to_string())?;
    let (plan, files) = (Digest::of(plan), files.finish());
    Ok(format!("ringside plan\n{terms}\n{plan}\n{files}\n").into_bytes())
}

/// Makes an nkey, keeps its seed in a file that only its owner may read, and gives its public key.
///
/// # Errors
/// A sentence: the file is there already, or can't be written.
pub fn make_key(file: &Path) -> Result<String, String> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    let key = KeyPair::new_user();
    let failed = |why: &dyn std::fmt::Display| format!("can't write {}: {why}", file.display());
    let seed = key.seed().map_err(|why| failed(&why))?;
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(file);
    opened
        .and_then(|mut file| file.write_all(format!("{seed}\n").as_bytes()))
        .map_err(|why| failed(&why))?;
    Ok(key.public_key())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: u64 = 1_000_000;

    fn run(name: &str) -> RunId {
        Name::new(name).unwrap()
    }

    fn files() -> Vec<DataFile> {
        vec![DataFile {
            name: fleet::Text::new("users.csv"),
            digest: Digest::of(b"a,b"),
        }]
    }

    fn signer(audience: Option<&str>) -> Signer {
        Signer {
            key: KeyPair::new_user(),
            audience: audience.map(run),
        }
    }

    #[test]
    fn a_plan_that_is_signed_as_wanted_is_taken_and_no_other() {
        let (signer, stranger) = (signer(Some("lab")), signer(Some("lab")));
        let wanted = Wanted::new(vec![signer.key.public_key()], Some("lab")).unwrap();
        let seal = |signer: Option<&Signer>| {
            super::seal(b"a plan", &files(), (&run("r-1"), NOW_S), signer).unwrap()
        };
        let sealed = seal(Some(&signer));
        let open = |sealed: &[u8], data: &[DataFile], name: &str, now_s: u64| {
            super::open(sealed, data, (&run(name), now_s), &wanted).map(<[u8]>::to_vec)
        };
        assert_eq!(open(&sealed, &files(), "r-1", NOW_S).unwrap(), b"a plan");
        let mut other = sealed.to_vec();
        *other.last_mut().unwrap() = b'N';
        let text = String::from_utf8(sealed.to_vec()).unwrap();
        let longer = text.replace("1000300", "1000400");
        for (said, part) in [
            (
                open(&seal(None), &files(), "r-1", NOW_S),
                "and this one isn't",
            ),
            (
                open(&seal(Some(&stranger)), &files(), "r-1", NOW_S),
                "doesn't name",
            ),
            (open(&other, &files(), "r-1", NOW_S), "isn't this plan's"),
            (open(&sealed, &[], "r-1", NOW_S), "isn't this plan's"),
            (
                open(longer.as_bytes(), &files(), "r-1", NOW_S),
                "isn't this plan's",
            ),
            (open(&sealed, &files(), "r-2", NOW_S), "signed for run r-1"),
            (open(&sealed, &files(), "r-1", NOW_S + 301), "ended 1 s ago"),
            (open(&sealed, &files(), "r-1", NOW_S - 4000), "at most"),
            (open(b"a plan", &files(), "r-1", NOW_S), "has no head"),
        ] {
            let said = said.unwrap_err();
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn a_plan_for_other_agents_is_refused_and_whoever_wants_nothing_takes_all() {
        let signer = signer(None);
        let sealed = seal(b"a plan", &[], (&run("r-1"), NOW_S), Some(&signer)).unwrap();
        let wanted = Wanted::new(vec![signer.key.public_key()], Some("lab")).unwrap();
        let said = open(&sealed, &[], (&run("r-1"), NOW_S), &wanted).unwrap_err();
        assert!(said.contains("is for nobody by name"), "{said}");
        let all = open(&sealed, &[], (&run("r-9"), 0), &Wanted::default()).unwrap();
        assert_eq!(all, b"a plan");
    }

    #[test]
    fn a_key_is_kept_from_others_and_never_written_over() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let public = make_key(&file).unwrap();
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let signer = Signer::new(&file, None).unwrap();
        assert_eq!(signer.key.public_key(), public);
        Wanted::new(vec![public], None).unwrap();
        assert!(make_key(&file).unwrap_err().contains("can't write"));
        for (by, audience, part) in [
            (vec!["UX".to_owned()], None, "is no public nkey"),
            (Vec::new(), Some("lab"), "means nothing without by"),
        ] {
            let said = Wanted::new(by, audience).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
    }
}
