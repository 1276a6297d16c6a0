//! From raw arguments to a validated plan. Whatever is wrong is found here, before any socket is
//! opened, and answered with a sentence that says what to do.

use engine::signal::Stop;
use load::check::Threshold;
use load::grpc::{self, Method, Source};
use load::plan::workload::Order;
use load::plan::{Expect, Invalid};
use load::protocol::{Call, Protocol};
use load::schedule::{self, Schedule};
use load::{Plan, Redaction};

use super::message::message;
use super::{addresses, flows, http2, replayed, route, targets};
use crate::args::load::Load;
use crate::args::run::{Arrivals, Run};
use crate::args::values;
use exit::Failure;
use output::terminal;
use workload::given::read_body;

/// The plan that the arguments ask for.
pub(crate) fn plan(arguments: &Run) -> Result<Plan, String> {
    arguments.targets.check()?;
    let has_braces = |url: &String| url.contains("{{");
    if arguments.url.as_ref().is_some_and(has_braces) && !arguments.targets.is_given() {
        terminal::say(
            "note: the {{…}} in the URL is sent as it is; --template or --data fills it in",
        );
    }
    let of_url = |url: &str| base(url, &arguments.load, Redaction::of_user());
    let given = flows::Given {
        url: arguments.url.as_deref(),
        flows: &arguments.flows,
        load: &arguments.load,
        targets: &arguments.targets,
        replay: &arguments.replay,
        control: arguments.control,
    };
    let mut plan = match (flows::file(&given)?, &arguments.url) {
        (Some(file), _) => flows::plan(file, &given, |origin, redaction| {
            without_request(origin, &arguments.load, redaction)
        })?,
        (None, Some(url)) if !arguments.targets.is_given() => of_url(url)?,
        (None, url) => targets::plan(
            url.as_deref(),
            &arguments.targets,
            &arguments.load,
            |origin| without_request(origin, &arguments.load, Redaction::of_user()),
        )?,
    };
    plan.script = arguments.targets.script();
    plan.schedule = law(arguments)?;
    replayed::apply(&arguments.replay, &mut plan)?;
    plan.duration_s = duration_s(arguments, &plan.schedule)?;
    plan.count = arguments.requests;
    plan.warm_up_s = arguments.warmup.map_or(0.0, |length| length.as_secs_f64());
    check(&plan)?;
    needs_events(&arguments.thresholds, plan.events)?;
    Ok(plan)
}

/// Conditions on what is seen inside answers need somebody who looks into them.
pub(crate) fn needs_events(conditions: &[Threshold], events: bool) -> Result<(), String> {
    match conditions.iter().find(|one| one.is_about_streams()) {
        Some(one) if !events => Err(format!(
            "{one}: events aren't looked for in answers, so there is nothing to judge; add --events"
        )),
        _ => Ok(()),
    }
}

/// What answers must be.
fn expectations(rules: &[String]) -> Result<Vec<Expect>, String> {
    let rules = rules.iter().map(|rule| rule.parse());
    let rules: Result<_, Invalid> = rules.collect();
    rules.map_err(|invalid| format!("--expect: {invalid}"))
}

/// The plan but for when and for how long: that of [`Plan::new`], and not checked as a whole.
pub(crate) fn base(url: &str, arguments: &Load, redaction: Redaction) -> Result<Plan, String> {
    let mut plan = without_request(url, arguments, redaction)?;
    request(arguments, &mut plan)?;
    Ok(plan)
}

