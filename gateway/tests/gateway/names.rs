//! Servers that are known by name: all addresses of a name are servers, and when it leads
//! elsewhere, so do requests.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use measure::time::{Time, sleep_until};

use super::support::{Client, Gateway, Origin, PATIENCE, on_each_engine};

#[test]
fn a_name_is_looked_up_before_the_first_request() {
    on_each_engine(|engine| {
        let origin = Origin::named("named");
        let port = origin.address.port();
        // All that the name leads to are servers; of those that aren't there another is asked.
        let text = format!(
            "[upstream.a]\nservers = [\"localhost:{port}\"]\nretry = {{ budget = \"100%\" }}\n\
             [[route]]\nupstream = \"a\"\n"
        );
        let gateway = Gateway::on(engine, &text);
        assert!((0..10).all(|_| gateway.get("/").text() == "named"));
    });
}

#[test]
fn a_name_that_leads_nowhere_keeps_nobody_else_from_being_served() {
    let origin = Origin::named("here");
    let text = format!(
        "[upstream.a]\nservers = [\"nobody.invalid:80\"]\n\
         [upstream.b]\nservers = [\"nobody.invalid:80\", \"{}\"]\n\
         [[route]]\nupstream = \"b\"\n[[route]]\npath = \"/a\"\nupstream = \"a\"\n",
        origin.address
    );
    let gateway = Gateway::start(&text);
    assert_eq!(gateway.get("/").text(), "here");
    let said = gateway.get("/a");
    assert_eq!(said.status, 503, "{said:?}");
    assert!(
        said.text().contains("no server of this upstream"),
        "{said:?}"
    );
}

/// The program in a mount namespace of its own, where this file is /etc/hosts (hosts(5),
/// mount_namespaces(7)); `None` where that isn't permitted.
fn with_hosts(folder: &Path) -> Option<Child> {
    let own = "mount --bind hosts /etc/hosts && exec \"$0\" --config gateway.toml";
    let of_root: &[&str] = &["--mount"];
    let of_others: &[&str] = &["--mount", "--user", "--map-root-user"];
    let may = |namespaces: &&[&str]| {
        let tried = Command::new("unshare")
            .args(*namespaces)
            .args(["mount", "--bind", "hosts", "/etc/hosts"])
            .current_dir(folder)
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    };
    let namespaces = [of_root, of_others].into_iter().find(may)?;
    let child = Command::new("unshare")
        .args(namespaces)
        .args(["sh", "-c", own, env!("CARGO_BIN_EXE_ringside-gateway")])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    Some(child.expect("unshare was there a moment ago"))
}

/// Ends with the test.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_name_that_leads_elsewhere_takes_requests_along() {
    let (old, new) = (Origin::named("old"), Origin::named("new"));
    // Each is at an address of its own, at the same port: a relay in front of it.
    let port = {
        let free = TcpListener::bind("127.0.0.2:0").expect("a free port");
        free.local_addr().expect("it has one").port()
    };
    let _relays = [("127.0.0.2", &old), ("127.0.0.3", &new)].map(|(address, origin)| {
        let text = super::support::in_front_of(&[origin.address], "");
        let listen = format!("[listen]\naddress = \"{address}:{port}\"\n");
        let config = gateway::Config::of("relay", &format!("{listen}{text}"));
        let config = config.expect("it's in order");
        Relay(Some(
            gateway::start(config, &server::Stop::new()).expect("a free port"),
        ))
    });
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a file");
    };
    write("hosts", "127.0.0.2 app.test\n");
    write(
        "gateway.toml",
        &format!(
            "[listen]\naddress = \"127.0.0.1:0\"\n[upstream.a]\nservers = [\"app.test:{port}\"]\n\
             resolve = \"50ms\"\n[[route]]\nupstream = \"a\"\n"
        ),
    );
    let Some(child) = with_hosts(folder.path()) else {
        return crate::skip::not_permitted("no mount namespace of our own: names stay as they are");
    };
    let mut ending = Ending(child);
    let said = ending.0.stderr.take().expect("it's a pipe");
    let mut lines = BufReader::new(said).lines();
    let at: SocketAddr = loop {
        let line = lines.next().expect("it says where it listens");
        let line = line.expect("text");
        if let Some(rest) = line.strip_prefix("listening on ") {
            let address = rest.split(' ').next().expect("an address");
            break address.parse().expect("an address");
        }
    };
    let until = |text: &str| {
        let end = Time::now() + 2 * PATIENCE;
        loop {
            assert!(Time::now() < end, "nobody answers {text:?}");
            let mut client = Client::connect(at);
            client.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
            let said = client.answer(false);
            assert_eq!(said.status, 200, "{said:?}");
            if said.text() == text {
                return;
            }
            sleep_until(Time::now() + std::time::Duration::from_millis(10));
        }
    };
    until("old");
    write("hosts", "127.0.0.3 app.test\n");
    until("new");
    // One that leads nowhere any more stays where it was.
    write("hosts", "127.0.0.1 localhost\n");
    let stays = Time::now() + std::time::Duration::from_millis(300);
    while Time::now() < stays {
        until("new");
    }
}

/// A gateway that ends with the test.
struct Relay(Option<gateway::Running>);

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.stop();
            let _ = running.join();
        }
    }
}
