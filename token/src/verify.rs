//! Whether a token is good.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeSeed;

use crate::claims::{Claims, Payload, Wanted};
use crate::header::Header;
use crate::keys::{Algorithm, Key, KeySet};
use crate::refused::Refused;

/// Keys that are tried for a token that names none.
const TRIES_MAX: usize = 4;

/// What a token's claims have to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What the header's `typ` has to be: a media type, in which `application/` may be left out on
    /// either side, in any case of letters (RFC 7515 §4.1.9). Issuers that sign several kinds of
    /// tokens say so (RFC 8725 §3.11), as `at+jwt` for access tokens (RFC 9068 §2.1). Without one,
    /// any will do.
    pub typ: Option<String>,
    /// What `iss` has to be.
    pub issuer: Option<String>,
    /// One of these has to be in `aud`; without any, `aud` isn't looked at.
    pub audiences: Vec<String>,
    /// Seconds by which clocks may differ, for `exp` and `nbf`.
    pub leeway_s: u64,
    /// Whether a token without `exp` is good, for ever.
    pub without_expiry: bool,
    /// The longest token, in bytes.
    pub bytes_max: usize,
    /// Further claims than `sub` that [`Claims::others`] has, where they are there.
    pub claims: Vec<String>,
}

impl Default for Rules {
    /// Any type, issuer and audience, no leeway, `exp` demanded, up to 8 KiB.
    fn default() -> Rules {
        Rules {
            typ: None,
            issuer: None,
            audiences: Vec::new(),
            leeway_s: 0,
            without_expiry: false,
            bytes_max: 8 * 1024,
            claims: Vec::new(),
        }
    }
}

/// Says what a token in the compact form (RFC 7515 §7.1) says, if it's good at `now_s`, in seconds
/// since 1970-01-01 UTC.
///
/// The signature is checked before the claims are so much as decoded.
///
/// # Errors
/// It isn't.
pub fn verify(token: &[u8], keys: &KeySet, rules: &Rules, now_s: u64) -> Result<Claims, Refused> {
    if token.len() > rules.bytes_max {
        return Err(Refused::TooLong);
    }
    let dot = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'.');
    let first = dot(token).ok_or(Refused::Malformed)?;
    let second = dot(&token[first + 1..]).ok_or(Refused::Malformed)? + first + 1;
    let (message, signature) = (&token[..second], &token[second + 1..]);
    let signature = decoded(signature)?;
    let header = decoded(&token[..first])?;
    let header: Header<'_> = serde_json::from_slice(&header).map_err(|_| Refused::Malformed)?;
    check_signature(&header, message, &signature, keys)?;
    if let Some(wanted) = &rules.typ {
        let typ = header.typ.as_deref().map(short_type);
        if !typ.is_some_and(|typ| typ.eq_ignore_ascii_case(short_type(wanted))) {
            return Err(Refused::WrongType);
        }
    }
    let payload = decoded(&token[first + 1..second])?;
    let mut json = serde_json::Deserializer::from_slice(&payload);
    let payload = Wanted(&rules.claims).deserialize(&mut json);
    let payload = payload.map_err(|_| Refused::Malformed)?;
    json.end().map_err(|_| Refused::Malformed)?;
    judge(payload, rules, now_s)
}

/// A media type without the `application/` that may be left out, which it may where no other slash
/// is in it (RFC 7515 §4.1.9).
fn short_type(typ: &str) -> &str {
    match typ.split_once('/') {
        Some((tree, rest)) if tree.eq_ignore_ascii_case("application") && !rest.contains('/') => {
            rest
        }
        _ => typ,
    }
}

/// Base64url, to the letter: no padding, no line ends, no bits left over.
fn decoded(part: &[u8]) -> Result<Vec<u8>, Refused> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Refused::Malformed)
}

fn check_signature(
    header: &Header<'_>,
    message: &[u8],
    signature: &[u8],
    keys: &KeySet,
) -> Result<(), Refused> {
    let algorithm = Algorithm::of(&header.alg).ok_or(Refused::UnknownAlgorithm)?;
    if header.is_critical {
        return Err(Refused::Critical);
    }
    let signed = |key: &Key| key.has_signed(message, signature);
    // Keys for different algorithms may share an id (RFC 7517 §4.5).
    let named = header.kid.as_deref().map(|kid| {
        let named = || keys.keys().iter().filter(|key| key.id() == Some(kid));
        let fit = named().find(|key| key.algorithm() == algorithm);
        fit.or_else(|| named().next())
    });
    match named {
        Some(Some(key)) if key.algorithm() != algorithm => Err(Refused::WrongAlgorithm),
        Some(Some(key)) => signed(key).then_some(()).ok_or(Refused::BadSignature),
        // One that nobody named can be any of those without a name.
        Some(None) => by_any(
            keys.keys().iter().filter(|key| key.id().is_none()),
            algorithm,
            signed,
        ),
        None => by_any(keys.keys().iter(), algorithm, signed),
    }
}

/// Whether one of some keys has signed it.
fn by_any<'a>(
    keys: impl Iterator<Item = &'a Key>,
    algorithm: Algorithm,
    signed: impl Fn(&Key) -> bool,
) -> Result<(), Refused> {
    let mut tried = 0;
    for key in keys
        .filter(|key| key.algorithm() == algorithm)
        .take(TRIES_MAX)
    {
        if signed(key) {
            return Ok(());
        }
        tried += 1;
    }
    Err(match tried {
        0 => Refused::UnknownKey,
        _ => Refused::BadSignature,
    })
}

fn judge(payload: Payload, rules: &Rules, now_s: u64) -> Result<Claims, Refused> {
    let expires_at = match payload.expires {
        // On or after it, a token is not good (RFC 7519 §4.1.4). What doesn't fit is for ever.
        Some(expires) => expires as u64,
        None if rules.without_expiry => u64::MAX,
        None => return Err(Refused::NoExpiry),
    };
    if now_s >= expires_at.saturating_add(rules.leeway_s) {
        return Err(Refused::Expired);
    }
    let from = payload.not_before.map_or(0, |from| from.ceil() as u64);
    if now_s.saturating_add(rules.leeway_s) < from {
        return Err(Refused::NotYet);
    }
    if rules.issuer.is_some() && rules.issuer != payload.issuer {
        return Err(Refused::WrongIssuer);
    }
    let is_ours = |audience: &String| rules.audiences.contains(audience);
    if !rules.audiences.is_empty() && !payload.audiences.iter().any(is_ours) {
        return Err(Refused::WrongAudience);
    }
    Ok(Claims {
        subject: payload.subject,
        expires_at,
        others: payload.others,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_of_rfc_8037_is_good_and_no_other() {
        // Appendices A.2 and A.4. What was signed is no JSON, so this is no token.
        let (keys, _) = KeySet::from_jwks(
            br#"{"keys":[{"kty":"OKP","crv":"Ed25519",
                "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
            false,
        )
        .expect("a key");
        let message = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature = b"hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5B\
            hVsPt9g7sVvpAr_MuM0KAg";
        let mut signature = decoded(signature).expect("base64url");
        let header: Header<'_> = serde_json::from_str(r#"{"alg":"EdDSA"}"#).expect("a header");
        let check = |signature: &[u8]| check_signature(&header, message, signature, &keys);
        assert_eq!(check(&signature), Ok(()));
        for at in 0..signature.len() {
            signature[at] ^= 1;
            assert_eq!(check(&signature), Err(Refused::BadSignature), "{at}");
            signature[at] ^= 1;
        }
        assert_eq!(check(&signature[1..]), Err(Refused::BadSignature));
    }
}