/// The same without method and body.
pub(crate) fn without_request(
    url: &str,
    arguments: &Load,
    redaction: Redaction,
) -> Result<Plan, String> {
    flows::is_url(url)?;
    let mut plan = Plan::new(url).map_err(|invalid| invalid.to_string())?;
    plan.redaction = arguments.secrets.hide(redaction);
    plan.timeout_s = arguments.timeout.as_secs_f64();
    plan.connections = arguments.connections.unwrap_or(CONNECTIONS);
    plan.threads = arguments.threads;
    plan.pipeline = arguments.pipeline;
    plan.keep_alive = !arguments.no_keepalive;
    plan.seed = arguments.seed;
    plan.engine = arguments.machine.engine()?;
    plan.receive_buffer_bytes = arguments.sockets.rcvbuf;
    plan.send_buffer_bytes = arguments.sockets.sndbuf;
    plan.cpus = addresses::cpus(arguments.machine.cpus.as_deref())?;
    plan.request.headers = values::fields("-H", &arguments.headers)?;
    let metadata = values::fields("--metadata", &arguments.metadata)?;
    plan.request.headers.extend(metadata);
    route::authenticate(
        arguments.user.as_deref(),
        &mut plan.request,
        &plan.redaction,
    )?;
    plan.expect = expectations(&arguments.expect)?;
    plan.follow = arguments.follow.unwrap_or(0);
    plan.cookies = arguments.cookies;
    plan.compressed = arguments.compressed;
    plan.compress = arguments.compress.map(Into::into);
    plan.events = arguments.events;
    plan.ask_for_compressed();
    plan.tell_secrets();
    terminal::hide(&plan.redaction);
    http2::apply(&arguments.http2, &mut plan)?;
    message(arguments, &mut plan)?;
    only_of_grpc(arguments, &plan)?;
    if let Protocol::Grpc { call, .. } = &mut plan.protocol {
        call.deadline_s = arguments.deadline.map(|length| length.as_secs_f64());
    }
    route::secure(&arguments.tls, plan.tls.as_mut(), &plan.target.scheme)?;
    plan.family = arguments.sockets.family();
    let way = route::take(&arguments.sockets, &mut plan.target, &plan.redaction)?;
    plan.source_addresses = way.sources;
    plan.interface = way.interface;
    plan.proxy = way.proxy;
    Ok(plan)
}

/// Connections where nobody says how many.
const CONNECTIONS: u32 = 10;

/// Whether a plan holds together.
pub(crate) fn check(plan: &Plan) -> Result<(), String> {
    validate(plan).map_err(|invalid| invalid.to_string())
}

/// The path of a gRPC call is judged by [`call`], where it is known which services there are.
fn validate(plan: &Plan) -> Result<(), Invalid> {
    let mut plan = plan.clone();
    if is_grpc(&plan) {
        plan.target.path = "/package.Service/Method".to_string();
    }
    plan.validate()
}

fn law(arguments: &Run) -> Result<Schedule, String> {
    let arrivals = arguments.arrivals.unwrap_or(Arrivals::Constant).into();
    match (arguments.rate, &arguments.stages) {
        (Some(_), Some(_)) => {
            Err("-R and --stages both set the rate: give only one of them".to_string())
        }
        (None, None) if arguments.arrivals.is_some() => {
            Err("--arrivals needs an open loop: set a rate with -R or --stages".to_string())
        }
        (None, None) => Ok(Schedule::Closed),
        (Some(rate), None) => Ok(Schedule::open(rate, arrivals)),
        (None, Some(text)) => {
            let stages = schedule::parse_stages(text).map_err(|invalid| invalid.to_string())?;
            Ok(Schedule::Stages { arrivals, stages })
        }
    }
}

impl From<Arrivals> for schedule::Arrivals {
    fn from(arrivals: Arrivals) -> schedule::Arrivals {
        match arrivals {
            Arrivals::Poisson => schedule::Arrivals::Poisson,
            Arrivals::Constant => schedule::Arrivals::Constant,
        }
    }
}

fn duration_s(arguments: &Run, schedule: &Schedule) -> Result<Option<f64>, String> {
    match (arguments.duration, schedule.length_s()) {
        (Some(length), Some(whole)) if matches!(schedule, Schedule::Trace { .. }) => {
            // What was made once may be cut, and doesn't go on.
            Ok(Some(length.as_secs_f64()).filter(|length| *length < whole))
        }
        (Some(_), Some(_)) => Err("-d and --stages both set the duration: drop -d".to_string()),
        (Some(length), None) => Ok(Some(length.as_secs_f64())),
        (None, Some(_)) => Ok(None),
        (None, None) if arguments.requests.is_some() => Ok(None),
        (None, None) if arguments.targets.data_order == Some(Order::Once) => Ok(None),
        (None, None) => Ok(Some(10.0)),
    }
}

