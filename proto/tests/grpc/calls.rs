//! The head of a call in either role: fields, deadlines, metadata.

use std::time::Duration;

use proto::grpc::call::{Call, CallSpec, Compression, Head, Refusal};
use proto::grpc::{
    Status, decode_binary, decode_timeout, encode_binary, encode_timeout, is_content_type,
};

const SPEC: CallSpec<'_> = CallSpec {
    scheme: "http",
    authority: "localhost:50051",
    path: "/ringside.Echo/Echo",
    timeout: Some(Duration::from_millis(100)),
    compression: Compression {
        sends: false,
        accepts: false,
    },
    metadata: &[],
};

const HEAD: Head<'_> = Head {
    http_method: b"POST",
    path: b"/ringside.Echo/Echo",
    content_type: Some(b"application/grpc"),
    timeout: None,
    encoding: None,
    accept_encoding: None,
};

#[test]
fn a_call_is_written_as_the_standard_orders_it() {
    let spec = CallSpec {
        metadata: &[("X-Trace", b" abc "), ("key-bin", b"\0\xff\xfe")],
        ..SPEC
    };
    let fields = spec.fields().expect("a call");
    let text: Vec<_> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", value.escape_ascii()))
        .collect();
    let expected = [
        ":method=POST",
        ":scheme=http",
        ":path=/ringside.Echo/Echo",
        ":authority=localhost:50051",
        "te=trailers",
        "grpc-timeout=100m",
        "content-type=application/grpc",
        "x-trace=abc",
        "key-bin=AP/+",
    ];
    assert_eq!(text, expected);
}

#[test]
fn what_cannot_be_sent_is_refused_with_a_reason() {
    for path in ["", "/", "/a", "a/b", "//b", "/a/"] {
        let refused = CallSpec { path, ..SPEC }.fields();
        assert!(refused.is_err_and(|e| e.to_string().contains("/package.Service/Method")));
    }
    let cases: [(&str, &[u8], &str); 8] = [
        ("", b"x", "other characters"),
        ("a b", b"x", "other characters"),
        (":path", b"x", "other characters"),
        ("ä", b"x", "other characters"),
        ("grpc-timeout", b"1S", "gRPC itself"),
        ("Content-Type", b"x", "gRPC itself"),
        ("key", b"a\nb", "printable ASCII"),
        ("key", "ä".as_bytes(), "printable ASCII"),
    ];
    for (name, value, reason) in cases {
        let metadata = &[(name, value)];
        let refused = CallSpec { metadata, ..SPEC }.fields();
        assert!(
            refused.is_err_and(|e| e.to_string().contains(reason)),
            "{name:?}"
        );
    }
}

#[test]
fn a_server_reads_what_a_client_wrote() {
    for (sends, accepts) in [(false, false), (true, true), (false, true), (true, false)] {
        reads_what_was_written(Compression { sends, accepts });
    }
}

fn reads_what_was_written(compression: Compression) {
    let spec = CallSpec {
        compression,
        ..SPEC
    };
    let fields = spec.fields().expect("a call");
    let field = |name: &str| {
        let found = fields.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| &value[..])
    };
    let head = Head {
        http_method: field(":method").unwrap_or_default(),
        path: field(":path").unwrap_or_default(),
        content_type: field("content-type"),
        timeout: field("grpc-timeout"),
        encoding: field("grpc-encoding"),
        accept_encoding: field("grpc-accept-encoding"),
    };
    let call = Call {
        service: b"ringside.Echo",
        method: b"Echo",
        timeout: SPEC.timeout,
        compression,
    };
    assert_eq!(head.call(), Ok(call));
}

#[test]
fn a_client_takes_gzip_if_it_is_in_its_list() {
    for (list, accepts) in [
        (&b"gzip"[..], true),
        (b"identity, deflate, gzip", true),
        (b"identity,gzip", true),
        (b"identity", false),
        (b"x-gzip", false),
        (b"", false),
    ] {
        let accept_encoding = Some(list);
        let call = Head {
            accept_encoding,
            ..HEAD
        }
        .call();
        let found = call.map(|call| call.compression.accepts);
        assert_eq!(found, Ok(accepts), "{}", list.escape_ascii());
    }
}

