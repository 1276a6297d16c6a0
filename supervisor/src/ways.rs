//! What else a workload says of each exchange, and what is done with its answer: the keys of a
//! comparison that mean what the flags of `ringside run` of the same names mean.

use std::net::IpAddr;
use std::time::Duration;

use load::plan::{FOLLOW_MAX, Proxy};
use load::protocol::{Compress, Protocol as Spoken};
use load::{Plan, Redaction};

use crate::spoken::Protocol;

/// See the module; by default none of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ways {
    /// The most redirects that one exchange follows; 0: none.
    pub follow: u32,
    /// Each connection sends the cookies back that it was given.
    pub cookies: bool,
    /// The load asks for compressed answers, and rules see what they become.
    pub compressed: bool,
    /// How the messages of gRPC calls are compressed.
    pub compress: Option<Compress>,
    /// Events are looked for in answers, and timed.
    pub events: bool,
    /// The proxy that the connections go through.
    pub proxy: Option<Proxy>,
    /// Local addresses that the load's connections take in turn; empty: the kernel chooses.
    pub sources: Vec<IpAddr>,
    /// How long a gRPC call may take, as `grpc-timeout` tells it.
    pub deadline: Option<Duration>,
    /// WebSocket messages are binary.
    pub binary: bool,
}

/// What of the rest of a workload decides whether they can be.
pub(crate) struct Beside {
    pub protocol: Protocol,
    pub pipeline: u32,
    pub keep_alive: bool,
    pub script: bool,
    pub targets: bool,
}

impl Ways {
    /// Whether none of it was asked for.
    pub fn are_usual(&self) -> bool {
        *self == Ways::default()
    }