fn request(arguments: &Load, plan: &mut Plan) -> Result<(), String> {
    if let Some(body) = arguments.body.as_ref().filter(|_| !is_grpc(plan)) {
        plan.request.body = read_body(body)?;
        plan.request.method = "POST".to_string();
    }
    if let Some(method) = &arguments.method {
        plan.request.method.clone_from(method);
    }
    Ok(())
}

fn only_of_grpc(arguments: &Load, plan: &Plan) -> Result<(), String> {
    if is_grpc(plan) && arguments.method.is_some() {
        return Err("-m: every gRPC call is a POST; drop -m".to_string());
    }
    let about_grpc = [
        (!arguments.proto.is_empty(), "--proto"),
        (arguments.protoset.is_some(), "--protoset"),
        (!arguments.metadata.is_empty(), "--metadata"),
        (arguments.deadline.is_some(), "--deadline"),
    ];
    match about_grpc.iter().find(|(given, _)| *given) {
        Some((_, flag)) if !is_grpc(plan) => Err(format!(
            "{flag} applies to gRPC only: give a grpc://HOST:PORT/package.Service/Method URL, or \
             drop {flag}"
        )),
        _ => Ok(()),
    }
}

fn is_grpc(plan: &Plan) -> bool {
    matches!(plan.protocol, Protocol::Grpc { .. })
}

/// Puts the messages of a gRPC call into a plan that is whole besides; of a mix what describes
/// them. Only reflection talks to the target, and that ends where `stop` asks for the end.
pub(crate) fn call(arguments: &Load, plan: &mut Plan, stop: &Stop) -> Result<(), Failure> {
    if !is_grpc(plan) {
        return Ok(());
    }
    let source = match &arguments.protoset {
        Some(file) => Source::Protoset(file.clone()),
        None if arguments.proto.is_empty() => Source::Reflection,
        None => Source::Proto {
            files: arguments.proto.clone(),
            import_paths: arguments.import_path.clone(),
        },
    };
    let asked = plan.clone();
    if let Some(workload) = &mut plan.workload {
        workload.methods = load::unless_stopped(stop, move || grpc::describe(&asked, &source))?;
        return plan.validate().map_err(Failure::usage);
    }
    let json = arguments.body.as_deref().map(read_json).transpose();
    let json = json.map_err(Failure::usage)?;
    let method = load::unless_stopped(stop, move || Method::find(&asked, &source))?;
    let messages = method.call(json.as_deref()).map_err(Failure::usage)?;
    if let Protocol::Grpc { call, .. } = &mut plan.protocol {
        *call = Call {
            deadline_s: call.deadline_s,
            ..messages
        };
    }
    plan.validate().map_err(Failure::usage)
}

fn read_json(text: &str) -> Result<String, String> {
    String::from_utf8(read_body(text)?).map_err(|_| "-b: a JSON message must be UTF-8".to_string())
}

#[cfg(test)]
pub(super) mod tests {
    use load::plan::{Family, HostPort};
    use load::protocol::Compress;

    use super::*;
    use crate::args::{self, Parsed, Verb};

    pub(in crate::run) fn planned(words: &str) -> Result<Plan, String> {
        let words = ["ringside", "run"]
            .into_iter()
            .chain(words.split_whitespace());
        let parsed = match args::parse(words.map(Into::into)) {
            Parsed::Do(parsed) => parsed,
            Parsed::Wrong(text) | Parsed::Answer(text) => return Err(text),
        };
        let Verb::Run(arguments) = parsed.verb else {
            return Err("another verb".to_string());
        };
        plan(&arguments)
    }

    const URL: &str = "http://127.0.0.1:8080/";

