//! JSON Web Tokens (RFC 7519): which keys sign them, and whether a token is good.
//!
//! A token is good where a key of the [`KeySet`] has signed it with the algorithm that the *key* is
//! for, whatever the token says of itself (RFC 8725 §3.1), and where its claims are as [`Rules`]
//! demand. `none` is no algorithm here, and a public key is never a secret.
//!
//! No I/O and no clock: whoever calls brings keys and time. Signatures are checked by `ring`.
//!
//! ```
//! use token::{KeySet, Rules, verify};
//!
//! // RFC 7515, appendix A.1.
//! let jwks = br#"{"keys":[{"kty":"oct","k":
//!     "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
//!     }]}"#;
//! let (keys, _skipped) = KeySet::from_jwks(jwks, true)?;
//! let token = b"eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9\
//!     .eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxl\
//!     LmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
//! let rules = Rules { issuer: Some("joe".into()), ..Rules::default() };
//! let claims = verify(token, &keys, &rules, 1_300_819_379).expect("it's good for a second");
//! assert_eq!(claims.expires_at, 1_300_819_380);
//! assert!(verify(token, &keys, &rules, 1_300_819_380).is_err());
//! # Ok::<(), token::BadKey>(())
//! ```
#![forbid(unsafe_code)]

mod claims;
mod der;
mod header;
mod keys;
mod refused;
mod verify;

pub use claims::Claims;
pub use keys::{Algorithm, BadKey, Key, KeySet};
pub use refused::Refused;
pub use verify::{Rules, verify};
