//! What has been read differently by a proxy and the server behind it, sent through the gateway to
//! several servers: all of them have to answer the same requests, those that the gateway read.
//!
//! All cases share one connection to the server, and each has paths of its own: if a server once
//! reads another request than the gateway sent, answers come to the wrong client from then on.

#[path = "../../../tests/desync_requests.rs"]
mod desync_requests;

use super::servers::{go, nginx};
use super::support::{Client, Do, Gateway, Origin, in_front_of};

use desync_requests::Case;

/// The answers on a connection until its end: the path that the server names, without what is the
/// case's own, or the class of the status.
fn answers(mut client: Client, number: usize) -> Vec<String> {
    let own = format!("/{number:02}/");
    let mut answers = Vec::new();
    while matches!(client.0.peek(&mut [0]), Ok(1)) {
        let said = client.next(false);
        if said.status < 200 {
            continue;
        }
        answers.push(match said.status {
            200 => {
                let text = said.text();
                let path = text.split([' ', '|']).nth(1).unwrap_or_default();
                path.strip_prefix(&own).unwrap_or(path).to_owned()
            }
            other => format!("{}xx", other / 100),
        });
    }
    answers
}

/// Sends all cases at once, since a refusal listens for a while before it closes, and holds what
/// comes back against what they say.
fn held_against(who: &str, gateway: &Gateway, cases: &[Case]) {
    let clients: Vec<Client> = cases
        .iter()
        .map(|case| {
            let mut client = gateway.connect();
            client.write(case.raw.as_bytes());
            client
        })
        .collect();
    let mut wrong = Vec::new();
    for (number, (client, case)) in clients.into_iter().zip(cases).enumerate() {
        let came = answers(client, number);
        if came != case.answers {
            wrong.push(format!("{}: {came:?}, not {:?}", case.what, case.answers));
        }
    }
    assert!(wrong.is_empty(), "{who}:\n{}", wrong.join("\n"));
    // The connection to the server is where it should be.
    let after = gateway.get("/after").text();
    assert!(after.starts_with("GET /after"), "{who}: {after}");
}

#[test]
fn every_server_behind_the_gateway_answers_the_requests_that_it_read_and_no_others() {
    let cases = desync_requests::all();
    let ours = Origin::new(|seen| Do::answer(seen.line()));
    let (nginx, go) = (nginx(), go());
    let real = [("nginx", &nginx), ("a server in Go", &go)];
    let real = real.iter().filter_map(|(who, server)| {
        let server = server.as_ref()?;
        Some((*who, server.address()))
    });
    let all: Vec<_> = real.chain([("a plain server", ours.address)]).collect();
    for (who, address) in all {
        let one = "limits = { connections = 1, waiting = 1000 }";
        let gateway = Gateway::start(&in_front_of(&[address], one));
        held_against(who, &gateway, &cases);
    }
    // Our own server behind the gateway, over both protocols.
    let gateway = Gateway::start(&in_front_of(&[ours.address], ""));
    for protocol in ["http1", "h2c"] {
        let more = format!("protocol = \"{protocol}\"\nlimits = {{ connections = 1 }}");
        let front = Gateway::start(&in_front_of(&[gateway.address()], &more));
        held_against(protocol, &front, &cases);
    }
    let seen = ours.seen();
    assert!(seen.iter().all(|one| !one.line().contains("smuggled")));
}

#[test]
fn without_the_gateway_a_server_reads_what_it_must_not() {
    let Some(nginx) = nginx() else {
        return;
    };
    let cases = desync_requests::all();
    let what = "a head that ends with line feeds";
    let mut numbered = (0..).zip(&cases);
    let (number, case) = numbered
        .find(|(_, case)| case.what == what)
        .expect("it's one");
    let mut client = Client::connect(nginx.address());
    client.write(case.raw.as_bytes());
    assert_eq!(answers(client, number), ["a", "/smuggled", "end"]);
}
