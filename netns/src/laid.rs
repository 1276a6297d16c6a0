//! Laying a [`Link`] in the private network of this process, in which both sides are.
//!
//! What one side sends over loopback the other has at once, and the kernel keeps count in the
//! sender's socket of what waits in front of the interface (TCP small queues): a queue there would
//! hold senders back, where a router drops. So everything that *arrives* at loopback is handed to a
//! queue of its own (an ifb device), and goes on from there to whom it's for. By then no socket
//! owns it: what waits has left its sender, and what is dropped is lost.
//!
//! Loopback also has packets of 64 KiB. Over a link they have 1,500 bytes, so that congestion
//! controls count those. Many of them are handed on as one, as network cards take them, but not
//! where some are lost: a loss would be one of many at once.
//!
//! The commands are those of iproute2 (tc-tbf(8), tc-netem(8), ip-link(8)). Links change between
//! rounds, never during one. A connection that was opened before keeps its congestion control.

use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::geteuid;

use crate::Network;
use crate::link::{Link, rounded};

/// The device in which packets wait.
const DEVICE: &str = "ringside";
/// Loopback's own size of packets, and that of a link.
const USUAL_MTU: u32 = 65_536;
const MTU: u32 = 1_500;
/// How many of them may be handed on as one: as loopback has it, and where each is lost by itself.
const USUAL_SEGMENTS: u32 = 65_535;
const SEGMENTS_TO_LOSE: u32 = 1;
/// Of what passes at once after a pause: what a millisecond has room for, and at least this.
const BURST_MIN_BYTES: u64 = 16_384;
/// How long the queue in front of a bandwidth gets: what would wait for longer is dropped.
const QUEUE_MS: u32 = 50;
/// How many packets may be on their way in a delay.
const ON_THEIR_WAY: u32 = 100_000;

/// The setting of both sides (Documentation/networking/ip-sysctl.rst).
const CONGESTION: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Those that this kernel has now.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// What lies there.
struct Laid {
    /// None where something failed half-way, so that it isn't known.
    link: Option<Link>,
    /// The network's own congestion control, once it was another one.
    congestion: Option<String>,
}

static LAID: Mutex<Laid> = Mutex::new(Laid {
    link: Some(Link::USUAL),
    congestion: None,
});

/// Has both sides see `link` from here on, and nothing of the one before; costs nothing where it's
/// the same. Connections have to be opened afterwards.
///
/// # Errors
/// What this machine, or this network, can't do, and what to do. What is between both sides then is
/// unknown until this is called again.
pub fn lay(link: &Link) -> Result<(), String> {
    let mut laid = LAID.lock().unwrap_or_else(PoisonError::into_inner);
    if laid.link.as_ref() == Some(link) {
        return Ok(());
    }
    if !link.is_usual() {
        allowed(crate::here().as_ref(), geteuid().is_root())?;
    }
    laid.change(link)
}

/// Whether [`lay`] can do that here. There is loopback as it is afterwards.
///
/// # Errors
/// Those of [`lay`].
pub fn try_out(link: &Link) -> Result<(), String> {
    let laid = lay(link);
    let lifted = lay(&Link::USUAL);
    laid.and(lifted)
}

/// Nobody else's network is touched.
fn allowed(here: Option<&Network>, is_root: bool) -> Result<(), String> {
    let why = match here {
        Some(Network::Private) if is_root => return Ok(()),
        Some(Network::Private) => {
            "only root may set what is between both sides: run ringside as root"
        }
        Some(Network::Refused { .. }) => {
            "a bandwidth, delay, loss or congestion control needs a private network, and none \
             could be made here"
        }
        _ => {
            "a bandwidth, delay, loss or congestion control needs a private network: leave out \
             --host-network and `private = false`"
        }
    };
    Err(why.to_owned())
}

impl Laid {
    fn change(&mut self, link: &Link) -> Result<(), String> {
        // Not known until all of it is there.
        match self.link.take() {
            Some(before) if before.is_slow() => lifting().iter().try_for_each(Step::run)?,
            Some(_) => {}
            // What isn't there can't be taken away.
            None => lifting().iter().for_each(|step| drop(step.run())),
        }
        if link.congestion.is_some() && self.congestion.is_none() {
            let own = fs::read_to_string(CONGESTION);
            let own = own.map_err(|error| format!("{CONGESTION} can't be read: {error}"))?;
            self.congestion = Some(own.trim().to_owned());
        }
        if let Some(name) = link.congestion.as_ref().or(self.congestion.as_ref()) {
            choose(name)?;
        }
        laying(link).iter().try_for_each(Step::run)?;
        self.link = Some(link.clone());
        Ok(())
    }
}

