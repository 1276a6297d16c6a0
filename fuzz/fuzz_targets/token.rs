//! Tokens and sets of keys from outside: nothing panics, and no token is good that nobody signed.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use token::{Key, KeySet, Rules, verify};

/// A secret that the fuzzer doesn't know, and public keys, whose other halves nobody has.
static KEYS: LazyLock<KeySet> = LazyLock::new(|| {
    let pem = |text: &str| Key::from_pem(None, text).expect("a key");
    let keys = vec![
        Key::secret(Some("hs".into()), &[0xa5; 40]).expect("a key"),
        pem(include_str!("../support/keys/rsa.pem")),
        pem(include_str!("../support/keys/p256.pem")),
        pem(include_str!("../support/keys/ed25519.pem")),
    ];
    KeySet::new(keys).expect("four keys")
});

fuzz_target!(|data: &[u8]| {
    let rules = Rules {
        claims: vec!["role".into()],
        ..Rules::default()
    };
    assert!(
        verify(data, &KEYS, &rules, 0).is_err(),
        "nobody has signed this"
    );
    // Keys of the fuzzer's own may sign whatever they like, without a panic.
    let mut parts = data.splitn(2, |byte| *byte == 0);
    if let (Some(set), Some(token)) = (parts.next(), parts.next())
        && let Ok((keys, _)) = KeySet::from_jwks(set, true)
        && let Ok(claims) = verify(token, &keys, &rules, 1_000)
    {
        assert!(claims.expires_at > 1_000);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Key::from_pem(None, text);
    }
});