    #[test]
    fn wrks_letters_mean_what_they_mean_in_wrk() {
        let plan = planned(&format!("-t2 -c1k -d2m -H X-A:b --timeout 500ms {URL}")).unwrap();
        assert_eq!((plan.threads, plan.connections), (2, 1000));
        assert_eq!((plan.duration_s, plan.timeout_s), (Some(120.0), 0.5));
        assert_eq!(plan.request.headers, [("X-A".to_string(), "b".to_string())]);
        assert_eq!(plan.schedule, Schedule::Closed);
        let plan = planned(&format!("-R 2k -d30 {URL}")).unwrap();
        assert_eq!(plan.schedule, Schedule::Constant { rate: 2000.0 });
    }

    #[test]
    fn what_is_expected_is_in_the_plan_and_only_of_http() {
        let plan = planned(&format!("--expect status=200,404 --expect body~a {URL}")).unwrap();
        let expected: Vec<String> = plan.expect.iter().map(ToString::to_string).collect();
        assert_eq!(expected, ["status=200,404", "body~a"]);
        assert!(planned(&format!("--http2 --expect body~a {URL}")).is_ok());
        for url in ["ws://h/", "grpc://h:1/package.Service/Method"] {
            let text = planned(&format!("--expect body~a {url}")).unwrap_err();
            assert!(text.contains("applies to HTTP/1.1 and HTTP/2"), "{text}");
        }
        let secret = planned(&format!("--expect header:set-cookie=canary-1 {URL}")).unwrap();
        let recorded = secret.recorded();
        assert!(!recorded.expect[0].to_string().contains("canary"));
    }

    #[test]
    fn what_is_done_with_answers_is_in_the_plan_and_only_of_http() {
        let plan = planned(&format!("--follow 3 --cookies --compressed {URL}")).unwrap();
        assert_eq!(
            (plan.follow, plan.cookies, plan.compressed),
            (3, true, true)
        );
        let asked = |plan: &Plan| plan.request.headers.clone();
        let accepted = ("Accept-Encoding".to_string(), "gzip, deflate".to_string());
        let own = (accepted.0.clone(), "br".to_string());
        assert_eq!(asked(&plan)[0], accepted);
        let plan = planned(&format!("--compressed -H Accept-Encoding:br {URL}")).unwrap();
        assert_eq!(asked(&plan), [own]);
        let plan = planned(&format!("--template --compressed {URL}")).unwrap();
        let workload = plan.workload.unwrap();
        assert_eq!(workload.steps[0].request.headers, [accepted]);
        assert!(planned(&format!("--http2 -S 9 --follow 3 --cookies {URL}")).is_ok());
        let call = "grpc://h:1/package.Service/Method";
        let plan = planned(&format!("--compressed --compress gzip {call}")).unwrap();
        assert_eq!(
            (plan.compressed, plan.compress),
            (true, Some(Compress::Gzip))
        );
        assert!(
            asked(&plan).is_empty(),
            "heads of calls say it by themselves"
        );
        for flag in ["--follow 1", "--cookies"] {
            for url in ["ws://h/", call] {
                let text = planned(&format!("{flag} {url}")).unwrap_err();
                assert!(text.contains("applies to HTTP/1.1 and HTTP/2"), "{text}");
            }
        }
        assert!(planned("--compressed ws://h/").is_err());
        assert!(planned(&format!("--compress gzip {URL}")).is_err());
    }

    #[test]
    fn what_ends_a_run_is_what_was_asked_for() {
        let ends = |words: &str| {
            let plan = planned(&format!("{words} {URL}")).unwrap();
            (plan.duration_s, plan.count)
        };
        assert_eq!(ends(""), (Some(10.0), None));
        assert_eq!(ends("-n 5"), (None, Some(5)));
        assert_eq!(ends("-n 5 -d 3"), (Some(3.0), Some(5)));
        assert_eq!(ends("--stages 10:20@3s"), (None, None));
    }

    #[test]
    fn a_body_makes_it_a_post_unless_a_method_says_otherwise() {
        let method = |words: &str| planned(&format!("{words} {URL}")).unwrap().request.method;
        assert_eq!(method(""), "GET");
        assert_eq!(method("-b x"), "POST");
        assert_eq!(method("-b x -m PUT"), "PUT");
    }