#[test]
fn what_is_no_call_is_answered_as_the_standard_says() {
    let status = |status| move |refusal| matches!(refusal, Refusal::Status(s, _) if s == status);
    let http = |code| move |refusal| refusal == Refusal::Http(code);
    let unimplemented = status(Status::Unimplemented);

    let none = Head {
        content_type: None,
        ..HEAD
    };
    assert!(none.call().is_err_and(http(415)));
    let json = Head {
        content_type: Some(b"application/json"),
        ..HEAD
    };
    assert!(json.call().is_err_and(http(415)));
    let get = Head {
        http_method: b"GET",
        ..HEAD
    };
    assert!(get.call().is_err_and(http(405)));
    for path in [&b"/"[..], b"/a", b"a/b", b"/a/", b"*"] {
        assert!(Head { path, ..HEAD }.call().is_err_and(unimplemented));
    }
    for encoding in [&b"br"[..], b"deflate", b"GZIP", b"gzip, gzip", b""] {
        let encoding = Some(encoding);
        assert!(Head { encoding, ..HEAD }.call().is_err_and(unimplemented));
    }
    let identity = Head {
        encoding: Some(b"identity"),
        ..HEAD
    };
    assert!(identity.call().is_ok());
    let timeout = Head {
        timeout: Some(b"soon"),
        ..HEAD
    };
    assert!(timeout.call().is_err_and(status(Status::Internal)));
}

#[test]
fn the_name_of_a_service_may_have_slashes() {
    let call = Head {
        path: b"/a/b/Method",
        ..HEAD
    }
    .call();
    assert!(call.is_ok_and(|call| call.service == b"a/b" && call.method == b"Method"));
}

#[test]
fn content_types_of_grpc_are_told_from_others() {
    let yes = [
        "application/grpc",
        "application/grpc+proto",
        "Application/gRPC",
        "application/grpc;a",
    ];
    let no = [
        "",
        "application/grp",
        "application/grpc-web",
        "application/grpcx",
        "text/plain",
    ];
    for value in yes {
        assert!(is_content_type(value.as_bytes()), "{value}");
    }
    for value in no {
        assert!(!is_content_type(value.as_bytes()), "{value}");
    }
}

#[test]
fn timeouts_are_exact_where_eight_digits_suffice() {
    let cases = [
        (Duration::from_millis(100), "100m"),
        (Duration::from_millis(1500), "1500m"),
        (Duration::from_secs(1), "1S"),
        (Duration::from_secs(90), "90S"),
        (Duration::from_secs(120), "2M"),
        (Duration::from_secs(3600), "1H"),
        (Duration::from_micros(5), "5u"),
        (Duration::from_nanos(1), "1n"),
        (Duration::from_nanos(99_999_999), "99999999n"),
        // A positive number is demanded, and one not shorter than what was meant.
        (Duration::ZERO, "1n"),
        (Duration::from_nanos(100_000_001), "100001u"),
        (Duration::new(100, 1), "100001m"),
        (Duration::new(86_400, 1), "86400001m"),
        (Duration::new(172_800, 1), "172801S"),
        (Duration::MAX, "99999999H"),
    ];
    for (timeout, expected) in cases {
        assert_eq!(encode_timeout(timeout), expected);
        let read = decode_timeout(expected.as_bytes()).expect("our own value");
        assert!(read >= timeout.min(Duration::from_secs(99_999_999 * 3600)));
    }
}

#[test]
fn malformed_timeouts_are_none() {
    assert_eq!(decode_timeout(b"0S"), Some(Duration::ZERO));
    assert_eq!(decode_timeout(b"00000001u"), Some(Duration::from_micros(1)));
    assert_eq!(decode_timeout(b"2M"), Some(Duration::from_secs(120)));
    for value in [
        "",
        "S",
        "1",
        "1s",
        "1 S",
        "-1S",
        "+1S",
        "123456789n",
        "1SS",
        "1.5S",
        "ä",
    ] {
        assert_eq!(decode_timeout(value.as_bytes()), None, "{value}");
    }
}

#[test]
fn binary_metadata_is_read_with_and_without_padding_and_in_lists() {
    for length in 0..8 {
        let bytes: Vec<u8> = (0..length).map(|n| 255 - n * 36).collect();
        let value = encode_binary(&bytes);
        assert!(!value.contains('='));
        assert_eq!(decode_binary(value.as_bytes()), Some(vec![bytes]));
    }
    let list = decode_binary(b"AQ==, AQI,AQ");
    assert_eq!(list, Some(vec![vec![1], vec![1, 2], vec![1]]));
    assert_eq!(decode_binary(b"A"), None);
    assert_eq!(decode_binary(b"AQ,!"), None);
}