/// Has all connections that are opened from here on controlled like this.
fn choose(name: &str) -> Result<(), String> {
    let error = match fs::write(CONGESTION, name) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    Err(match error.kind() {
        ErrorKind::NotFound => {
            let lacking = lacking(name, &format!("tcp_{name}"), &option_of(name));
            let available = fs::read_to_string(AVAILABLE).unwrap_or_default();
            let available: Vec<&str> = available.split_whitespace().collect();
            match available.is_empty() {
                true => lacking,
                false => format!("{lacking}; it has {}", available.join(", ")),
            }
        }
        ErrorKind::PermissionDenied => format!(
            "the host allows no other network {name}: `sysctl -w \
             net.ipv4.tcp_allowed_congestion_control=\"reno cubic {name}\"`"
        ),
        _ => format!("{CONGESTION} can't be set to {name}: {error}"),
    })
}

/// The option of the kernel that a congestion control needs.
fn option_of(name: &str) -> String {
    format!("CONFIG_TCP_CONG_{}", name.to_ascii_uppercase())
}

fn lacking(what: &str, modules: &str, options: &str) -> String {
    format!("this kernel has no {what}: `modprobe {modules}`, or a kernel with {options}")
}

/// A command, and what of the kernel it needs: what that is called, its modules, its options.
struct Step {
    program: &'static str,
    words: String,
    needs: Option<(&'static str, &'static str, &'static str)>,
}

/// What iproute2 says where the kernel doesn't know what it's asked for.
const UNKNOWN: [&str; 5] = [
    "Specified qdisc kind is unknown",
    "Unknown device type",
    "TC classifier not found",
    "Failed to load TC action module",
    "Operation not supported",
];

impl Step {
    fn ip(words: String) -> Step {
        let (program, needs) = ("ip", None);
        Step {
            program,
            words,
            needs,
        }
    }

    fn tc(words: String) -> Step {
        let (program, needs) = ("tc", None);
        Step {
            program,
            words,
            needs,
        }
    }

    fn needing(self, what: &'static str, module: &'static str, option: &'static str) -> Step {
        let needs = Some((what, module, option));
        Step { needs, ..self }
    }

