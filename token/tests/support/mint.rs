//! Makes tokens, good ones and others. The keys are of these tests and no secrets.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use ring::{hmac, signature};
use token::{Algorithm, Key, KeySet};

pub(crate) const SECRET: &[u8] = b"a secret of these tests, 32 bytes or more";
pub(crate) const RSA_PUBLIC: &str = include_str!("../keys/rsa.public.pem");
const RSA_PRIVATE: &str = include_str!("../keys/rsa.private.pem");
pub(crate) const P256_PUBLIC: &str = include_str!("../keys/p256.public.pem");
const P256_PRIVATE: &str = include_str!("../keys/p256.private.pem");
pub(crate) const ED25519_PUBLIC: &str = include_str!("../keys/ed25519.public.pem");
const ED25519_PRIVATE: &str = include_str!("../keys/ed25519.private.pem");

pub(crate) fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes of a PEM file.
pub(crate) fn pem(text: &str) -> Vec<u8> {
    let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    STANDARD.decode(body).expect("base64")
}

/// A key of each algorithm, with its name in small letters as its id.
pub(crate) fn keys() -> KeySet {
    let keys = Algorithm::ALL.map(|algorithm| key(algorithm, Some(id(algorithm))));
    KeySet::new(keys.to_vec()).expect("four keys")
}

pub(crate) fn id(algorithm: Algorithm) -> String {
    algorithm.name().to_lowercase()
}

pub(crate) fn key(algorithm: Algorithm, id: Option<String>) -> Key {
    let key = match algorithm {
        Algorithm::Hs256 => Key::secret(id, SECRET),
        Algorithm::Rs256 => Key::from_pem(id, RSA_PUBLIC),
        Algorithm::Es256 => Key::from_pem(id, P256_PUBLIC),
        Algorithm::EdDsa => Key::from_pem(id, ED25519_PUBLIC),
    };
    key.expect("a good key")
}

pub(crate) fn sign(algorithm: Algorithm, message: &[u8]) -> Vec<u8> {
    let random = SystemRandom::new();
    match algorithm {
        Algorithm::Hs256 => hmac_of(SECRET, message),
        Algorithm::Rs256 => {
            let pair = RsaKeyPair::from_pkcs8(&pem(RSA_PRIVATE)).expect("a key");
            let mut signature = vec![0; pair.public().modulus_len()];
            let signed = pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature);
            signed.expect("a signature");
            signature
        }
        Algorithm::Es256 => {
            let der = pem(P256_PRIVATE);
            let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random);
            let signature = pair.expect("a key").sign(&random, message);
            signature.expect("a signature").as_ref().to_vec()
        }
        Algorithm::EdDsa => {
            let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&pem(ED25519_PRIVATE));
            let signature: signature::Signature = pair.expect("a key").sign(message);
            signature.as_ref().to_vec()
        }
    }
}

pub(crate) fn hmac_of(secret: &[u8], message: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    hmac::sign(&key, message).as_ref().to_vec()
}

/// A token with this header and these claims, signed so.
pub(crate) fn token(algorithm: Algorithm, header: &str, claims: &str) -> Vec<u8> {
    let message = format!("{}.{}", base64url(header), base64url(claims));
    let signature = sign(algorithm, message.as_bytes());
    format!("{message}.{}", base64url(signature)).into_bytes()
}

/// A token with the header that belongs to its algorithm.
pub(crate) fn good(algorithm: Algorithm, claims: &str) -> Vec<u8> {
    let header = format!(
        r#"{{"alg":"{algorithm}","typ":"JWT","kid":"{}"}}"#,
        id(algorithm)
    );
    token(algorithm, &header, claims)
}
