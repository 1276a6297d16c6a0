//! Why a token is not good.

use std::fmt;

/// Why a token is not good. [`Refused::name`] is stable, for metrics and logs; none of it repeats
/// anything of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refused {
    /// Longer than [`Rules::bytes_max`](crate::Rules::bytes_max).
    TooLong,
    /// Not three parts of base64url (RFC 7515 §7.1), or not the JSON that belongs there.
    Malformed,
    /// An algorithm that isn't known here, such as `none`.
    UnknownAlgorithm,
    /// It demands that extensions be understood (`crit`, RFC 7515 §4.1.11).
    Critical,
    /// No key has the `kid` it names, or none is for its algorithm.
    UnknownKey,
    /// The key it names is for another algorithm than the one it names.
    WrongAlgorithm,
    /// It's signed for another purpose than [`Rules::typ`](crate::Rules::typ) says, or for none.
    WrongType,
    /// No key has signed it.
    BadSignature,
    /// Its time is over.
    Expired,
    /// Its time has not come (`nbf`).
    NotYet,
    /// It has no `exp`, and has to.
    NoExpiry,
    /// It's of another issuer, or of none.
    WrongIssuer,
    /// It's for somebody else, or for nobody.
    WrongAudience,
}

impl Refused {
    /// All there are.
    pub const ALL: [Refused; 13] = [
        Refused::TooLong,
        Refused::Malformed,
        Refused::UnknownAlgorithm,
        Refused::Critical,
        Refused::UnknownKey,
        Refused::WrongAlgorithm,
        Refused::WrongType,
        Refused::BadSignature,
        Refused::Expired,
        Refused::NotYet,
        Refused::NoExpiry,
        Refused::WrongIssuer,
        Refused::WrongAudience,
    ];

    /// A word for it that doesn't change.
    pub fn name(self) -> &'static str {
        match self {
            Refused::TooLong => "too_long",
            Refused::Malformed => "malformed",
            Refused::UnknownAlgorithm => "unknown_algorithm",
            Refused::Critical => "critical",
            Refused::UnknownKey => "unknown_key",
            Refused::WrongAlgorithm => "wrong_algorithm",
            Refused::WrongType => "wrong_type",
            Refused::BadSignature => "bad_signature",
            Refused::Expired => "expired",
            Refused::NotYet => "not_yet",
            Refused::NoExpiry => "no_expiry",
            Refused::WrongIssuer => "wrong_issuer",
            Refused::WrongAudience => "wrong_audience",
        }
    }

    /// What the client is told of it.
    pub fn sentence(self) -> &'static str {
        match self {
            Refused::TooLong => "the token is too long",
            Refused::Malformed => "the token is malformed",
            Refused::UnknownAlgorithm => "the token's algorithm is not accepted",
            Refused::Critical => "the token demands an extension that is not understood",
            Refused::UnknownKey => "no known key has signed the token",
            Refused::WrongAlgorithm => "the token's key is for another algorithm",
            Refused::WrongType => "the token is of another type",
            Refused::BadSignature => "the token's signature is wrong",
            Refused::Expired => "the token has expired",
            Refused::NotYet => "the token is not valid yet",
            Refused::NoExpiry => "the token does not expire",
            Refused::WrongIssuer => "the token is of another issuer",
            Refused::WrongAudience => "the token is for another audience",
        }
    }

    /// The value of `WWW-Authenticate` that says so (RFC 6750 §3).
    pub fn challenge(self) -> String {
        format!(
            "Bearer error=\"invalid_token\", error_description=\"{}\"",
            self.sentence()
        )
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

impl std::error::Error for Refused {}