    #[test]
    fn arguments_that_do_not_go_together_are_refused_with_a_way_out() {
        let table = [
            ("--pick random", "add --targets"),
            ("--data x=y", "to send a body, use -b"),
            ("-s a.lua --http2", "scripts send HTTP/1.1"),
            ("-s a.lua --template", "use only one of them"),
            ("-R 10 --stages 1:2@3s", "only one of"),
            ("-d 3 --stages 1:2@3s", "drop -d"),
            ("--arrivals poisson", "-R or --stages"),
            ("-c 2 -t 4", "at least 4"),
            ("-c 0", "out of range"),
            ("-b @/nonexistent", "can't read"),
            ("-b @/dev/null", "drop -b"),
            ("--unix-socket a --interface lo", "contradict"),
            ("--unix-socket a --proxy x:1", "contradict"),
            ("--connect-to :::1 --proxy x:1", "contradict"),
            ("--proxy x", "the port is missing; write http://"),
            ("--proxy socks5://x:1", "plain HTTP to proxies, not socks5"),
            ("--proxy [::1]:1 -4", "::1 isn't an IPv4 address"),
            ("--proxy [::1]:1 --source-ip 127.0.0.2", "one is IPv4"),
            ("--interface ::1", "one is IPv4"),
            ("--interface a/b", "expected a network device such as eth0"),
            ("--interface 127.0.0.2 --source-ip 127.0.0.3", "only one"),
            ("--unix-socket a --source-ip 127.0.0.2", "contradict"),
            ("--unix-socket a --connect-to :::1", "contradict"),
            ("--source-ip ::1", "one is IPv4"),
            ("-6", "127.0.0.1 isn't an IPv6 address: drop --ipv6"),
            ("-4 -6", "cannot be used with"),
            ("-4 --unix-socket a", "contradict"),
            ("--no-keepalive --pipeline 2", "--pipeline must be 1"),
            ("--http2 --no-keepalive -S 2", "-S must be 1"),
            ("--http2 --pipeline 2", "doesn't pipeline"),
            ("--http2 -S 0", "out of range"),
            ("--http2 --h2-stream-window 2G", "out of range"),
            ("--http2 --h2-connection-window 1K", "at least 65535"),
            ("--http2 --header-table-size 1G", "out of range"),
            ("--http2 --header-table-size 8G", "is too large"),
            ("-S 2", "add --http2"),
            ("--header-table-size 0", "add --http2"),
            ("--stages 5", "FROM:TO@TIME"),
            ("--stages 0:0@1s", "rate"),
            ("-d 0", "above zero"),
            ("-d ten", "duration"),
            ("-R 10/fortnight", "rate"),
            ("-H nonsense", "Name: value"),
            ("-u nobody", "write NAME:PASSWORD"),
            ("--threshold p99", "threshold"),
            (
                "--expect 200",
                "--expect: this isn't a rule: write status=2xx,",
            ),
            ("--expect status=2xx --expect status=304", "expected twice"),
            ("--expect json:a", "isn't a JSONPath"),
            ("--engine kqueue", "uring"),
            ("--cpus 0-", "0,2-5"),
            ("--cpus 1023", "it may use"),
            ("--proto a.proto", "--proto applies to gRPC"),
            ("--metadata a:b", "--metadata applies to gRPC"),
            ("--metadata {\"a\":\"b\"}", "repeat the flag"),
            ("--deadline 1s", "--deadline applies to gRPC"),
            ("--proto a --protoset b", "cannot be used with"),
            ("-i protos", "--proto"),
        ];
        for (words, part) in table {
            let text = planned(&format!("{words} {URL}")).unwrap_err();
            assert!(text.contains(part), "{words}: {text}");
        }
    }

