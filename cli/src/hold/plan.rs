//! From raw arguments to a validated plan of a hold.

use load::Redaction;
use load::hold::Plan;
use load::protocol::{Http2, Protocol};

use crate::args::hold::Hold;
use crate::args::values;
use crate::run::{addresses, flows, route};
use output::terminal;

/// The plan that the arguments ask for.
pub(super) fn plan(arguments: &Hold) -> Result<Plan, String> {
    flows::is_url(&arguments.url)?;
    let mut plan = Plan::new(&arguments.url).map_err(|invalid| invalid.to_string())?;
    plan.redaction = arguments.secrets.hide(Redaction::of_user());
    if arguments.http2 {
        if plan.protocol != Protocol::Http1 {
            return Err(format!(
                "--http2 applies to http:// and https:// only: {}:// already sets the protocol",
                plan.target.scheme
            ));
        }
        plan.protocol = Protocol::Http2 {
            http2: Http2::default(),
        };
    }
    plan.connections = arguments.connections;
    plan.duration_s = arguments.duration.as_secs_f64();
    plan.open_rate = arguments.open_rate;
    plan.heartbeat_s = arguments.heartbeat.as_secs_f64();
    plan.broadcast_s = arguments.broadcast.map(|every| every.as_secs_f64());
    plan.heartbeat_timeout_s = arguments.heartbeat_timeout.as_secs_f64();
    plan.connect_timeout_s = arguments.connect_timeout.as_secs_f64();
    plan.back_off = arguments.back_off;
    plan.retries = arguments.retries;
    plan.seed = arguments.seed;
    plan.request.headers = values::fields("-H", &arguments.headers)?;
    route::authenticate(
        arguments.user.as_deref(),
        &mut plan.request,
        &plan.redaction,
    )?;
    plan.tell_secrets();
    terminal::hide(&plan.redaction);
    plan.request.method.clone_from(&arguments.method);
    plan.threads = arguments.threads;
    plan.engine = arguments.machine.engine()?;
    plan.cpus = addresses::cpus(arguments.machine.cpus.as_deref())?;
    plan.receive_buffer_bytes = arguments.sockets.rcvbuf;
    plan.send_buffer_bytes = arguments.sockets.sndbuf;
    plan.family = arguments.sockets.family();
    let way = route::take(&arguments.sockets, &mut plan.target, &plan.redaction)?;
    plan.source_addresses = way.sources;
    plan.interface = way.interface;
    plan.proxy = way.proxy;
    route::secure(&arguments.tls, plan.tls.as_mut(), &plan.target.scheme)?;
    plan.validate().map_err(|invalid| invalid.to_string())?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use load::plan::Family;

    use super::*;
    use crate::args::{self, Parsed, Verb};

    fn planned(words: &str) -> Result<Plan, String> {
        let words = ["ringside", "hold"]
            .into_iter()
            .chain(words.split_whitespace());
        let parsed = match args::parse(words.map(Into::into)) {
            Parsed::Do(parsed) => parsed,
            Parsed::Wrong(text) | Parsed::Answer(text) => return Err(text),
        };
        match parsed.verb {
            Verb::Hold(arguments) => plan(&arguments),
            _ => Err("another verb".to_string()),
        }
    }

    const URL: &str = "http://127.0.0.1:8080/";

    #[test]
    fn the_defaults_are_those_of_a_plan() {
        assert_eq!(planned(URL), Ok(Plan::new(URL).unwrap()));
    }

    #[test]
    fn every_word_finds_its_place() {
        let words = "-c 19k -d 1h --open-rate 2k --heartbeat 10s --heartbeat-timeout 5s \
                     --connect-timeout 3s --back-off 1s..1m --retries 3 --seed 7 -t 2 -m HEAD \
                     -H X-A:b -u me:x -4 --source-ip 127.0.1.0/30 --engine epoll \
                     --interface lo --proxy http://127.0.0.1:3128";
        let plan = planned(&format!("{words} {URL}")).unwrap();
        assert_eq!((plan.connections, plan.duration_s), (19_000, 3600.0));
        assert_eq!((plan.open_rate, plan.heartbeat_s), (2000.0, 10.0));
        assert_eq!(
            (plan.heartbeat_timeout_s, plan.connect_timeout_s),
            (5.0, 3.0)
        );
        assert_eq!((plan.back_off.first_s, plan.back_off.most_s), (1.0, 60.0));
        assert_eq!((plan.retries, plan.seed, plan.threads), (3, 7, Some(2)));
        assert_eq!(plan.request.method, "HEAD");
        let basic = ("Authorization".to_string(), "Basic bWU6eA==".to_string());
        assert_eq!(plan.request.headers[1..], [basic]);
        assert_eq!((plan.source_addresses.len(), &*plan.engine), (2, "epoll"));
        assert_eq!(plan.family, Some(Family::Ipv4));
        assert_eq!(plan.interface.as_deref(), Some("lo"));
        assert_eq!(plan.proxy.unwrap().place(), "127.0.0.1:3128");
    }

    #[test]
    fn arguments_that_do_not_go_together_are_refused_with_a_way_out() {
        let table = [
            ("-c 0", "out of range"),
            ("-c 20M", "out of range"),
            ("-t 0", "out of range"),
            ("-c 2 -t 4", "at least 4"),
            ("-d 0", "above zero"),
            ("--heartbeat 0", "above zero"),
            ("--heartbeat-timeout soon", "duration"),
            ("--open-rate 0", "rate"),
            ("--back-off 1s", "100ms..30s"),
            ("--back-off 1m..1s", "longer than the longest"),
            ("--retries=-1", "--retries"),
            ("--threshold p99<5ms", "survival>=99.5%"),
            ("--threshold survival>=0.99", "percent"),
            ("--unix-socket a --source-ip 127.0.0.2", "contradict"),
            ("--source-ip ::1", "one is IPv4"),
            ("--ipv6", "127.0.0.1 isn't an IPv6 address: drop --ipv6"),
            ("--insecure", "write https://"),
            ("-H nonsense", "Name: value"),
            ("-u nobody", "write NAME:PASSWORD"),
            ("--cpus 1023", "it may use"),
        ];
        for (words, part) in table {
            let text = planned(&format!("{words} {URL}")).unwrap_err();
            assert!(text.contains(part), "{words}: {text}");
        }
        let text = planned(&format!("--broadcast 1s {URL}")).unwrap_err();
        assert!(text.contains("ws:// and wss:// only"), "{text}");
        let text = planned("--broadcast 2m ws://127.0.0.1/").unwrap_err();
        assert!(text.contains("lengthen -d"), "{text}");
        let text = planned("-d 1h --broadcast 1ms ws://127.0.0.1/").unwrap_err();
        assert!(text.contains("use at least 0.18s"), "{text}");
        let chat = planned("--broadcast 10s ws://127.0.0.1/chat").unwrap();
        assert_eq!(chat.broadcast_s, Some(10.0));
        let text = planned("--http2 ws://127.0.0.1/").unwrap_err();
        assert!(text.contains("already sets the protocol"), "{text}");
        let text = planned("gopher://127.0.0.1/").unwrap_err();
        assert!(text.contains("doesn't know gopher"), "{text}");
    }
}
