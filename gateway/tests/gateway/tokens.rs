//! Tokens: who gets through, what the upstream is told, and where the keys come from.

use std::path::PathBuf;
use std::sync::Mutex;

use measure::time::unix_seconds;
use token::Algorithm;

use super::mint::{ED25519_PUBLIC, P256_PUBLIC, RSA_PUBLIC, SECRET, base64url, good, pem, token};
use super::support::{Do, Gateway, Origin, PATIENCE, Said, in_front_of, on_each_engine, values};

/// A folder with the keys of all algorithms, and what a configuration says of them.
struct Keys {
    folder: tempfile::TempDir,
}

impl Keys {
    fn new() -> Keys {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = Keys { folder };
        keys.write("hs256", &String::from_utf8_lossy(SECRET));
        keys.write("rs256", RSA_PUBLIC);
        keys.write("es256", P256_PUBLIC);
        keys.write("eddsa", ED25519_PUBLIC);
        keys
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("a file of our own");
        path
    }

    /// A table of tokens with these keys.
    fn table(&self, more: &str) -> String {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        format!(
            "[token.main]\nkeys = [{{ id = \"hs256\", secret_file = \"{}\" }},\n\
             {{ id = \"rs256\", file = \"{}\" }}, {{ id = \"es256\", file = \"{}\" }},\n\
             {{ id = \"eddsa\", file = \"{}\" }}]\n{more}\n",
            path("hs256"),
            path("rs256"),
            path("es256"),
            path("eddsa"),
        )
    }
}

