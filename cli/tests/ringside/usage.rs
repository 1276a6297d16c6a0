//! Wrong use ends with 2, before anything is sent, with nothing on standard output and a sentence
//! on standard error that says what to do.

use super::child::{assert_says, ringside};

#[track_caller]
fn refused(words: &str, part: &str) {
    let words: Vec<&str> = words.split_whitespace().collect();
    let ended = ringside(&words);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(2), ""),
        "{words:?}: {}",
        ended.stderr
    );
    assert_says(&ended.stderr, part);
}

#[test]
fn a_wrong_flag_is_named_with_the_right_one() {
    refused("run --conections 3 http://127.0.0.1/", "--connections");
    refused("rum http://127.0.0.1/", "run");
    refused("rnu http://127.0.0.1/", "did you mean `ringside run`?");
    refused(
        "run -X POST http://127.0.0.1/",
        "tip: -m sets the HTTP method",
    );
    refused("run http://127.0.0.1:99999/", "ports end at 65535");
    refused(
        "run --connect-to a:1:b:99999 http://127.0.0.1/",
        "ports end at 65535",
    );
    refused("run", "<URL>");
    refused("", "Usage");
}

#[test]
fn a_scheme_that_cannot_be_loaded_says_so() {
    refused("run gopher://127.0.0.1/", "http://");
}

#[test]
fn a_number_is_no_host_and_a_port_of_this_machine_is_named_instead() {
    let meant = "22102 is no host: for a port of this machine write http://127.0.0.1:22102/";
    let all = [
        "run",
        "hold -c 1",
        "capacity",
        "run --http2",
        "compare --url x --url",
    ];
    for verb in all {
        refused(&format!("{verb} http://22102"), meant);
        refused(&format!("{verb} http://127.1:80/"), "127.1 is no host");
        // A word without a scheme is a file to `capacity`.
        if verb != "capacity" {
            refused(&format!("{verb} 22102"), meant);
        }
    }
    let elsewhere = "run --connect-to ::22102: http://127.0.0.1/";
    refused(elsewhere, "22102 is no host");
}

#[test]
fn words_about_tls_must_fit_together() {
    let clear = "http:// doesn't use: write https://";
    refused("run -k http://127.0.0.1/", clear);
    refused("run --sni a.example http://127.0.0.1/", clear);
    refused("run --no-session-resumption http://127.0.0.1/", clear);
    refused("run --cert a.pem https://127.0.0.1/", "add --key");
    refused("run --key a.pem https://127.0.0.1/", "add --cert");
    refused(
        "run -k --cacert a.pem https://127.0.0.1/",
        "give only one of them",
    );
    refused(
        "run --cacert /nowhere.pem https://127.0.0.1/",
        "/nowhere.pem",
    );
    refused("serve --cert a.pem --key b.pem", "--tls");
    refused("serve --tls --cert a.pem", "--key");
    refused("serve --client-ca a.pem", "--tls");
}

#[test]
fn values_out_of_range_are_refused() {
    refused("run -c 1 -t 2 http://127.0.0.1/", "at least 2");
    refused("run -c 20000000 http://127.0.0.1/", "out of range");
    refused("run -d 10parsecs http://127.0.0.1/", "duration");
    refused("run --rcvbuf huge http://127.0.0.1/", "size");
    refused("run --threshold p99~5ms http://127.0.0.1/", "p99<5ms");
    refused("run --threshold p99<50 http://127.0.0.1/", "`p99<50ms`");
    refused(
        "run -s no-such.lua --template http://127.0.0.1/",
        "use only one of them",
    );
    refused("run -b @/dev/null http://127.0.0.1/", "drop -b");
    refused("run -R 5 --stages 1:2@3s http://127.0.0.1/", "only one of");
    refused("run -H X-A:b -m GE(T http://127.0.0.1/", "method");
    refused("serve --addr nowhere", "HOST:PORT");
    refused("serve --threads 0", "at least 1");
    refused("serve --engine kqueue", "uring");
}

#[test]
fn a_file_that_cannot_be_written_is_found_before_the_run() {
    // The port is dead, which would be found next.
    refused(
        "run -o /nonexistent/run.json http://127.0.0.1:1/",
        "can't write",
    );
    refused("run -o / http://127.0.0.1:1/", "is a directory");
}

#[test]
fn nobody_listening_is_a_failure_that_says_so() {
    let ended = ringside(&["run", "-d", "1s", "http://127.0.0.1:1/"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert_says(&ended.stderr, "nothing is listening there");
}

#[test]
fn a_name_without_an_address_is_a_failure_that_says_so() {
    let ended = ringside(&["run", "-d", "1s", "http://nowhere.invalid/"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert_says(&ended.stderr, "nowhere.invalid");
    assert_says(&ended.stderr, "check the name");
}

#[test]
fn what_is_not_there_is_named_with_what_to_give() {
    refused(
        "claims page --dir ../claims /nowhere",
        "`ringside claims run` creates one",
    );
    refused(
        "claims run --dir ../claims Z9",
        "`ringside claims` lists them",
    );
    refused(
        "diff /nowhere /nowhere",
        "give a directory of ringside compare",
    );
    refused("report /nowhere", "/nowhere has no records");
    refused("compare comparisons/nowhere.toml", "belongs to a checkout");
    refused("compare", "--start './v1 {port}' or --url");
}
