//! The status of a call, from all the places it may come from, and its text.

use proto::grpc::{Status, decode_message, encode_message};

#[test]
fn names_and_numbers_are_those_of_the_documents() {
    let names: Vec<_> = Status::ALL.iter().map(|status| status.name()).collect();
    let expected = "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND \
        ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED \
        OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED";
    assert_eq!(names.join(" "), expected);
    for (number, status) in Status::ALL.into_iter().enumerate() {
        assert_eq!(status as usize, number);
        assert_eq!(status.text(), number.to_string());
        assert_eq!(Status::parse(status.text().as_bytes()), status);
        assert_eq!(Status::of_number(number), Some(status));
    }
    assert_eq!(Status::of_number(17), None);
}

#[test]
fn a_number_that_is_none_of_them_is_unknown() {
    for value in [
        &b"17"[..],
        b"99",
        b"",
        b"-1",
        b"00",
        b"07",
        b" 0",
        b"0 ",
        b"OK",
        b"160",
        b"1:",
    ] {
        assert_eq!(
            Status::parse(value),
            Status::Unknown,
            "{}",
            value.escape_ascii()
        );
    }
}

#[test]
fn a_head_says_how_the_call_ended_or_that_trailers_will() {
    type Text = Option<&'static [u8]>;
    const GRPC: Text = Some(b"application/grpc");
    const PROTO: Text = Some(b"application/grpc+proto");
    const HTML: Text = Some(b"text/html");
    let cases: [(u16, Text, Text, bool, Option<Status>); 14] = [
        // A response that goes on.
        (200, GRPC, None, false, None),
        (200, PROTO, None, false, None),
        (200, GRPC, Some(b"0"), false, None),
        // Trailers-Only.
        (200, GRPC, Some(b"0"), true, Some(Status::Ok)),
        (200, GRPC, Some(b"12"), true, Some(Status::Unimplemented)),
        (200, None, Some(b"5"), true, Some(Status::NotFound)),
        (503, HTML, Some(b"8"), true, Some(Status::ResourceExhausted)),
        // No gRPC at all.
        (200, GRPC, None, true, Some(Status::Unknown)),
        (200, HTML, None, false, Some(Status::Unknown)),
        (200, None, None, false, Some(Status::Unknown)),
        (404, HTML, None, false, Some(Status::Unimplemented)),
        (503, GRPC, None, false, Some(Status::Unavailable)),
        (401, None, None, true, Some(Status::Unauthenticated)),
        (302, None, None, true, Some(Status::Unknown)),
    ];
    for (http, content_type, status, end, expected) in cases {
        let said = Status::of_head(http, content_type, status, end);
        assert_eq!(said, expected, "{http} {content_type:?} {status:?} {end}");
    }
}

#[test]
fn trailers_without_a_status_are_unknown() {
    assert_eq!(Status::of_trailers(Some(b"0")), Status::Ok);
    assert_eq!(Status::of_trailers(Some(b"4")), Status::DeadlineExceeded);
    assert_eq!(Status::of_trailers(Some(b"")), Status::Unknown);
    assert_eq!(Status::of_trailers(None), Status::Unknown);
}

#[test]
fn http_and_resets_map_as_the_documents_say() {
    let http = [
        (400, Status::Internal),
        (401, Status::Unauthenticated),
        (403, Status::PermissionDenied),
        (404, Status::Unimplemented),
        (429, Status::Unavailable),
        (502, Status::Unavailable),
        (503, Status::Unavailable),
        (504, Status::Unavailable),
        (200, Status::Unknown),
        (500, Status::Unknown),
    ];
    for (status, expected) in http {
        assert_eq!(Status::of_http(status), expected, "{status}");
    }
    let resets = [
        (0x0, Status::Internal),
        (0x1, Status::Internal),
        (0x2, Status::Internal),
        (0x7, Status::Unavailable),
        (0x8, Status::Cancelled),
        (0xb, Status::ResourceExhausted),
        (0xc, Status::PermissionDenied),
        (0xd, Status::Unknown),
        (u32::MAX, Status::Unknown),
    ];
    for (code, expected) in resets {
        assert_eq!(Status::of_reset(code), expected, "{code}");
    }
}

#[test]
fn text_of_every_kind_comes_back() {
    let cases = [
        ("", ""),
        ("plain text, with: marks ~", "plain text, with: marks ~"),
        ("100% sure", "100%25 sure"),
        ("tab\tand\nlines\r", "tab%09and%0Alines%0D"),
        ("\u{7f}", "%7F"),
        ("ä€😈", "%C3%A4%E2%82%AC%F0%9F%98%88"),
    ];
    for (text, value) in cases {
        let mut out = Vec::new();
        encode_message(text, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), value);
        assert_eq!(decode_message(&out), text);
    }
}

#[test]
fn text_that_is_badly_encoded_is_shown_as_it_is() {
    let cases: [(&[u8], &str); 8] = [
        (b"%", "%"),
        (b"%4", "%4"),
        (b"%zz", "%zz"),
        (b"%+1", "%+1"),
        (b"%%41", "%A"),
        (b"a%e2%82%acb", "a€b"),
        (b"\xc3\xa4", "ä"),
        (b"%ff", "\u{fffd}"),
    ];
    for (value, text) in cases {
        assert_eq!(decode_message(value), text);
    }
}