    fn run(&self) -> Result<(), String> {
        let Step { program, words, .. } = self;
        let mut command = Command::new(program);
        command.args(words.split(' ')).stdin(Stdio::null());
        let output = command.output().map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("`{program}` is not installed: install iproute2"),
            _ => format!("`{program}` can't be run: {error}"),
        })?;
        match output.status.success() {
            true => Ok(()),
            false => Err(self.failed(&String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Why it failed that has said this.
    fn failed(&self, said: &str) -> String {
        let is_unknown = UNKNOWN.iter().any(|text| said.contains(text));
        match self.needs.filter(|_| is_unknown) {
            Some((what, modules, options)) => lacking(what, modules, options),
            None => {
                let first = said.lines().next().unwrap_or("it said nothing");
                format!("`{} {}` failed: {first}", self.program, self.words)
            }
        }
    }
}

/// What lays a link, besides its congestion control. Packets are handed over last, when there is a
/// queue for them.
fn laying(link: &Link) -> Vec<Step> {
    if !link.is_slow() {
        return Vec::new();
    }
    let mut steps = vec![
        Step::ip(format!("link add {DEVICE} type ifb")).needing("ifb", "ifb", "CONFIG_IFB"),
        Step::ip(format!("link set dev {DEVICE} up")),
    ];
    if link.is_far() {
        let mut words = format!("qdisc add dev {DEVICE} root handle 1: netem limit {ON_THEIR_WAY}");
        if let Some(us) = link.delay_us {
            words += &format!(" delay {us}us");
        }
        if let Some(share) = link.loss {
            words += &format!(" loss {}%", rounded(100.0 * share));
        }
        let step = Step::tc(words);
        steps.push(step.needing("netem", "sch_netem", "CONFIG_NET_SCH_NETEM"));
    }
    if let Some(bits) = link.bandwidth_bits_per_s {
        let place = if link.is_far() { "parent 1:1" } else { "root" };
        let burst = (bits / 8 / 1000).max(BURST_MIN_BYTES);
        let step = Step::tc(format!(
            "qdisc add dev {DEVICE} {place} handle 2: tbf rate {bits}bit burst {burst} latency \
             {QUEUE_MS}ms"
        ));
        steps.push(step.needing("tbf", "sch_tbf", "CONFIG_NET_SCH_TBF"));
    }
    let segments = match link.loss {
        Some(_) => SEGMENTS_TO_LOSE,
        None => USUAL_SEGMENTS,
    };
    steps.push(packets(MTU, segments));
    let ingress = Step::tc("qdisc add dev lo handle ffff: ingress".to_owned());
    steps.push(ingress.needing("ingress", "sch_ingress", "CONFIG_NET_SCH_INGRESS"));
    let hand_over = Step::tc(format!(
        "filter add dev lo parent ffff: protocol all u32 match u32 0 0 action mirred egress \
         redirect dev {DEVICE}"
    ));
    steps.push(hand_over.needing(
        "u32 or mirred",
        "-a cls_u32 act_mirred",
        "CONFIG_NET_CLS_U32 and CONFIG_NET_ACT_MIRRED",
    ));
    steps
}

/// What takes one away.
fn lifting() -> [Step; 3] {
    [
        Step::tc("qdisc del dev lo ingress".to_owned()),
        Step::ip(format!("link del dev {DEVICE}")),
        packets(USUAL_MTU, USUAL_SEGMENTS),
    ]
}

/// Sets how long packets are, and how many are sent as one.
fn packets(mtu: u32, segments: u32) -> Step {
    Step::ip(format!("link set dev lo mtu {mtu} gso_max_segs {segments}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(link: &Link) -> Vec<String> {
        laying(link).into_iter().map(|step| step.words).collect()
    }

    #[test]
    fn a_bandwidth_is_a_queue_behind_the_delay_where_there_is_one() {
        let bandwidth = Link {
            bandwidth_bits_per_s: Some(100_000_000),
            ..Link::USUAL
        };
        let alone = words(&bandwidth);
        let queue = "handle 2: tbf rate 100000000bit burst 16384 latency 50ms";
        assert_eq!(alone[2], format!("qdisc add dev ringside root {queue}"));
        assert!(
            alone.last().is_some_and(|last| last.contains("mirred")),
            "{alone:?}"
        );
        let both = words(&Link {
            delay_us: Some(20_000),
            loss: Some(0.01),
            ..bandwidth
        });
        let far = "root handle 1: netem limit 100000 delay 20000us loss 1%";
        assert_eq!(both[2], format!("qdisc add dev ringside {far}"));
        assert_eq!(
            both[3],
            format!("qdisc add dev ringside parent 1:1 {queue}")
        );
        let congestion = Link {
            congestion: Some("bbr".to_owned()),
            ..Link::USUAL
        };
        assert_eq!(words(&congestion), [""; 0]);
    }

    #[test]
    fn what_the_kernel_lacks_is_told_with_where_it_is_to_be_had() {
        let link = Link {
            delay_us: Some(1),
            ..Link::USUAL
        };
        let steps = laying(&link);
        let netem = steps.iter().find(|step| step.words.contains("netem"));
        let netem = netem.expect("a step");
        let why = netem.failed("Error: Specified qdisc kind is unknown.\n");
        let expected = "this kernel has no netem: `modprobe sch_netem`, or a kernel with \
                        CONFIG_NET_SCH_NETEM";
        assert_eq!(why, expected);
        let why = netem.failed("RTNETLINK answers: Operation not permitted\nand more");
        assert!(why.starts_with("`tc qdisc add dev ringside root"), "{why}");
        assert!(
            why.ends_with("failed: RTNETLINK answers: Operation not permitted"),
            "{why}"
        );
    }

    #[test]
    fn only_root_in_a_private_network_sets_what_is_in_it() {
        assert_eq!(allowed(Some(&Network::Private), true), Ok(()));
        let why = || "why".to_owned();
        for (here, is_root, expected) in [
            (Some(Network::Private), false, "as root"),
            (Some(Network::Host { why: why() }), true, "--host-network"),
            (
                Some(Network::Refused { why: why() }),
                true,
                "none could be made",
            ),
            (None, true, "needs a private network: leave out"),
        ] {
            let refused = allowed(here.as_ref(), is_root).expect_err("refused");
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn loopback_as_it_is_needs_nobodys_leave() {
        assert_eq!(lay(&Link::USUAL), Ok(()));
        assert_eq!(try_out(&Link::USUAL), Ok(()));
    }
}