    #[test]
    fn what_is_asked_of_tls_is_in_the_plan() {
        let url = "https://localhost/";
        let tls = planned(url).unwrap().tls.unwrap();
        assert_eq!(tls, load::protocol::Tls::default());
        let words = "--cacert a --cert b --key c --sni d --no-session-resumption";
        let tls = planned(&format!("{words} {url}")).unwrap().tls.unwrap();
        assert_eq!(tls.ca_file, Some("a".into()));
        assert_eq!(tls.certificate_file, Some("b".into()));
        assert_eq!(tls.key_file, Some("c".into()));
        assert_eq!(tls.server_name.as_deref(), Some("d"));
        assert!(!tls.resumption && !tls.insecure);
        assert!(planned(&format!("-k {url}")).unwrap().tls.unwrap().insecure);
        assert_eq!(planned(URL).unwrap().tls, None);
    }

    #[test]
    fn http2_is_used_as_asked_for_and_by_grpc_without_asking() {
        let words = "--http2 -S 100 --h2-stream-window 1M --header-table-size 0";
        let plan = planned(&format!("{words} {URL}")).unwrap();
        let http2 = plan.protocol.http2().unwrap();
        assert_eq!((http2.streams, plan.depth()), (100, 100));
        assert_eq!(
            (http2.stream_window_bytes, http2.header_table_bytes),
            (1 << 20, 0)
        );
        assert_eq!(http2.connection_window_bytes, 16 << 20);
        let plan = planned("-S 7 grpc://127.0.0.1:1/package.Service/Method").unwrap();
        assert_eq!(plan.depth(), 7);
        let text = planned("--http2 ws://127.0.0.1/").unwrap_err();
        assert!(text.contains("drop --http2"), "{text}");
    }

    #[test]
    fn the_version_of_ip_is_in_the_plan() {
        for (words, family) in [
            ("", None),
            ("-4", Some(Family::Ipv4)),
            ("--ipv6", Some(Family::Ipv6)),
        ] {
            let plan = planned(&format!("{words} http://localhost/")).unwrap();
            assert_eq!(plan.family, family, "{words}");
        }
    }

    #[test]
    fn many_source_addresses_make_room_for_many_connections() {
        let plan = planned(&format!("-c 30k --source-ip 127.0.1.0/28 {URL}")).unwrap();
        assert_eq!(plan.source_addresses.len(), 14);
    }

    #[test]
    fn an_interface_is_a_device_or_an_address() {
        let plan = planned(&format!("--interface eth0 --source-ip 127.0.0.2 {URL}")).unwrap();
        assert_eq!(plan.interface.as_deref(), Some("eth0"));
        assert_eq!(plan.source_addresses.len(), 1);
        let plan = planned(&format!("--interface 127.0.0.2 {URL}")).unwrap();
        assert_eq!(plan.interface, None);
        assert_eq!(plan.source_addresses[0].to_string(), "127.0.0.2");
    }

    #[test]
    fn a_proxy_is_in_the_plan_and_its_password_in_nothing_that_is_written() {
        let plan = planned(&format!("--proxy http://me:canary@p:3128 {URL}")).unwrap();
        let proxy = plan.proxy.clone().unwrap();
        assert_eq!(proxy.place(), "p:3128");
        assert_eq!(proxy.authorization.as_deref(), Some("Basic bWU6Y2FuYXJ5"));
        let recorded = serde_json::to_string(&plan.recorded()).unwrap();
        assert!(
            recorded.contains("\"authorization\":\"redacted:"),
            "{recorded}"
        );
        assert!(!recorded.contains("bWU6Y2FuYXJ5"), "{recorded}");
        for words in [
            "--proxy https://me:canary@p:1",
            "--proxy http://me:canary@p",
        ] {
            let text = planned(&format!("{words} {URL}")).unwrap_err();
            assert!(!text.contains("canary"), "{text}");
        }
    }

    #[test]
    fn the_first_rule_that_matches_says_where_to_connect() {
        let rules = "--connect-to other:80:a:1 --connect-to 127.0.0.1::b: --connect-to ::c:3";
        let plan = planned(&format!("{rules} {URL}")).unwrap();
        assert_eq!(
            plan.target.connect_to,
            Some(HostPort {
                host: "b".to_string(),
                port: 8080
            })
        );
    }
}
