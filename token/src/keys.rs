//! Keys that sign tokens, each for one algorithm.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::hmac;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::der::{self, Public};

/// A secret has at least as many bytes as the hash (RFC 7518 §3.2).
const SECRET_BYTES_MIN: usize = 32;
/// Below, a signature says little (RFC 7518 §3.3); above, checking one takes too long.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;
/// Keys of a set: more are no set, but a way to make each token cost a lot.
const KEYS_MAX: usize = 64;

/// How a token is signed (RFC 7518 §3, RFC 8037 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// HMAC with SHA-256.
    Hs256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All there are.
    pub const ALL: [Algorithm; 4] = [
        Algorithm::Hs256,
        Algorithm::Rs256,
        Algorithm::Es256,
        Algorithm::EdDsa,
    ];

    /// As `alg` has it.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Hs256 => "HS256",
            Algorithm::Rs256 => "RS256",
            Algorithm::Es256 => "ES256",
            Algorithm::EdDsa => "EdDSA",
        }
    }

    /// The one with this name, letter for letter. EdDSA is `Ed25519`, too (RFC 9864 §2.2).
    pub fn of(name: &str) -> Option<Algorithm> {
        if name == "Ed25519" {
            return Some(Algorithm::EdDsa);
        }
        Algorithm::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A key that can't be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadKey(String);

impl BadKey {
    fn new(text: impl Into<String>) -> BadKey {
        BadKey(text.into())
    }
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadKey {}

/// A key, and the one algorithm that it's for.
#[derive(Clone)]
pub struct Key {
    id: Option<String>,
    material: Material,
}

#[derive(Clone)]
enum Material {
    Secret(hmac::Key),
    /// Modulus and exponent, big-endian.
    Rsa(Vec<u8>, Vec<u8>),
    /// A point, uncompressed.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Key {
    /// For HS256. `secret` is at least 32 bytes (RFC 7518 §3.2).
    ///
    /// # Errors
    /// It's shorter, or it's a public key: everybody could sign with that (RFC 8725 §2.1).
    pub fn secret(id: Option<String>, secret: &[u8]) -> Result<Key, BadKey> {
        if is_public(secret) {
            return Err(BadKey::new(
                "this is a public key, and no secret: give it as a key for RS256, ES256 or EdDSA",
            ));
        }
        if secret.len() < SECRET_BYTES_MIN {
            return Err(BadKey::new(format!(
                "a secret for HS256 takes at least {SECRET_BYTES_MIN} bytes (RFC 7518 §3.2), and \
                 this one has {}",
                secret.len()
            )));
        }
        let material = Material::Secret(hmac::Key::new(hmac::HMAC_SHA256, secret));
        Ok(Key { id, material })
    }

    /// Of a PEM file with a `PUBLIC KEY` (RFC 7468 §13): RSA is for RS256, P-256 for ES256, Ed25519
    /// for EdDSA.
    ///
    /// # Errors
    /// It's no such file, or the key is too weak.
    pub fn from_pem(id: Option<String>, pem: &str) -> Result<Key, BadKey> {
        let begin = "-----BEGIN PUBLIC KEY-----";
        let rest = pem.split_once(begin).map(|(_, rest)| rest);
        let body = rest.and_then(|rest| rest.split_once("-----END PUBLIC KEY-----"));
        let Some((body, _)) = body else {
            return Err(BadKey::new(format!(
                "there is no `{begin}`; `openssl pkey -in private.pem -pubout` makes one of a \
                 private key, `openssl x509 -pubkey -noout -in cert.pem` of a certificate"
            )));
        };
        let body: String = body.split_whitespace().collect();
        let bytes = STANDARD.decode(body);
        let bytes = bytes.map_err(|_| BadKey::new("what is between its markers is not base64"))?;
        match der::public_key(&bytes) {
            Some(Public::Rsa(modulus, exponent)) => Key::rsa(id, modulus, exponent),
            Some(Public::P256(point)) => Key::p256(id, point),
            Some(Public::Ed25519(point)) => Key::ed25519(id, point),
            None => Err(BadKey::new(
                "it's no key of RSA, on the curve P-256 (prime256v1), or Ed25519",
            )),
        }
    }

    fn rsa(id: Option<String>, modulus: &[u8], exponent: &[u8]) -> Result<Key, BadKey> {
        let modulus: Vec<u8> = modulus
            .iter()
            .copied()
            .skip_while(|byte| *byte == 0)
            .collect();
        let exponent: Vec<u8> = exponent
            .iter()
            .copied()
            .skip_while(|byte| *byte == 0)
            .collect();
        let unused = modulus
            .first()
            .map_or(0, |byte| byte.leading_zeros() as usize);
        let bits = modulus.len() * 8 - unused;
        if !RSA_BITS.contains(&bits) {
            return Err(BadKey::new(format!(
                "an RSA key has {} to {} bits here (RFC 7518 §3.3), and this one {bits}",
                RSA_BITS.start(),
                RSA_BITS.end()
            )));
        }
        if exponent.is_empty() || exponent.len() > 4 {
            return Err(BadKey::new(
                "the exponent of this RSA key is none, or too large",
            ));
        }
        // With an even one no signature is good, which would be said of each token.
        let is_odd = |number: &[u8]| number.last().is_some_and(|byte| byte % 2 == 1);
        if !is_odd(&modulus) || !is_odd(&exponent) || exponent == [1] {
            return Err(BadKey::new(
                "this is no RSA key: its modulus or its exponent can't be one",
            ));
        }
        let material = Material::Rsa(modulus, exponent);
        Ok(Key { id, material })
    }

    fn p256(id: Option<String>, point: &[u8]) -> Result<Key, BadKey> {
        if point.len() != 65 || point[0] != 4 {
            return Err(BadKey::new(
                "this is no uncompressed point of the curve P-256",
            ));
        }
        let material = Material::P256(point.to_vec());
        Ok(Key { id, material })
    }

    fn ed25519(id: Option<String>, point: &[u8]) -> Result<Key, BadKey> {
        if point.len() != 32 {
            return Err(BadKey::new("a public key of Ed25519 has 32 bytes"));
        }
        let material = Material::Ed25519(point.to_vec());
        Ok(Key { id, material })
    }

    /// Its `kid`.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// What it's for.
    pub fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Secret(_) => Algorithm::Hs256,
            Material::Rsa(..) => Algorithm::Rs256,
            Material::P256(_) => Algorithm::Es256,
            Material::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Whether a token that names this key names the other, too.
    fn is_named_as(&self, other: &Key) -> bool {
        self.id.is_some() && self.id == other.id && self.algorithm() == other.algorithm()
    }

    /// Whether it has signed `message` so.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Secret(key) => hmac::verify(key, message, signature).is_ok(),
            Material::Rsa(modulus, exponent) => {
                let key = RsaPublicKeyComponents {
                    n: modulus,
                    e: exponent,
                };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                    .is_ok()
            }
            // R and S with 32 bytes each, and not DER (RFC 7518 §3.4).
            Material::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                .verify(message, signature)
                .is_ok(),
            Material::Ed25519(point) => UnparsedPublicKey::new(&ED25519, point)
                .verify(message, signature)
                .is_ok(),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

/// Whether these bytes are a public key or a certificate, in one of the forms they come in.
fn is_public(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let in_pem = ["PUBLIC KEY-----", "CERTIFICATE-----"];
    in_pem.iter().any(|mark| text.contains(mark))
        || text.trim_start().starts_with("ssh-")
        || der::public_key(bytes).is_some()
}

/// The keys that tokens may be signed with.
#[derive(Clone, Debug, Default)]
pub struct KeySet {
    keys: Vec<Key>,
}

/// One member of a JWK set (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2), as far as it matters here.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    k: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    /// The private half.
    d: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<serde_json::Value>,
}

impl KeySet {
    /// Of these keys.
    ///
    /// # Errors
    /// More than 64 of them, or two for one algorithm with the same id.
    pub fn new(keys: Vec<Key>) -> Result<KeySet, BadKey> {
        if keys.len() > KEYS_MAX {
            return Err(BadKey::new(format!("more than {KEYS_MAX} keys")));
        }
        for (at, key) in keys.iter().enumerate() {
            if keys[..at].iter().any(|other| other.is_named_as(key)) {
                let id = key.id.as_deref().unwrap_or_default().escape_debug();
                return Err(BadKey::new(format!(
                    "two keys for {} have the id \"{id}\"",
                    key.algorithm()
                )));
            }
        }
        Ok(KeySet { keys })
    }

    /// Of a JWK set (RFC 7517 §5), and why keys of it are not taken: members of an unknown kind
    /// are ignored, as RFC 7517 §5 demands, and of two for one algorithm with the same id the
    /// second. `secrets` says whether it may hold secrets: one that
    /// others can fetch must not.
    ///
    /// # Errors
    /// It's no JWK set, or it has members and none of them can be used.
    pub fn from_jwks(bytes: &[u8], secrets: bool) -> Result<(KeySet, Vec<BadKey>), BadKey> {
        let set: Jwks = serde_json::from_slice(bytes).map_err(|error| {
            BadKey::new(format!(
                "this is no JWK set, which is JSON like {{\"keys\": […]}} (line {}, column {})",
                error.line(),
                error.column()
            ))
        })?;
        let members = set.keys.len();
        let (mut keys, mut skipped) = (Vec::new(), Vec::new());
        for (at, member) in set.keys.into_iter().enumerate() {
            match key_of(member, secrets) {
                // Which of two is meant can't be told; the others are good nevertheless.
                Ok(Some(key)) if keys.iter().any(|one: &Key| one.is_named_as(&key)) => {
                    let text = format!(
                        "key {}: a key before it is for {}, too, and has the same id",
                        at + 1,
                        key.algorithm()
                    );
                    skipped.push(BadKey(text));
                }
                Ok(Some(key)) => keys.push(key),
                Ok(None) => {} // Not for signatures.
                Err(why) => skipped.push(BadKey::new(format!("key {}: {why}", at + 1))),
            }
        }
        // A set without members is one (RFC 7517 §5.1), and says that no key is good.
        if keys.is_empty() && members > 0 {
            let mut text = String::from("none of its keys can be used");
            for why in skipped.iter().take(3) {
                text.push_str("; ");
                text.push_str(&why.0);
            }
            return Err(BadKey::new(text));
        }
        Ok((KeySet::new(keys)?, skipped))
    }

    /// Adds the keys of another set.
    ///
    /// # Errors
    /// As of [`KeySet::new`].
    pub fn and(mut self, other: KeySet) -> Result<KeySet, BadKey> {
        self.keys.extend(other.keys);
        KeySet::new(self.keys)
    }

    /// Its keys.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }
}

/// The key that a member of a set is; `None` if it isn't for signatures.
fn key_of(member: serde_json::Value, secrets: bool) -> Result<Option<Key>, BadKey> {
    let jwk: Jwk = serde_json::from_value(member)
        .map_err(|_| BadKey::new("it has no `kty`, or a member that should be a text isn't one"))?;
    if jwk
        .purpose
        .as_deref()
        .is_some_and(|purpose| purpose != "sig")
    {
        return Ok(None);
    }
    let verifies = |uses: &Vec<String>| uses.iter().any(|one| one == "verify");
    if jwk.key_ops.as_ref().is_some_and(|uses| !verifies(uses)) {
        return Ok(None);
    }
    if jwk.d.is_some() && jwk.kty != "oct" {
        // Whoever shows it to others has to hear of it.
        return Err(BadKey::new(
            "it's a private key; leave out `d` and all that only its owner needs, and replace the \
             key if others could read it",
        ));
    }
    let (id, curve) = (jwk.kid, jwk.crv.as_deref());
    let key = match (jwk.kty.as_str(), curve) {
        ("oct", _) if !secrets => {
            let text = "it's a secret, and this set is where others can fetch it";
            return Err(BadKey::new(text));
        }
        ("oct", _) => Key::secret(id, &decoded("k", jwk.k)?)?,
        ("RSA", _) => Key::rsa(id, &decoded("n", jwk.n)?, &decoded("e", jwk.e)?)?,
        ("EC", Some("P-256")) => {
            let (x, y) = (decoded("x", jwk.x)?, decoded("y", jwk.y)?);
            if x.len() != 32 || y.len() != 32 {
                return Err(BadKey::new("`x` and `y` of P-256 have 32 bytes each"));
            }
            Key::p256(id, &[&[4][..], &x, &y].concat())?
        }
        ("OKP", Some("Ed25519")) => Key::ed25519(id, &decoded("x", jwk.x)?)?,
        _ => return Err(BadKey::new("its `kty` or `crv` is none that is known here")),
    };
    let algorithm = key.algorithm();
    match jwk.alg.as_deref() {
        Some(named) if Algorithm::of(named) != Some(algorithm) => Err(BadKey::new(format!(
            "it's for \"{}\", and keys of its kind are only taken for {algorithm}",
            named.escape_debug()
        ))),
        _ => Ok(Some(key)),
    }
}

fn decoded(name: &str, text: Option<String>) -> Result<Vec<u8>, BadKey> {
    let text = text.ok_or_else(|| BadKey::new(format!("`{name}` is missing")))?;
    let bytes = URL_SAFE_NO_PAD.decode(text);
    bytes.map_err(|_| BadKey::new(format!("`{name}` is not base64url without padding")))
}
