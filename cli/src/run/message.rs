//! The message of a WebSocket, out of the arguments.

use std::time::Duration;

use load::Plan;
use load::protocol::Protocol;
use workload::given;

use crate::args::load::Load;

/// Puts what the arguments say about it into the plan.
pub(super) fn message(arguments: &Load, plan: &mut Plan) -> Result<(), String> {
    let Protocol::WebSocket { message } = &mut plan.protocol else {
        let about_messages = [
            (arguments.message.is_some(), "--message"),
            (arguments.binary, "--binary"),
            (arguments.ping.is_some(), "--ping"),
        ];
        return match about_messages.iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(format!(
                "{flag} applies to WebSocket only: give a ws://HOST:PORT/PATH URL, or drop {flag}"
            )),
            None => Ok(()),
        };
    };
    let other = [
        (arguments.body.is_some(), "-b"),
        (arguments.method.is_some(), "-m"),
    ];
    if let Some((_, flag)) = other.iter().find(|(given, _)| *given) {
        return Err(format!(
            "{flag}: a WebSocket starts with a GET without a body; drop {flag}, and set the \
             message with --message"
        ));
    }
    if let Some(given) = &arguments.message {
        message.payload = given::read("--message", given)?;
    }
    message.binary = arguments.binary;
    message.ping_every_s = arguments.ping.as_ref().map(Duration::as_secs_f64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::plan::tests::planned;
    use super::*;

    #[test]
    fn a_message_is_what_the_arguments_say() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"\xff").unwrap();
        let file = file.path().display();
        let table = [
            ("".to_string(), &b"Hello, World!"[..], false, None),
            (
                "--message abc --ping 1500ms".into(),
                b"abc",
                false,
                Some(1.5),
            ),
            (format!("--message @{file} --binary"), b"\xff", true, None),
        ];
        for (words, payload, binary, ping_every_s) in table {
            let plan = planned(&format!("{words} ws://localhost/")).unwrap();
            let Protocol::WebSocket { message } = plan.protocol else {
                panic!("{words}: not a WebSocket");
            };
            assert_eq!((&*message.payload, message.binary), (payload, binary));
            assert_eq!(message.ping_every_s, ping_every_s);
        }
        let wrong = planned(&format!("--message @{file} ws://localhost/")).unwrap_err();
        assert!(wrong.contains("--binary"), "{wrong}");
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_a_way_out() {
        for (words, part) in [
            ("--message @/nonexistent ws://a/", "can't read"),
            ("-b x ws://a/", "--message"),
            ("-m POST ws://a/", "--message"),
            ("--ping 0 ws://a/", "1ms and a day"),
            ("-H Upgrade:x ws://a/", "cannot be given"),
            ("--message x http://a/", "give a ws://"),
            ("--binary http://a/", "give a ws://"),
            ("--ping 1s http://a/", "give a ws://"),
        ] {
            let text = planned(words).unwrap_err();
            assert!(text.contains(part), "{words}: {text}");
        }
    }
}
