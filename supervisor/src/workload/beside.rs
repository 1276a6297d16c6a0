//! What of a workload's words goes together where requests differ.

use std::num::NonZeroU32;

use load::plan::workload::Order;
use workload::{hurl, replayed};

use super::{Protocol, Workload};

impl Workload {
    /// Whether what is said of requests that differ goes together.
    pub(super) fn check_mix(&self) -> Result<(), String> {
        let is_of_users = self.targets.as_ref();
        let is_of_users = is_of_users.is_some_and(|file| hurl::is_one(&file.to_string_lossy()));
        if is_of_users {
            self.beside_flow().check()?;
        }
        if self.replay.is_some() {
            return self.beside_replay().check();
        }
        let replayed = self.speed.is_some() || self.replay_secrets;
        let what = if !is_of_users && !self.variables.is_empty() {
            "`variables` are those of a flow: add `targets = \"FILE.hurl\"`, or drop them"
        } else if replayed || !self.replay_methods.is_empty() {
            "`speed`, `replay_methods` and `replay_secrets` are about a `replay`: add it, or drop \
             them"
        } else if self.targets.is_none() && self.pick.is_some() {
            "`pick` is about `targets`: add them, or drop it"
        } else if self.data.is_none() && self.data_order.is_some() {
            "`data_order` is about `data`: add it, or drop it"
        } else if self.targets.is_some() && self.path.get_ref().as_str() != "/" {
            "both `path` and `targets`; expected one of them"
        } else if !self.is_mixed() && self.path.get_ref().as_str().contains(' ') {
            "the path has spaces; for templates such as {{random 1 9}} add `template = true`"
        } else if self.script.is_none() && !self.script_args.is_empty() {
            "`script_args` is about `script`: add it, or drop them"
        } else if self.script.is_some() && self.is_mixed() {
            "a `script` says what is sent, and so do `targets`, `template` and `data`: expected \
             one of them"
        } else if self.script.is_some() && self.protocol != Protocol::Http1 {
            "a `script` sends HTTP/1.1: drop `protocol`"
        } else if self.data_order == Some(Order::Once) {
            "`data_order = \"once\"` ends a load early, and rounds are as long as the others: use \
             \"in-turn\", \"random\" or \"zipf:1.1\""
        } else {
            let is_http = matches!(self.protocol, Protocol::Http1 | Protocol::Http2);
            match self.protocol {
                Protocol::WebSocket if self.targets.is_some() => return Ok(()),
                Protocol::WebSocket if self.is_mixed() => {
                    "`template` and `data` are for http1, http2 and grpc; the messages of a \
                     WebSocket that differ stand in a file: add `targets`"
                }
                Protocol::Grpc if self.is_mixed() && self.repeat > NonZeroU32::MIN => {
                    "`repeat` is about one `message`: where calls differ, write arrays of messages"
                }
                _ if !is_http && !self.expect.is_empty() => "`expect` is for http1 and http2",
                _ => return Ok(()),
            }
        };
        Err(what.to_owned())
    }

    /// What has no meaning beside a flow of users.
    fn beside_flow(&self) -> hurl::compared::Beside {
        hurl::compared::Beside {
            says_what_is_sent: self.method.is_some() || self.message.is_some() || self.template,
            pick: self.pick.is_some(),
            protocol: !matches!(self.protocol, Protocol::Http1 | Protocol::Http2),
            expect: !self.expect.is_empty(),
            cookies: self.cookies,
            compressed: self.compressed,
            pipeline: self.pipeline.max(self.streams) > NonZeroU32::MIN,
            closes: !self.keep_alive,
        }
    }

    /// What has no meaning beside a replay.
    fn beside_replay(&self) -> replayed::Beside {
        let has_files = self.targets.is_some() || self.data.is_some() || self.script.is_some();
        let is_one = self.method.is_some() || self.message.is_some() || self.template;
        let has_path = self.path.get_ref().as_str() != "/";
        replayed::Beside {
            says_what_is_sent: has_files || is_one || has_path || self.pick.is_some(),
            protocol: !matches!(self.protocol, Protocol::Http1 | Protocol::Http2),
            is_still: self
                .speed
                .is_some_and(|speed| speed.is_nan() || speed <= 0.0),
        }
    }
}
