//! Servers that answer with what would command a terminal: whatever is said of them is words.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::child::{Ended, Folder, assert_says, ringside};

/// A title for the terminal, a cleared screen, C1's CSI, a turned text, a hidden one:
/// percent-encoded, as grpc-message is.
const ENCODED: &str = "%1B]0;owned%07%1B[2J%C2%9B2J%E2%80%AEtxt%E2%80%8B";
/// The same as bytes.
const RAW: &str = "\x1b]0;owned\x07\x1b[2J\u{9b}2J\u{202e}txt\u{200b}";

#[track_caller]
fn assert_harmless(ended: &Ended) {
    for text in [&ended.stdout, &ended.stderr] {
        for c in ['\x1b', '\x07', '\u{9b}', '\u{202e}', '\u{200b}'] {
            assert!(!text.contains(c), "{c:?} is in {text:?}");
        }
    }
}

/// A server of HTTP/2 that answers every request with these fields and nothing else (RFC 9113,
/// RFC 7541 §6.2.2). It ends with the test program.
fn http2_server(fields: &[(&str, &str)]) -> u16 {
    // `:status: 200` is number 8 of the static table.
    let mut block = vec![0x88];
    for (name, value) in fields {
        for text in [name, value] {
            if text == name {
                block.push(0); // A literal, not to be kept.
            }
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.as_bytes());
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let block = block.clone();
            thread::spawn(move || {
                let mut received = Vec::new();
                let mut buffer = [0; 4096];
                let mut at = 24; // Behind the client's preface.
                let _ = stream.write_all(&frame(4, 0, [0; 4], &[]));
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    received.extend_from_slice(&buffer[..count]);
                    while let Some(head) = received.get(at..at + 9) {
                        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                        let (kind, flags) = (head[3], head[4]);
                        let place = [head[5], head[6], head[7], head[8]];
                        if received.len() < at + 9 + length {
                            break;
                        }
                        at += 9 + length;
                        let answer = match kind {
                            4 if flags & 1 == 0 => frame(4, 1, [0; 4], &[]),
                            1 => frame(1, 5, place, &block),
                            _ => continue,
                        };
                        let _ = stream.write_all(&answer);
                    }
                }
            });
        }
    });
    port
}

fn frame(kind: u8, flags: u8, stream: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[..], &[kind, flags], &stream, payload].concat()
}

#[test]
fn what_a_grpc_server_says_of_itself_is_shown_as_words() {
    let port = http2_server(&[
        ("content-type", "application/grpc"),
        ("grpc-status", "2"),
        ("grpc-message", ENCODED),
    ]);
    let ended = ringside(&["run", "-n", "1", &format!("grpc://127.0.0.1:{port}/a.B/C")]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_says(
        &ended.stderr,
        "reflection failed: UNKNOWN: \\u{1b}]0;owned\\u{7}\\u{1b}[2J\\u{9b}2J",
    );
    assert_harmless(&ended);
}

#[test]
fn a_server_that_is_no_grpc_server_is_shown_as_words() {
    let port = http2_server(&[("content-type", "text/\u{9b}2J\u{202e}lmth")]);
    let ended = ringside(&["run", "-n", "1", &format!("grpc://127.0.0.1:{port}/a.B/C")]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_says(&ended.stderr, "content-type text/\\u{9b}2J\\u{202e}lmth");
    assert_harmless(&ended);
}

#[test]
fn what_the_arguments_and_files_say_is_shown_as_words() {
    let folder = Folder::new();
    let file = folder.path("nasty.toml");
    std::fs::write(&file, format!("name = \"{RAW}\" {RAW}\n")).unwrap();
    let missing = folder.path(&format!("{RAW}.toml"));
    let table: [&[&str]; 5] = [
        &["compare", &file],
        &["compare", &missing],
        &["run", &format!("http://127.0.0.1:1/{RAW}")],
        &["run", &format!("--{RAW}")],
        &["run", "-b", &format!("@{missing}"), "http://127.0.0.1:1/"],
    ];
    for words in table {
        let ended = ringside(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(!ended.stderr.is_empty());
        assert_harmless(&ended);
    }
}
