//! Good tokens and bad ones.

#[path = "support/mint.rs"]
mod mint;

use mint::{base64url, good, keys, token};
use token::{Algorithm, Claims, Key, KeySet, Refused, Rules, verify};

const NOW: u64 = 1_800_000_000;
const CLAIMS: &str = r#"{"sub":"42","iss":"us","aud":["them","others"],"exp":1800000001}"#;

/// Of the key of RFC 7517, appendix A.1.
const MODULUS: &str = "\
    0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1\
    L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4\
    QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbO\
    pbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csF\
    Cur-kEgU8awapJzKnqDKgw";

fn rules() -> Rules {
    Rules {
        issuer: Some("us".into()),
        audiences: vec!["them".into()],
        ..Rules::default()
    }
}

fn ask(token: &[u8]) -> Result<Claims, Refused> {
    verify(token, &keys(), &rules(), NOW)
}

/// What comes of claims, signed well.
fn said(claims: &str) -> Result<Claims, Refused> {
    ask(&good(Algorithm::Hs256, claims))
}

#[test]
fn a_good_token_of_each_algorithm_is_good_with_its_key_named_or_not() {
    for algorithm in Algorithm::ALL {
        let claims =
            ask(&good(algorithm, CLAIMS)).unwrap_or_else(|why| panic!("{algorithm}: {why}"));
        assert_eq!(claims.subject.as_deref(), Some("42"));
        assert_eq!(claims.expires_at, NOW + 1);
        let unnamed = token(algorithm, &format!(r#"{{"alg":"{algorithm}"}}"#), CLAIMS);
        assert!(ask(&unnamed).is_ok(), "{algorithm}");
    }
}

#[test]
fn a_changed_byte_anywhere_makes_it_bad() {
    for algorithm in Algorithm::ALL {
        let token = good(algorithm, CLAIMS);
        for at in 0..token.len() {
            let mut changed = token.clone();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert!(ask(&changed).is_err(), "{algorithm}, byte {at}");
            assert!(ask(&token[..at]).is_err(), "{algorithm}, cut at {at}");
        }
    }
}

#[test]
fn no_spelling_of_none_is_an_algorithm() {
    for alg in [
        "none",
        "None",
        "NONE",
        "nOnE",
        "",
        " HS256",
        "hs256",
        "HS256\\u0000",
        "HS512",
    ] {
        let header = format!(r#"{{"alg":"{alg}"}}"#);
        let message = format!("{}.{}", base64url(&header), base64url(CLAIMS));
        for signature in [
            String::new(),
            base64url(mint::hmac_of(mint::SECRET, message.as_bytes())),
        ] {
            let token = format!("{message}.{signature}");
            assert_eq!(
                ask(token.as_bytes()),
                Err(Refused::UnknownAlgorithm),
                "{alg}"
            );
        }
    }
}

#[test]
fn a_public_key_is_no_secret_to_sign_with() {
    let forms = [
        mint::RSA_PUBLIC.as_bytes().to_vec(),
        mint::pem(mint::RSA_PUBLIC),
    ];
    for secret in forms {
        for kid in ["rs256", "hs256", "es256"] {
            let header = format!(r#"{{"alg":"HS256","kid":"{kid}"}}"#);
            let message = format!("{}.{}", base64url(&header), base64url(CLAIMS));
            let signature = mint::hmac_of(&secret, message.as_bytes());
            let token = format!("{message}.{}", base64url(signature));
            let expected = match kid {
                "hs256" => Refused::BadSignature,
                _ => Refused::WrongAlgorithm,
            };
            assert_eq!(ask(token.as_bytes()), Err(expected), "{kid}");
        }
        // Nor does a configuration that mixes them up make it one.
        assert!(Key::secret(None, &secret).is_err());
    }
}

#[test]
fn the_algorithm_is_the_keys_and_not_the_tokens() {
    for (of, named) in [("hs256", "RS256"), ("rs256", "ES256"), ("es256", "EdDSA")] {
        let header = format!(r#"{{"alg":"{named}","kid":"{of}"}}"#);
        let algorithm = Algorithm::of(named).expect("it's known");
        let token = token(algorithm, &header, CLAIMS);
        assert_eq!(ask(&token), Err(Refused::WrongAlgorithm), "{of} {named}");
    }
}

#[test]
fn a_key_that_nobody_has_is_unknown() {
    let header = r#"{"alg":"HS256","kid":"somebody"}"#;
    assert_eq!(
        ask(&token(Algorithm::Hs256, header, CLAIMS)),
        Err(Refused::UnknownKey)
    );
    let only_rsa = KeySet::new(vec![mint::key(Algorithm::Rs256, None)]).expect("one key");
    let unnamed = token(Algorithm::Hs256, r#"{"alg":"HS256"}"#, CLAIMS);
    assert_eq!(
        verify(&unnamed, &only_rsa, &rules(), NOW),
        Err(Refused::UnknownKey)
    );
    // A key without an id may be the one that a token names.
    let nameless = KeySet::new(vec![mint::key(Algorithm::Hs256, None)]).expect("one key");
    assert!(
        verify(
            &token(Algorithm::Hs256, header, CLAIMS),
            &nameless,
            &rules(),
            NOW
        )
        .is_ok()
    );
}

#[test]
fn a_signature_of_the_curve_in_der_is_not_taken() {
    let header = r#"{"alg":"ES256","kid":"es256"}"#;
    let message = format!("{}.{}", base64url(header), base64url(CLAIMS));
    let raw = mint::sign(Algorithm::Es256, message.as_bytes());
    let integer = |part: &[u8]| [&[2, 33, 0][..], part].concat();
    let body = [integer(&raw[..32]), integer(&raw[32..])].concat();
    let der = [&[0x30, body.len() as u8][..], &body].concat();
    let token = format!("{message}.{}", base64url(der));
    assert_eq!(ask(token.as_bytes()), Err(Refused::BadSignature));
}

#[test]
fn times_are_minded_to_the_second() {
    let at = |now: u64, leeway_s: u64, claims: &str| {
        let rules = Rules {
            leeway_s,
            ..rules()
        };
        verify(&good(Algorithm::Hs256, claims), &keys(), &rules, now).map(|_| ())
    };
    assert_eq!(at(NOW, 0, CLAIMS), Ok(()));
    assert_eq!(at(NOW + 1, 0, CLAIMS), Err(Refused::Expired));
    assert_eq!(at(NOW + 1, 1, CLAIMS), Ok(()));
    assert_eq!(at(NOW + 2, 1, CLAIMS), Err(Refused::Expired));
    let from = r#"{"iss":"us","aud":"them","exp":1900000000,"nbf":1800000000}"#;
    assert_eq!(at(NOW - 1, 0, from), Err(Refused::NotYet));
    assert_eq!(at(NOW - 1, 1, from), Ok(()));
    assert_eq!(at(NOW, 0, from), Ok(()));
    let fraction = r#"{"iss":"us","aud":"them","exp":1800000000.9,"nbf":1799999999.1}"#;
    assert_eq!(at(NOW, 0, fraction), Err(Refused::Expired));
    let for_ever = r#"{"iss":"us","aud":"them","exp":1e300}"#;
    assert_eq!(at(u64::MAX - 1, 0, for_ever), Ok(()));
}

#[test]
fn claims_have_to_be_as_the_rules_say() {
    let cases = [
        (r#"{"iss":"us","aud":"them"}"#, Refused::NoExpiry),
        (
            r#"{"iss":"me","aud":"them","exp":1900000000}"#,
            Refused::WrongIssuer,
        ),
        (r#"{"aud":"them","exp":1900000000}"#, Refused::WrongIssuer),
        (r#"{"iss":"us","exp":1900000000}"#, Refused::WrongAudience),
        (
            r#"{"iss":"us","aud":"them ","exp":1900000000}"#,
            Refused::WrongAudience,
        ),
        (
            r#"{"iss":"us","aud":[],"exp":1900000000}"#,
            Refused::WrongAudience,
        ),
        (
            r#"{"iss":"us","aud":{"them":1},"exp":1900000000}"#,
            Refused::Malformed,
        ),
        (
            r#"{"iss":"us","aud":"them","exp":"1900000000"}"#,
            Refused::Malformed,
        ),
        (r#"{"iss":"us","aud":"them","exp":-1}"#, Refused::Malformed),
        (
            r#"{"iss":"us","aud":"them","exp":null}"#,
            Refused::Malformed,
        ),
        (
            r#"{"iss":"us","aud":"them","exp":1,"exp":1900000000}"#,
            Refused::Malformed,
        ),
        (
            r#"{"sub":"1","iss":"us","aud":"them","exp":1900000000,"s\u0075b":"2"}"#,
            Refused::Malformed,
        ),
        (
            r#"{"role":1,"iss":"us","aud":"them","exp":1900000000,"role":2}"#,
            Refused::Malformed,
        ),
        (
            r#"{"sub":42,"iss":"us","aud":"them","exp":1900000000}"#,
            Refused::Malformed,
        ),
        (r#"["iss"]"#, Refused::Malformed),
        (
            r#"{"iss":"us","aud":"them","exp":1900000000} x"#,
            Refused::Malformed,
        ),
        ("", Refused::Malformed),
    ];
    for (claims, expected) in cases {
        assert_eq!(said(claims), Err(expected), "{claims}");
    }
}

#[test]
fn further_claims_are_told_where_they_are_plain() {
    let rules = Rules {
        claims: ["role", "level", "huge", "scopes", "deep", "missing"]
            .map(String::from)
            .to_vec(),
        ..rules()
    };
    let claims = r#"{"iss":"us","aud":"them","exp":1900000000,"role":"admin","level":3,
        "huge":100000000000000000001,
        "scopes":["read","write"],"deep":{"a":1},"other":true}"#;
    let said = verify(&good(Algorithm::EdDsa, claims), &keys(), &rules, NOW).expect("it's good");
    let expected = [("role", "admin"), ("level", "3"), ("scopes", "read write")];
    let expected = expected.map(|(name, value)| (name.to_string(), value.to_string()));
    assert_eq!(said.others, expected);
}

#[test]
fn claims_that_are_judged_are_told_like_others() {
    let names = ["iss", "aud", "exp", "nbf", "iat", "jti", "sub"];
    let rules = Rules {
        claims: names.map(String::from).to_vec(),
        ..Rules::default()
    };
    let told = |claims: &str| verify(&good(Algorithm::EdDsa, claims), &keys(), &rules, NOW);
    let others = |claims: &str| {
        let said = told(claims).unwrap_or_else(|why| panic!("{claims}: {why}"));
        let named = said.others.iter();
        let named: Vec<String> = named
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        named.join(";")
    };
    assert_eq!(
        others(
            r#"{"jti":"x-1","iat":1799999999,"iss":"https://us.example","aud":["a","b"],
                "exp":1900000000.5,"nbf":0,"sub":"42"}"#
        ),
        "jti=x-1;iat=1799999999;iss=https://us.example;aud=a b;exp=1900000000.5;nbf=0"
    );
    // One audience is a text, spaces and all; in a list it would be read as two.
    let with = |member: &str| format!(r#"{{{member},"exp":1900000000}}"#);
    assert_eq!(others(&with(r#""aud":"a b""#)), "aud=a b;exp=1900000000");
    assert_eq!(others(&with(r#""aud":["a b"]"#)), "exp=1900000000");
    assert_eq!(others(&with(r#""aud":[""]"#)), "exp=1900000000");
    assert_eq!(others(&with(r#""aud":[]"#)), "aud=;exp=1900000000");
    // A time of which two could be written the same.
    assert_eq!(others(r#"{"iss":"us","exp":1e300}"#), "iss=us");
    for bad in [
        r#""iss":"a\r\nb""#,
        r#""aud":["a\u0000"]"#,
        r#""iss":"us ""#,
    ] {
        assert_eq!(told(&with(bad)), Err(Refused::Malformed), "{bad}");
    }
    // Who doesn't ask for them takes any.
    let claims = with(r#""iss":"us ""#);
    let token = good(Algorithm::EdDsa, &claims);
    let said = verify(&token, &keys(), &Rules::default(), NOW).expect("it's good");
    assert_eq!(said.others, []);
}

#[test]
fn a_token_for_another_purpose_is_refused_where_the_type_matters() {
    let asked = |header: &str, wanted: Option<&str>| {
        let rules = Rules {
            typ: wanted.map(String::from),
            ..rules()
        };
        let token = token(Algorithm::Hs256, header, CLAIMS);
        verify(&token, &keys(), &rules, NOW).map(|_| ())
    };
    let of = |typ: &str| format!(r#"{{"alg":"HS256","kid":"hs256","typ":"{typ}"}}"#);
    for wanted in ["at+jwt", "application/at+jwt", "AT+JWT"] {
        for typ in [
            "at+jwt",
            "AT+jwt",
            "application/at+jwt",
            "Application/AT+JWT",
        ] {
            assert_eq!(asked(&of(typ), Some(wanted)), Ok(()), "{typ} {wanted}");
        }
        let others = [
            "",
            "JWT",
            "at+jwt ",
            "at",
            "at+jwts",
            "text/at+jwt",
            "/at+jwt",
            "application/",
            "application/application/at+jwt",
        ];
        for typ in others {
            let said = asked(&of(typ), Some(wanted));
            assert_eq!(said, Err(Refused::WrongType), "{typ} {wanted}");
            assert_eq!(asked(&of(typ), None), Ok(()), "{typ}");
        }
    }
    let without = r#"{"alg":"HS256","kid":"hs256"}"#;
    assert_eq!(asked(without, Some("at+jwt")), Err(Refused::WrongType));
    let null = r#"{"alg":"HS256","kid":"hs256","typ":null}"#;
    assert_eq!(asked(null, Some("at+jwt")), Err(Refused::WrongType));
    let number = r#"{"alg":"HS256","kid":"hs256","typ":7}"#;
    assert_eq!(asked(number, None), Err(Refused::Malformed));
    // Nobody is told the type of a token that nobody has signed.
    let mut forged = token(Algorithm::Hs256, &of("JWT"), CLAIMS);
    let last = forged.len() - 2;
    forged[last] = if forged[last] == b'A' { b'B' } else { b'A' };
    let rules = Rules {
        typ: Some("at+jwt".into()),
        ..rules()
    };
    let said = verify(&forged, &keys(), &rules, NOW);
    assert_eq!(said, Err(Refused::BadSignature));
}

#[test]
fn a_token_that_names_no_key_is_tried_with_four_of_its_algorithm() {
    let secret = |at: u8| Key::secret(None, &[at; 32]).expect("a good key");
    let set = |before: u8| {
        let mut keys: Vec<Key> = (1..=before).map(secret).collect();
        keys.insert(0, mint::key(Algorithm::Es256, None)); // One of another doesn't count.
        keys.push(mint::key(Algorithm::Hs256, None));
        KeySet::new(keys).expect("keys without ids")
    };
    let unnamed = token(Algorithm::Hs256, r#"{"alg":"HS256"}"#, CLAIMS);
    let asked = |before: u8| verify(&unnamed, &set(before), &rules(), NOW).map(|_| ());
    assert_eq!(asked(3), Ok(()));
    assert_eq!(asked(4), Err(Refused::BadSignature));
}

#[test]
fn what_a_token_says_can_neither_end_a_field_nor_change_in_it() {
    let rules = Rules {
        claims: vec!["role".into()],
        ..rules()
    };
    let told = |member: &str| {
        let claims = format!(r#"{{"iss":"us","aud":"them","exp":1900000000,{member}}}"#);
        verify(&good(Algorithm::Hs256, &claims), &keys(), &rules, NOW)
    };
    let bad = [
        "a\\r\\nx-user: root",
        "\\u0000",
        "a\\u007f",
        "\\u0085",
        "a\\tb",
        " a",
        "a ",
        "\\u00a0a",
    ];
    for text in bad {
        for member in ["sub", "role"] {
            let member = format!(r#""{member}":"{text}""#);
            assert_eq!(told(&member), Err(Refused::Malformed), "{member}");
        }
        let member = format!(r#""role":["a\u000d{text}"]"#);
        assert!(told(&member).is_err() || told(&member).is_ok_and(|it| it.others.is_empty()));
    }
    for nobody in [
        r#""sub":"""#,
        r#""sub":7"#,
        r#""sub":null"#,
        r#""sub":"\ud800""#,
    ] {
        assert_eq!(told(nobody), Err(Refused::Malformed), "{nobody}");
    }
    // One role must not be read as two.
    for list in [r#"["a b"]"#, r#"["a",""]"#, r#"[["a"]]"#, r#"["a",null]"#] {
        let said = told(&format!(r#""role":{list}"#)).expect("it's good");
        assert_eq!(said.others, [], "{list}");
    }
    let said = told(r#""sub":"J\u00f6rg","role":["a","b"]"#).expect("it's good");
    assert_eq!(said.subject.as_deref(), Some("Jörg"));
    assert_eq!(said.others, [("role".to_owned(), "a b".to_owned())]);
}

#[test]
fn what_a_token_brings_along_is_no_key() {
    let brought = base64url(b"a secret that only the attacker knows");
    for header in [
        format!(r#"{{"alg":"HS256","kid":"hs256","jwk":{{"kty":"oct","k":"{brought}"}}}}"#),
        r#"{"alg":"HS256","kid":"hs256","jku":"https://attacker.example/"}"#.to_owned(),
        r#"{"alg":"HS256","kid":"hs256","x5c":["AAAA"]}"#.to_owned(),
    ] {
        let message = format!("{}.{}", base64url(&header), base64url(CLAIMS));
        let signature = mint::hmac_of(b"a secret that only the attacker knows", message.as_bytes());
        let token = format!("{message}.{}", base64url(signature));
        assert_eq!(
            ask(token.as_bytes()),
            Err(Refused::BadSignature),
            "{header}"
        );
    }
}

#[test]
fn a_signature_of_zeros_is_none() {
    // Some libraries took one on P-256 for a signature of anything (CVE-2022-21449).
    for algorithm in Algorithm::ALL {
        let mut token = good(algorithm, CLAIMS);
        let start = token.iter().rposition(|byte| *byte == b'.').expect("a dot") + 1;
        token[start..].fill(b'A');
        assert_eq!(ask(&token), Err(Refused::BadSignature), "{algorithm}");
        assert_eq!(
            ask(&token[..start]),
            Err(Refused::BadSignature),
            "{algorithm}"
        );
    }
}

#[test]
fn ed25519_has_two_names() {
    // RFC 8037 §3.1, RFC 9864 §2.2.
    for header in [r#"{"alg":"Ed25519"}"#, r#"{"alg":"EdDSA"}"#] {
        assert!(
            ask(&token(Algorithm::EdDsa, header, CLAIMS)).is_ok(),
            "{header}"
        );
    }
}

#[test]
fn keys_for_different_algorithms_may_share_an_id() {
    let shared = |algorithm| mint::key(algorithm, Some("k".into()));
    let keys = [Algorithm::Rs256, Algorithm::Es256].map(shared);
    let set = KeySet::new(keys.to_vec()).expect("RFC 7517 §4.5 allows it");
    let asked = |algorithm: Algorithm| {
        let header = format!(r#"{{"alg":"{algorithm}","kid":"k"}}"#);
        verify(&token(algorithm, &header, CLAIMS), &set, &rules(), NOW).map(|_| ())
    };
    assert_eq!(asked(Algorithm::Rs256), Ok(()));
    assert_eq!(asked(Algorithm::Es256), Ok(()));
    assert_eq!(asked(Algorithm::EdDsa), Err(Refused::WrongAlgorithm));
    assert_eq!(asked(Algorithm::Hs256), Err(Refused::WrongAlgorithm));
    let twice = [Algorithm::Rs256, Algorithm::Rs256].map(shared);
    assert!(KeySet::new(twice.to_vec()).is_err());
}

#[test]
fn keys_that_are_private_or_for_something_else_are_left_out() {
    let ed25519 = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let set = |member: &str| {
        let key = format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{ed25519}"{member}}}"#);
        KeySet::from_jwks(format!(r#"{{"keys":[{key}]}}"#).as_bytes(), false)
    };
    let said = set(r#","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A""#);
    let said = said.expect_err("it's private").to_string();
    assert!(
        said.contains("private key") && !said.contains("nWGx"),
        "{said}"
    );
    assert!(set(r#","key_ops":["sign"]"#).is_err());
    assert!(set(r#","key_ops":["sign","verify"],"alg":"Ed25519""#).is_ok());
    for (n, e) in [("AQAB", "AQAB"), (MODULUS, "AQ"), (MODULUS, "AQAA")] {
        let jwks = format!(r#"{{"keys":[{{"kty":"RSA","n":"{n}","e":"{e}"}}]}}"#);
        assert!(KeySet::from_jwks(jwks.as_bytes(), false).is_err(), "{e}");
    }
}

#[test]
fn headers_that_demand_more_or_say_it_twice_are_refused() {
    let cases = [
        (r#"{"alg":"HS256","crit":null}"#, Refused::Critical),
        (r#"{"alg":"HS256","cr\u0069t":["b64"]}"#, Refused::Critical),
        (r#"{"alg":"HS256","x":1,"x":1}"#, Refused::Malformed),
        (r#"{"alg":"HS256","\u0061lg":"HS256"}"#, Refused::Malformed),
        (r#"{"alg":null}"#, Refused::Malformed),
        (r#"{"alg":"HS256","kid":7}"#, Refused::Malformed),
        (
            r#"{"alg":"HS256","crit":["b64"],"b64":false}"#,
            Refused::Critical,
        ),
        (r#"{"alg":"HS256","crit":[]}"#, Refused::Critical),
        (r#"{"alg":"none","alg":"HS256"}"#, Refused::Malformed),
        (
            r#"{"alg":"HS256","kid":"hs256","kid":"rs256"}"#,
            Refused::Malformed,
        ),
        (r#"{"kid":"hs256"}"#, Refused::Malformed),
        (r#"{"alg":["HS256"]}"#, Refused::Malformed),
        (r#"{"alg":"HS256"}{}"#, Refused::Malformed),
    ];
    for (header, expected) in cases {
        let token = token(Algorithm::Hs256, header, CLAIMS);
        assert_eq!(ask(&token), Err(expected), "{header}");
    }
}

#[test]
fn what_is_no_token_is_malformed_and_what_is_too_long_is_not_looked_at() {
    let good = good(Algorithm::Hs256, CLAIMS);
    let text = String::from_utf8(good.clone()).expect("text");
    let padded = format!("{text}=");
    let spaced = text.replace('.', ". ");
    let five_parts = format!("{text}.a.b");
    for token in [
        "",
        ".",
        "..",
        "...",
        "a.b",
        "é.é.é",
        &padded,
        &spaced,
        &five_parts,
    ] {
        assert_eq!(ask(token.as_bytes()), Err(Refused::Malformed), "{token}");
    }
    let controls = [&good[..], &[0, b'\r', b'\n', 0x7f]].concat();
    assert_eq!(ask(&controls), Err(Refused::Malformed));
    let mut filled = String::from(CLAIMS);
    filled.insert_str(1, &format!(r#""fill":"{}","#, "x".repeat(5990)));
    let long = mint::good(Algorithm::Hs256, &filled);
    assert!(long.len() <= 8192 && long.len() > 8100, "{}", long.len());
    assert!(ask(&long).is_ok());
    let longer = [&long[..], &[b'A'; 100]].concat();
    assert_eq!(ask(&longer), Err(Refused::TooLong));
    let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(2000), "]".repeat(2000));
    // What nobody asked for is skipped, however deep it is.
    assert_eq!(said(&deep), Err(Refused::NoExpiry));
}

#[test]
fn a_set_of_keys_is_read_as_it_is_fetched() {
    // RFC 7517, appendix A.1, with the key of RFC 8037, appendix A.2, and what isn't known here.
    let jwks = r#"{"keys":[
        {"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
         "y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"enc","kid":"1"},
        {"kty":"RSA","n":"MODULUS",
         "e":"AQAB","alg":"RS256","kid":"2011-04-29"},
        {"kty":"OKP","crv":"Ed25519","kid":"8037",
         "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
        {"kty":"RSA","n":"0vx7","e":"AQAB"},
        {"kty":"oct","k":
         "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"},
        {"kty":"RSA","n":"AQAB","e":"AQAB","alg":"RS512"},
        {"kty":"new"}, 7]}"#;
    let jwks = jwks.replace("MODULUS", MODULUS);
    let (set, skipped) = KeySet::from_jwks(jwks.as_bytes(), false).expect("two can be used");
    let ids: Vec<_> = set
        .keys()
        .iter()
        .map(|key| (key.id(), key.algorithm()))
        .collect();
    let expected = [
        (Some("2011-04-29"), Algorithm::Rs256),
        (Some("8037"), Algorithm::EdDsa),
    ];
    assert_eq!(ids, expected);
    let skipped: Vec<_> = skipped.iter().map(ToString::to_string).collect();
    assert_eq!(skipped.len(), 5, "{skipped:?}");
    assert!(
        skipped[0].starts_with("key 4: an RSA key has 2048 to 8192 bits"),
        "{}",
        skipped[0]
    );
    assert!(
        skipped[1].starts_with("key 5: it's a secret"),
        "{}",
        skipped[1]
    );
    // RFC 8037, appendix A.4: signed by that key, though its payload is no claims.
    let token = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.\
        hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    assert_eq!(
        verify(token, &set, &Rules::default(), 0),
        Err(Refused::Malformed)
    );
    let mut changed = token.to_vec();
    changed[25] = b'Y';
    assert_eq!(
        verify(&changed, &set, &Rules::default(), 0),
        Err(Refused::BadSignature)
    );
}

#[test]
fn of_two_keys_with_one_id_the_second_is_left_out() {
    let jwks = r#"{"keys":[
        {"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
        {"kty":"OKP","crv":"Ed25519","kid":"a","x":"s4wiYUI33cM57m4a1ycInu4pqGpjSQe8Res6t1Okxrc"},
        {"kty":"OKP","crv":"Ed25519","kid":"b","x":"s4wiYUI33cM57m4a1ycInu4pqGpjSQe8Res6t1Okxrc"}
        ]}"#;
    let (set, skipped) = KeySet::from_jwks(jwks.as_bytes(), false).expect("two can be used");
    let ids: Vec<_> = set.keys().iter().map(token::Key::id).collect();
    assert_eq!(ids, [Some("a"), Some("b")]);
    let skipped: Vec<_> = skipped.iter().map(ToString::to_string).collect();
    assert_eq!(
        skipped,
        ["key 2: a key before it is for EdDSA, too, and has the same id"]
    );
}

#[test]
fn keys_that_are_none_say_what_is_wrong_with_them() {
    let pem = |text: &str| Key::from_pem(None, text).expect_err("no key").to_string();
    let weak = pem(include_str!("keys/weak.public.pem"));
    assert!(
        weak.contains("2048 to 8192 bits") && weak.contains("1024"),
        "{weak}"
    );
    let curve = pem(include_str!("keys/p384.public.pem"));
    assert!(curve.contains("P-256"), "{curve}");
    let private = pem(include_str!("keys/rsa.private.pem"));
    assert!(private.contains("-pubout"), "{private}");
    let short = Key::secret(None, b"too short")
        .expect_err("no key")
        .to_string();
    assert!(
        short.contains("32 bytes") && short.contains("has 9"),
        "{short}"
    );
    for text in ["", "{}", r#"{"keys":[{"kty":"x"}]}"#, "nonsense"] {
        assert!(KeySet::from_jwks(text.as_bytes(), true).is_err(), "{text}");
    }
    let (none, _) = KeySet::from_jwks(br#"{"keys":[]}"#, true).expect("a set without keys is one");
    assert!(none.keys().is_empty());
}

#[test]
fn neither_a_key_nor_a_refusal_shows_a_secret() {
    let shown = format!("{:?}", keys());
    assert!(!shown.contains("secret of these tests"), "{shown}");
    for refused in Refused::ALL {
        let challenge = refused.challenge();
        assert!(
            challenge.is_ascii() && !challenge.contains(['\r', '\n']),
            "{challenge}"
        );
        assert!(
            refused
                .name()
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        );
    }
}
