//! Requests that carry a colour: counted apart by the generator, by the gateway that they pass, and
//! by the server that answers them, and alike by all three.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::child::{Folder, Server, assert_says, ringside, step, until};
use super::prometheus::get;
use super::scraped_servers::{Gateway, value};

/// The colours, their weights, and what requests of each ask for: the last isn't there.
const COLOURS: [(&str, u32, &str); 3] = [
    ("blue", 70, "/json"),
    ("green", 25, "/json"),
    ("red", 5, "/status/404"),
];

const REQUESTS: u64 = 3000;

/// Routes that choose by colour, and a log of what they took.
fn routes(log: &str) -> String {
    let route = |(colour, _, _)| {
        format!(
            "[[route]]\nname = \"{colour}\"\nheader = {{ x-colour = \"{colour}\" }}\n\
             upstream = \"a\"\n"
        )
    };
    let routes: String = COLOURS.map(route).concat();
    format!("[log]\nfile = {log:?}\n{routes}")
}

/// The recipe of the reference: a request for each colour.
fn mix(base: &str) -> String {
    let request = |(colour, weight, path)| {
        format!("### {colour}\n# @weight {weight}\nGET {base}{path}\nX-Colour: {colour}\n\n")
    };
    COLOURS.map(request).concat()
}

/// How many lines of the log each route has.
fn logged(log: &str) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let mut routes = BTreeMap::new();
    // The last line may be half written.
    for line in text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
    {
        let entry: Value = serde_json::from_str(line).unwrap();
        let route = entry["route"].as_str().unwrap_or_default().to_owned();
        *routes.entry(route).or_default() += 1;
    }
    routes
}

/// How many requests of each colour were sent, all of which ended as they should.
fn sent(record: &Value) -> [(&'static str, u64); 3] {
    COLOURS.map(|(colour, weight, _)| {
        let step = step(record, colour);
        let of = |which: &str| step[which].as_u64().unwrap();
        let (well, badly) = (of("completed"), of("failed"));
        let unexpected = if colour == "red" { well } else { badly };
        assert_eq!((unexpected, of("unfinished")), (0, 0), "{step}");
        let (all, share) = (REQUESTS as f64, f64::from(weight) / 100.0);
        // Six standard deviations of a binomial law.
        let off = 6.0 * (all * share * (1.0 - share)).sqrt();
        let ended = well + badly;
        assert!((ended as f64 - all * share).abs() < off, "{step}");
        (colour, ended)
    })
}

/// How many requests a route of the gateway has taken, by its metrics.
fn routed(metrics: &str, route: &str) -> u64 {
    let of = |class| {
        let labels = format!("route=\"{route}\",class=\"{class}\"");
        let sample = format!("ringside_gateway_requests_total{{{labels}}}");
        value(metrics, &sample) as u64
    };
    ["2xx", "3xx", "4xx", "5xx", "gone"].map(of).iter().sum()
}

#[test]
fn each_colour_is_counted_alike_by_the_generator_the_gateway_and_the_server() {
    let (server, folder) = (Server::start(&["--count-by", "X-Colour"]), Folder::new());
    let log = folder.path("access.log");
    let gateway = Gateway::start(&[&server.url], &routes(&log));
    let file = folder.write("colours.http", &mix(&gateway.url));
    let count = REQUESTS.to_string();
    let words = ["run", "--targets", &file, "-n", &count, "-c8", "-t2"];
    let record = ringside(&[&words[..], &["--format", "json"]].concat()).record();
    let sent = sent(&record);
    assert_eq!(sent.iter().map(|(_, count)| count).sum::<u64>(), REQUESTS);
    let mut passed = String::new();
    until("the gateway has counted them", || {
        passed = get(gateway.admin, "/metrics").expect("metrics");
        let all = COLOURS.map(|(colour, _, _)| routed(&passed, colour));
        all.iter().sum::<u64>() >= REQUESTS
    });
    let answered = get(server.port(), "/metrics").expect("metrics");
    for (colour, count) in sent {
        assert_eq!(routed(&passed, colour), count, "{colour}: {passed}");
        let labels = format!("header=\"x-colour\",value=\"{colour}\"");
        let sample = format!("ringside_requests_by_header_total{{{labels}}}");
        let came = value(&answered, &sample) as u64;
        assert_eq!(came, count, "{colour}: {answered}");
    }
    assert_eq!(routed(&passed, "all"), 0, "what has no colour");
    until("the log has them", || {
        logged(&log).values().sum::<u64>() >= REQUESTS
    });
    let expected = sent.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(logged(&log), BTreeMap::from(expected));
}

#[test]
fn each_colour_has_its_rate_errors_and_times_in_every_format_and_its_thresholds() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let file = folder.write("colours.http", &mix(&server.url));
    let words = |format| {
        let words = [
            "run",
            "--targets",
            &file,
            "-n2000",
            "-c4",
            "--format",
            format,
        ];
        let rules = [
            "--threshold",
            "p99{green}<1m",
            "--threshold",
            "errors{red}<1%",
        ];
        ringside(&[&words[..], &rules].concat())
    };
    let text = words("text");
    assert_eq!(text.code, Some(99), "{}", text.stderr);
    assert_says(&text.stderr, "p99{green}<1m holds");
    assert_says(&text.stderr, "errors{red}<1% crossed");
    let page = words("html").stdout;
    let record = words("json").record();
    for (colour, _, _) in COLOURS {
        // Share, rate, errors, and response times.
        let line = text
            .stdout
            .lines()
            .find(|line| line.trim_start().starts_with(colour));
        let line = line.unwrap_or_else(|| panic!("{colour}: {}", text.stdout));
        assert!(line.split_whitespace().count() >= 7, "{line}");
        assert_says(&page, &format!(">{colour}<"));
        let step = step(&record, colour);
        // Of requests that are answered well.
        let rate = step["achieved_rate"].as_f64().unwrap();
        assert_eq!(rate > 0.0, colour != "red", "{step}");
        for time in ["mean", "min", "max"] {
            assert!(
                step["response_time_us"][time].as_f64().unwrap() > 0.0,
                "{step}"
            );
        }
        let failed = step["errors"]["unexpected_status"].as_u64().unwrap_or(0);
        assert_eq!(failed > 0, colour == "red", "{step}");
    }
}