fn claims(more: &str) -> String {
    let until = unix_seconds() + 3600;
    format!(r#"{{"sub":"alice","exp":{until}{more}}}"#)
}

fn with(gateway: &Gateway, token: &[u8]) -> Said {
    let token = String::from_utf8_lossy(token);
    gateway.ask(&format!(
        "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n"
    ))
}

fn behind(origin: &Origin, table: &str) -> String {
    format!(
        "{table}{}token = \"main\"\n",
        in_front_of(&[origin.address], "")
    )
}

#[test]
fn a_good_token_of_each_algorithm_gets_through_and_its_claims_become_fields() {
    on_each_engine(|engine| {
        let keys = Keys::new();
        let fields = "fields = { x-user = \"sub\", X-Role = \"role\", x-odd = \"odd\" }";
        let origin = Origin::named("ok");
        let gateway = Gateway::on(engine, &behind(&origin, &keys.table(fields)));
        let said = claims(r#","role":["a","b"],"odd":"x%0D y""#);
        for algorithm in Algorithm::ALL {
            // The second time it's remembered, and means the same.
            for _ in 0..2 {
                assert_eq!(
                    with(&gateway, &good(algorithm, &said)).status,
                    200,
                    "{algorithm}"
                );
            }
        }
        for seen in origin.seen() {
            assert_eq!(
                (seen.field("x-user"), seen.field("x-role")),
                (Some("alice"), Some("a b"))
            );
            assert_eq!(seen.field("x-odd"), Some("x%250D y"), "{}", seen.head);
            assert!(seen.field("authorization").is_some());
        }
        assert_eq!(origin.seen().len(), 8);
        // What would begin another field is in no token that is good.
        let lines = claims(r#","odd":"x\r\ny: z""#);
        assert_eq!(with(&gateway, &good(Algorithm::Hs256, &lines)).status, 401);
    });
}

#[test]
fn registered_claims_become_fields_and_the_type_is_minded() {
    let keys = Keys::new();
    let table = keys.table(
        "typ = \"at+jwt\"\n\
         fields = { x-iss = \"iss\", x-aud = \"aud\", x-exp = \"exp\", x-nbf = \"nbf\", \
         x-iat = \"iat\", x-jti = \"jti\" }",
    );
    let origin = Origin::named("ok");
    let gateway = Gateway::start(&behind(&origin, &table));
    let until = unix_seconds() + 3600;
    let said = format!(
        r#"{{"iss":"https://us.example","aud":["a","b"],"exp":{until},"nbf":1.5,"iat":2,
            "jti":"7"}}"#
    );
    let of = |typ: &str| {
        let header = format!(r#"{{"alg":"EdDSA","kid":"eddsa","typ":"{typ}"}}"#);
        token(Algorithm::EdDsa, &header, &said)
    };
    assert_eq!(with(&gateway, &of("application/AT+JWT")).status, 200);
    let seen = &origin.seen()[0];
    let until = until.to_string();
    let expected = [
        ("x-iss", "https://us.example"),
        ("x-aud", "a b"),
        ("x-exp", &*until),
        ("x-nbf", "1.5"),
        ("x-iat", "2"),
        ("x-jti", "7"),
    ];
    for (field, value) in expected {
        assert_eq!(seen.field(field), Some(value), "{}", seen.head);
    }
    // An ID token of the same issuer opens nothing (RFC 9068 §5).
    let refused = with(&gateway, &of("JWT"));
    assert_eq!(refused.status, 401);
    assert!(
        refused.text().contains("of another type"),
        "{}",
        refused.text()
    );
}

#[test]
fn what_clients_say_about_themselves_is_dropped_on_every_route() {
    let keys = Keys::new();
    let table = keys.table(
        "fields = { x-user = \"sub\" }\npass_on = false\n\
                            [token.main.users.alice]\nfields = { x-plan = \"gold\" }",
    );
    let origin = Origin::named("ok");
    let open = "[[route]]\npath = \"/open\"\nupstream = \"a\"\n";
    let gateway = Gateway::start(&format!("{}{open}", behind(&origin, &table)));
    let spoofed = "X-User: root\r\nX_User: root\r\nx-plan: platinum\r\n";
    let token = good(Algorithm::EdDsa, &claims(""));
    let token = String::from_utf8(token).expect("text");
    let said = gateway.ask(&format!(
        "GET / HTTP/1.1\r\nHost: a\r\n{spoofed}Authorization: bearer {token}\r\n\r\n"
    ));
    assert_eq!(said.status, 200, "{said:?}");
    gateway.ask(&format!("GET /open HTTP/1.1\r\nHost: a\r\n{spoofed}\r\n"));
    let seen = origin.seen();
    assert_eq!(values(&seen[0].head, "x-user"), ["alice"]);
    assert_eq!(values(&seen[0].head, "x-plan"), ["gold"]);
    assert_eq!(seen[0].field("authorization"), None);
    assert!(!seen[0].head.contains("root") && !seen[1].head.contains("root"));
    assert_eq!(values(&seen[1].head, "x-plan"), Vec::<&str>::new());
}

/// Bad tokens, and what is said about each; `right` are the claims of a good one.
fn bad(right: &str) -> Vec<(Vec<u8>, &'static str)> {
    let now = unix_seconds();
    let of = |claims: &str| good(Algorithm::Hs256, claims);
    let unsigned = format!("{}.{}.", base64url(r#"{"alg":"none"}"#), base64url(right));
    // A public key of RS256 as the secret of HS256 (RFC 8725 §2.1).
    let confused = {
        let message = format!(
            "{}.{}",
            base64url(r#"{"alg":"HS256","kid":"rs256"}"#),
            base64url(right)
        );
        let signature = super::mint::hmac_of(RSA_PUBLIC.as_bytes(), message.as_bytes());
        format!("{message}.{}", base64url(signature))
    };
    let mut changed = of(right);
    let middle = changed.len() / 2;
    changed[middle] = if changed[middle] == b'A' { b'B' } else { b'A' };
    let unknown = token(Algorithm::Hs256, r#"{"alg":"HS256","kid":"nobody"}"#, right);
    let expired = format!(r#"{{"sub":"a","iss":"us","aud":"them","exp":{}}}"#, now - 1);
    let early = format!(
        r#"{{"sub":"a","iss":"us","aud":"them","exp":{},"nbf":{}}}"#,
        now + 7200,
        now + 3600
    );
    vec![
        (unsigned.into_bytes(), "algorithm is not accepted"),
        (confused.into_bytes(), "for another algorithm"),
        (changed, "token"),
        (unknown, "no known key"),
        (of(&expired), "has expired"),
        (of(&early), "not valid yet"),
        (of(&claims(r#","aud":"them""#)), "another issuer"),
        (
            of(&claims(r#","iss":"us","aud":"you""#)),
            "another audience",
        ),
        (
            of(r#"{"sub":"a","iss":"us","aud":"them"}"#),
            "does not expire",
        ),
        (b"abc".to_vec(), "malformed"),
        (b"a.b.c".to_vec(), "malformed"),
        (vec![b'x'; 9000], "too long"),
    ]
}

#[test]
fn a_bad_token_is_refused_whatever_is_wrong_with_it() {
    let keys = Keys::new();
    let rules = "issuer = \"us\"\naudiences = [\"them\"]";
    let origin = Origin::named("ok");
    let gateway = Gateway::start(&behind(&origin, &keys.table(rules)));
    let right = claims(r#","iss":"us","aud":"them""#);
    let of = |claims: &str| good(Algorithm::Hs256, claims);
    assert_eq!(with(&gateway, &of(&right)).status, 200);
    for (token, why) in bad(&right) {
        let shown = String::from_utf8_lossy(&token[..token.len().min(40)]).into_owned();
        // Twice: what is remembered of it is the same.
        for _ in 0..2 {
            let said = with(&gateway, &token);
            assert_eq!(said.status, 401, "{shown}: {said:?}");
            assert!(said.text().contains(why), "{shown}: {}", said.text());
            let challenge = said.field("www-authenticate").expect("it says how");
            assert!(
                challenge.starts_with("bearer error=\"invalid_token\""),
                "{challenge}"
            );
        }
    }
    let absent = gateway.get("/");
    assert_eq!(
        (absent.status, absent.field("www-authenticate")),
        (401, Some("bearer"))
    );
    let basic = "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YTpi\r\n\r\n";
    assert_eq!(gateway.ask(basic).status, 401);
    let right = String::from_utf8(of(&right)).expect("text");
    let twice = format!("Authorization: Bearer {right}\r\n").repeat(2);
    assert_eq!(
        gateway
            .ask(&format!("GET / HTTP/1.1\r\nHost: a\r\n{twice}\r\n"))
            .status,
        401
    );
    assert_eq!(origin.seen().len(), 1, "only the good one got through");
}

#[test]
fn only_users_that_are_known_get_through_and_another_file_bars_one_at_once() {
    let keys = Keys::new();
    let file = |disabled: bool| {
        keys.write(
            "users.toml",
            &format!("[alice]\ndisabled = {disabled}\n[bob]\nfields = {{ x-plan = \"gold\" }}\n"),
        )
    };
    let path = file(false).display().to_string();
    let table = keys.table(&format!("users_file = \"{path}\""));
    let origin = Origin::named("ok");
    let text = behind(&origin, &table);
    let gateway = Gateway::start(&text);
    let of = |name: &str| {
        let claims = claims("").replace("alice", name);
        good(Algorithm::Es256, &claims)
    };
    let (alice, bob) = (of("alice"), of("bob"));
    assert_eq!(
        (with(&gateway, &alice).status, with(&gateway, &bob).status),
        (200, 200)
    );
    assert_eq!(with(&gateway, &of("eve")).status, 403);
    assert_eq!(origin.seen()[1].field("x-plan"), Some("gold"));
    file(true);
    let listen = "[listen]\naddress = \"127.0.0.1:0\"\n";
    let next = gateway::Config::of("test", &format!("{listen}{text}")).expect("it's in order");
    gateway
        .running()
        .exchange()
        .put(next)
        .expect("no thread is needed");
    assert_eq!(
        (with(&gateway, &alice).status, with(&gateway, &bob).status),
        (403, 200)
    );
}

#[test]
fn another_proxy_has_the_gateway_decide() {
    let keys = Keys::new();
    let table = keys.table("fields = { x-user = \"sub\" }\ncookie = \"session\"");
    let gateway = Gateway::start(&format!(
        "{table}[[route]]\npath = \"/auth/verify\"\ntoken = \"main\"\nanswer = {{ status = 204 }}\n"
    ));
    let ask = |cookie: &str| {
        gateway.ask(&format!(
            "GET /auth/verify HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\n\r\n"
        ))
    };
    let token = good(Algorithm::Hs256, &claims("").replace("alice", "Al"));
    let token = String::from_utf8(token).expect("text");
    let said = ask(&format!("a=b; session={token}; c=d"));
    assert_eq!(
        (said.status, said.field("x-user")),
        (204, Some("al")),
        "heads are in lower case"
    );
    assert_eq!(ask("session=x").status, 401);
    assert_eq!(ask("a=b").status, 401);
    assert_eq!(
        ask(&format!("session={token}; session={token}")).status,
        401
    );
}

#[test]
fn a_subject_has_a_rate_of_its_own() {
    let keys = Keys::new();
    let origin = Origin::named("ok");
    let rates = "rates = [{ key = \"subject\", per_second = 0.001, burst = 2 }]\n";
    let gateway = Gateway::start(&format!("{}{rates}", behind(&origin, &keys.table(""))));
    let of = |name: &str, at: u32| {
        let more = format!(",\"jti\":\"{at}\"");
        good(Algorithm::Hs256, &claims(&more).replace("alice", name))
    };
    let statuses: Vec<u16> = (0..3)
        .map(|at| with(&gateway, &of("alice", at)).status)
        .collect();
    assert_eq!(statuses, [200, 200, 429]);
    assert_eq!(with(&gateway, &of("bob", 0)).status, 200);
}

/// A JWK set with the key of ES256 (RFC 7518 §6.2).
pub(crate) fn jwks() -> String {
    let der = pem(P256_PUBLIC);
    let point = &der[der.len() - 64..];
    format!(
        r#"{{"keys":[{{"kty":"EC","crv":"P-256","kid":"es256","x":"{}","y":"{}"}}]}}"#,
        base64url(&point[..32]),
        base64url(&point[32..])
    )
}

/// A good token for it.
pub(crate) fn signed_by_es256() -> Vec<u8> {
    good(Algorithm::Es256, &claims(""))
}

pub(crate) fn remote(origin: &Origin, keys: &Origin) -> String {
    format!(
        "[upstream.keys]\nservers = [\"{}\"]\n\
         [token.main]\nremote = {{ upstream = \"keys\", path = \"/jwks\", refresh = \"1h\" }}\n{}",
        keys.address,
        behind(origin, "")
    )
}

/// Asks until the answer has this status.
fn until(gateway: &Gateway, token: &[u8], status: u16) {
    let until = measure::time::Time::now() + PATIENCE;
    loop {
        let said = with(gateway, token);
        if said.status == status {
            return;
        }
        assert!(measure::time::Time::now() < until, "{said:?}");
        std::thread::yield_now();
    }
}

#[test]
fn keys_are_fetched_ahead_and_a_request_never_waits_for_them() {
    on_each_engine(|engine| {
        let origin = Origin::named("ok");
        let token = good(Algorithm::Es256, &claims(""));
        // One that hangs: nobody gets through, and nobody waits.
        let hanging = Origin::new(|_| Do::SayAndHang(Vec::new()));
        let gateway = Gateway::on(engine, &remote(&origin, &hanging));
        hanging.wait_for(1);
        let said = with(&gateway, &token);
        assert_eq!((said.status, said.field("retry-after")), (503, Some("1")));
        assert_eq!(gateway.get("/").status, 401);
        drop(gateway);
        let serving = Origin::new(|seen| match seen.line() {
            "GET /jwks HTTP/1.1" => Do::answer(&jwks()),
            _ => Do::status(404),
        });
        let gateway = Gateway::on(engine, &remote(&origin, &serving));
        assert_eq!(with(&gateway, &token).status, 200, "the first request");
        assert_eq!(
            with(&gateway, &good(Algorithm::Rs256, &claims(""))).status,
            401
        );
        assert_eq!(serving.seen().len(), 1);
        assert_eq!(serving.seen()[0].field("host"), Some("keys"));
        // Another configuration keeps what was fetched.
        let listen = "[listen]\naddress = \"127.0.0.1:0\"\n";
        let text = format!("{listen}{}", remote(&origin, &serving));
        let next = gateway::Config::of("test", &text).expect("it's in order");
        gateway
            .running()
            .exchange()
            .put(next)
            .expect("no thread is needed");
        assert_eq!(with(&gateway, &token).status, 200);
        assert_eq!(serving.seen().len(), 1);
        // Where the keys are served by others now, those are asked at once, and decide.
        let others = Origin::new(|_| Do::answer("{\"keys\":[]}"));
        let text = format!("{listen}{}", remote(&origin, &others));
        let next = gateway::Config::of("test", &text).expect("it's in order");
        let exchange = gateway.running().exchange();
        exchange.put(next).expect("no thread is needed");
        others.wait_for(1);
        until(&gateway, &token, 401);
    });
}

#[test]
fn keys_that_cannot_be_used_leave_those_before() {
    static SAID: Mutex<u32> = Mutex::new(0);
    let origin = Origin::named("ok");
    let serving = Origin::new(|_| {
        let mut said = SAID.lock().expect("no panic");
        *said += 1;
        match *said {
            1 => Do::answer(&jwks()),
            2 => Do::status(500),
            _ => Do::answer("{\"keys\":[{\"kty\":\"none\"}]}"),
        }
    });
    let text = remote(&origin, &serving).replace("1h", "1ms");
    let gateway = Gateway::start(&text);
    let token = good(Algorithm::Es256, &claims(""));
    until(&gateway, &token, 200);
    serving.wait_for(3);
    assert_eq!(with(&gateway, &token).status, 200);
}