    /// Whether they go together with what stands beside them; else what to do about it.
    pub(crate) fn check(&self, beside: &Beside) -> Result<(), String> {
        let is_http = matches!(beside.protocol, Protocol::Http1 | Protocol::Http2);
        let kept = [(self.follow > 0, "follow"), (self.cookies, "cookies")];
        let given = |keys: &[(bool, &'static str)]| {
            let mut keys = keys.iter().filter(|(given, _)| *given);
            keys.next().map(|(_, key)| *key)
        };
        if let (false, Some(key)) = (is_http, given(&kept)) {
            return Err(format!("`{key}` is for http1 and http2"));
        }
        if self.events && beside.protocol == Protocol::WebSocket && !beside.targets {
            return Err(
                "`events` of a WebSocket are messages that answer one of a file: add \
                        `targets`"
                    .to_owned(),
            );
        }
        if self.compressed && beside.protocol == Protocol::WebSocket {
            return Err("`compressed` is for http1, http2 and grpc".to_owned());
        }
        if self.compress.is_some() && beside.protocol != Protocol::Grpc {
            return Err("`compress` is for grpc".to_owned());
        }
        if self.deadline.is_some() && beside.protocol != Protocol::Grpc {
            return Err("`deadline` is for grpc".to_owned());
        }
        if self.binary && beside.protocol != Protocol::WebSocket {
            return Err("`binary` is for websocket".to_owned());
        }
        if self.follow > FOLLOW_MAX {
            return Err(format!(
                "`follow` is {}, and can be at most {FOLLOW_MAX}",
                self.follow
            ));
        }
        if let Some(key) = given(&kept) {
            let other = match () {
                () if beside.script => "a `script` says what is sent: drop one of them",
                () if !beside.keep_alive => {
                    "`keep_alive = false` sends nothing behind it: drop one"
                }
                () if beside.pipeline > 1 => {
                    "`pipeline` would send the next request before: drop it, or use more \
                     `connections`"
                }
                () => "",
            };
            if !other.is_empty() {
                return Err(format!(
                    "`{key}` makes of an answer what is sent next, and {other}"
                ));
            }
        }
        match self.proxy.is_some() && beside.script {
            true => Err(
                "a `script` writes its requests for the server itself, not for a `proxy`: drop \
                 one of them"
                    .to_owned(),
            ),
            false => Ok(()),
        }
    }

    /// A plan that does so, but for what only the load asks for: see [`Ways::load`].
    pub(crate) fn plan(&self, plan: &mut Plan) {
        plan.follow = self.follow;
        plan.cookies = self.cookies;
        plan.compressed = self.compressed;
        plan.compress = self.compress;
        plan.events = self.events;
        plan.proxy.clone_from(&self.proxy);
        match &mut plan.protocol {
            Spoken::Grpc { call, .. } => {
                call.deadline_s = self.deadline.map(|length| length.as_secs_f64());
            }
            Spoken::WebSocket { message } => message.binary = self.binary,
            Spoken::Http1 | Spoken::Http2 { .. } => {}
        }
    }

    /// What the load asks for besides. Answers are verified as they are without it, since servers
    /// that compress one text differently still answer the same.
    pub(crate) fn load(&self, plan: &mut Plan) {
        plan.source_addresses.clone_from(&self.sources);
        plan.ask_for_compressed();
    }

    /// Has the redaction know the secrets that this sends.
    pub(crate) fn tell_secrets(&self, redaction: &Redaction) {
        if let Some(proxy) = &self.proxy {
            proxy.tell_secrets(redaction);
        }
    }

    /// What it says of each exchange, behind other words.
    pub(crate) fn words(&self) -> String {
        let mut words = String::new();
        let mut say = |what: &str| {
            words.push_str(", ");
            words.push_str(what);
        };
        if self.follow > 0 {
            let s = if self.follow == 1 { "" } else { "s" };
            say(&format!("following up to {} redirect{s}", self.follow));
        }
        if self.cookies {
            say("with cookies");
        }
        if self.compressed {
            say("compressed");
        }
        match self.compress {
            Some(Compress::Gzip) => say("with messages compressed by gzip"),
            None => {}
        }
        if self.events {
            say("with the events in answers timed");
        }
        if let Some(proxy) = &self.proxy {
            say(&format!("through the proxy {}", proxy.place()));
        }
        match &self.sources[..] {
            [] => {}
            [one] => say(&format!("from {one}")),
            several => say(&format!("from {} addresses", several.len())),
        }
        if let Some(deadline) = self.deadline {
            say(&format!("with a deadline of {} s", deadline.as_secs_f64()));
        }
        if self.binary {
            say("binary");
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::workload::{At, Question, Workload};

    fn question(words: &str) -> Result<Question, String> {
        let workload: Workload = toml::from_str(words).map_err(|bad| bad.to_string())?;
        workload.question(Path::new("."))
    }

    const AT: At<'_> = At {
        host: None,
        address: None,
        port: 1,
        tls: false,
        trust: None,
    };

    #[test]
    fn the_keys_are_in_the_plan_and_in_the_words() {
        let text = "follow = 3\ncookies = true\ncompressed = true\nuser = \"ann:canary-1\"\n\
                    expect = [\"body~a\"]";
        let asked = question(text).unwrap();
        let mut plan = asked.plan(AT).unwrap();
        assert_eq!(
            (plan.follow, plan.cookies, plan.compressed),
            (3, true, true)
        );
        let names = |plan: &Plan| -> Vec<String> {
            let headers = plan.request.headers.iter();
            headers.map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&plan), ["Authorization"], "verified as it is");
        asked.ways.load(&mut plan);
        assert_eq!(names(&plan), ["Authorization", "Accept-Encoding"]);
        plan.validate().unwrap();
        asked.tell_secrets();
        let told = asked.words();
        let says = ", following up to 3 redirects, with cookies, compressed, expecting body~a";
        assert!(told.ends_with(says), "{told}");
        assert!(!told.contains("canary"), "{told}");
        assert!(!asked.redaction.scrub("canary-1").contains("canary"));

        let asked = question("proxy = \"http://me:canary-2@127.0.0.1:9\"").unwrap();
        let plan = asked.plan(AT).unwrap();
        assert_eq!(plan.proxy.as_ref().unwrap().place(), "127.0.0.1:9");
        asked.tell_secrets();
        let told = asked.words();
        assert!(told.ends_with(", through the proxy 127.0.0.1:9"), "{told}");

        let asked = question("source_ip = \"127.0.0.2, 127.0.1.4/31\"").unwrap();
        let mut plan = asked.plan(AT).unwrap();
        assert_eq!(plan.source_addresses.len(), 0, "verified from anywhere");
        asked.ways.load(&mut plan);
        assert_eq!(plan.source_addresses.len(), 3);
        assert!(asked.words().ends_with(", from 3 addresses"));

        let grpc = question("protocol = \"grpc\"\npath = \"/a.B/C\"\ndeadline = \"500ms\"");
        assert_eq!(
            grpc.unwrap().plan(AT).unwrap().protocol.deadline_s(),
            Some(0.5)
        );
        let text = "protocol = \"grpc\"\npath = \"/a.B/C\"\ncompressed = true\ncompress = \"gzip\"";
        let grpc = question(text).unwrap();
        let mut plan = grpc.plan(AT).unwrap();
        grpc.ways.load(&mut plan);
        assert_eq!(
            (plan.compressed, plan.compress),
            (true, Some(Compress::Gzip))
        );
        assert_eq!(names(&plan), [""; 0], "gRPC has fields of its own for that");
        let told = grpc.words();
        let says = ", compressed, with messages compressed by gzip";
        assert!(told.contains(says), "{told}");

        let websocket = question("protocol = \"websocket\"\nbinary = true").unwrap();
        let plan = websocket.plan(AT).unwrap();
        assert!(matches!(&plan.protocol, Spoken::WebSocket { message } if message.binary));
        assert!(question("").unwrap().ways.are_usual());
    }

    #[test]
    fn a_row_may_say_it_for_itself() {
        let common: Workload = toml::from_str("follow = 3\ncookies = true").unwrap();
        let row = toml::from_str("follow = 0\ncookies = false\nuser = \"a:b\"").unwrap();
        let asked = common.with(row).question(Path::new(".")).unwrap();
        assert!(asked.ways.are_usual());
        assert!(asked.headers.contains_key("Authorization"));
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_a_way_out() {
        for (words, part) in [
            ("follow = 51", "at most 50"),
            ("follow = 1\npipeline = 2", "drop it, or use more"),
            ("cookies = true\nkeep_alive = false", "drop one"),
            (
                "cookies = true\nscript = 'Cargo.toml'",
                "a `script` says what",
            ),
            ("proxy = 'x:1'\nscript = 'Cargo.toml'", "not for a `proxy`"),
            ("proxy = 'x'", "`proxy`: the port is missing"),
            ("source_ip = 'here'", "`source_ip` \"here\": give addresses"),
            ("source_ip = '10.0.0.0/8'", "the limit is 65536"),
            ("user = 'canary'", "`user`: there's no colon"),
            (
                "user = 'a:b'\nprotocol = 'websocket'\nbinary = true\nfollow = 1",
                "`follow` is for",
            ),
            (
                "compressed = true\nprotocol = 'websocket'",
                "`compressed` is for http1",
            ),
            ("compress = 'gzip'", "`compress` is for grpc"),
            ("compress = 'br'\nprotocol = 'grpc'", "unknown variant `br`"),
            ("deadline = '1s'", "`deadline` is for grpc"),
            ("binary = true", "`binary` is for websocket"),
        ] {
            let what = question(words).expect_err(words);
            assert!(what.contains(part), "{words}: {what}");
            assert!(!what.contains("canary"), "{what}");
        }
    }
}
