//! A server that runs already: known by its URL, watched by its process where that can be seen, and
//! left as it is.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use load::plan::Target;
use load::protocol::Tls;
use measure::process::Listing;
use measure::time::Time;
use rustix::process::{Pid, geteuid};

use crate::cores::of_process;
use crate::listening;

/// The first process of a host, which may listen for others until they are needed
/// (systemd.socket(5)).
const INIT: u32 = 1;
/// What listens in place of a container whose ports are published.
const PROXY: &str = "docker-proxy";
/// How long a name may take to be resolved, before it's taken for another machine's.
const RESOLVED_WITHIN: Duration = Duration::from_secs(1);
/// The same where somebody asked for all addresses of a name.
const LISTED_WITHIN: Duration = Duration::from_secs(10);

/// A server that nobody here has started.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    /// Name or address, without brackets.
    pub host: String,
    /// The one of its addresses that is asked; none: as its name is resolved.
    pub address: Option<IpAddr>,
    /// Where it listens.
    pub port: u16,
    /// Whether it is on this host for certain.
    pub is_here: bool,
    /// How it is secured, if it is.
    pub tls: Option<Tls>,
    /// Its first process, or why that isn't known, as the rest of a sentence.
    pub root: Result<Root, String>,
}

/// The first process of a server: those that it started belong to it, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel cuts it.
    pub name: String,
    /// When it started, in ticks since the machine did, which tells it from another one that gets
    /// its number.
    pub started: u64,
}

impl Running {
    /// The server at `url`, which is that of the process `pid`, or of whoever listens there, and
    /// secured like `tls` if it speaks that; and the path that the URL names.
    ///
    /// # Errors
    /// A sentence: what is wrong with the URL or the process.
    pub fn find(url: &str, pid: Option<u32>, tls: &Tls) -> Result<(Running, String), String> {
        Running::find_at(url, None, pid, tls)
    }

    /// The same at one `address` of the host that the URL names.
    ///
    /// # Errors
    /// As [`Running::find`].
    pub fn find_at(
        url: &str,
        address: Option<IpAddr>,
        pid: Option<u32>,
        tls: &Tls,
    ) -> Result<(Running, String), String> {
        let target = Target::parse(url).map_err(|invalid| invalid.to_string())?;
        if !["http", "https"].contains(&target.scheme.as_str()) {
            return Err(format!(
                "--url takes http:// and https://, not {}://: other protocols are compared with a \
                 file",
                target.scheme
            ));
        }
        let listing = Listing::take();
        let mut asked = target.clone();
        if let Some(address) = address {
            asked.host = address.to_string();
        }
        let own = addresses(&asked.host);
        let root = match pid {
            Some(pid) => Ok(named(pid, &own, asked.port, &listing)?),
            None => found(&asked, &own, &listing),
        };
        let running = Running {
            is_here: pid.is_some() || !own.is_empty(),
            address,
            tls: target.is_secure().then(|| tls.clone()),
            host: target.host,
            port: target.port,
            root,
        };
        Ok((running, target.path))
    }

    /// Its URL without a path, which may hold secrets.
    pub fn origin(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        format!("{scheme}://{host}:{}", self.port)
    }

    /// A short name for it: its address if it's one of several of a name, else its port where it is
    /// on this host, else its host and port.
    pub fn short_name(&self) -> String {
        match (self.address, self.is_here) {
            (Some(IpAddr::V4(address)), _) => address.to_string(),
            (Some(IpAddr::V6(address)), _) => format!("ipv6-{address}").replace(':', "-"),
            (None, is_here) => self.name_by_port(is_here),
        }
    }

    fn name_by_port(&self, is_here: bool) -> String {
        match is_here {
            true => format!("port-{}", self.port),
            false => format!("{}-{}", self.host, self.port),
        }
    }

    /// The cores that its first process may use, if that is known.
    pub fn cores(&self) -> Option<Vec<usize>> {
        of_process(Some(Pid::from_raw(self.pid()?.cast_signed())?)).ok()
    }

    /// The command line of its first process and the folder that it runs in, if they can be read.
    pub fn called(&self) -> Option<Vec<u8>> {
        let pid = self.pid()?;
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        let mut called = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        called.push(b'\n');
        called.extend(folder.as_os_str().as_bytes());
        Some(called)
    }

    /// The number of its first process, if that is known.
    pub fn pid(&self) -> Option<u32> {
        self.root.as_ref().ok().map(|root| root.pid)
    }

    /// What became of it, if its process is known and gone.
    pub(crate) fn ended(&self) -> Option<String> {
        let root = self.root.as_ref().ok()?;
        let listing = Listing::take();
        let is_same = Root::of(root.pid, &listing).as_ref() == Some(root);
        let is_there = is_same && !has_exited(root.pid);
        (!is_there).then(|| {
            format!(
                "its process {} ({}) is gone (start it again and continue with --resume)",
                root.pid, root.name
            )
        })
    }
}

/// Has those whose processes belong to each other not know them: what one of them used can't be
/// told from what the other did. One process may be several servers, which are measured in turn.
pub fn tell_apart(all: &mut [&mut Running]) {
    let listing = Listing::take();
    let roots: Vec<Root> = all.iter().filter_map(|one| one.root.clone().ok()).collect();
    for running in all {
        let Ok(own) = &running.root else { continue };
        let within = |other: &&Root| {
            other.pid != own.pid
                && (listing.tree(other.pid).contains(&own.pid)
                    || listing.tree(own.pid).contains(&other.pid))
        };
        if let Some(other) = roots.iter().find(within) {
            let what = format!(
                "its process {} ({}) and that of another server, {} ({}), belong to each other",
                own.pid, own.name, other.pid, other.name
            );
            running.root = Err(what);
        }
    }
}

impl Root {
    fn of(pid: u32, listing: &Listing) -> Option<Root> {
        let listed = listing.all().iter().find(|one| one.pid == pid)?;
        Some(Root {
            pid,
            name: listed.name.clone(),
            started: listed.started,
        })
    }
}

/// Whether nothing is left of a process but the entry that its parent hasn't reaped (proc(5),
/// /proc/PID/stat).
fn has_exited(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name, in parentheses, may hold anything.
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|rest| rest.starts_with(['Z', 'X']))
}

/// The addresses of a host that is this one for certain: none of another, and of a name unless all
/// that it stands for are of the loopback (127.0.0.0/8, RFC 1122 §3.2.1.3; ::1).
fn addresses(host: &str) -> Vec<IpAddr> {
    let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    match host.parse::<IpAddr>() {
        _ if host.eq_ignore_ascii_case("localhost") => loopback.into(),
        // A connection to no address goes to this host (ip(7), INADDR_ANY).
        Ok(address) if address.is_unspecified() && address.is_ipv4() => loopback[..1].into(),
        Ok(address) if address.is_unspecified() => loopback[1..].into(),
        // Only its own addresses can be bound. Nothing is sent.
        Ok(address) if UdpSocket::bind((address, 0)).is_ok() => vec![address],
        Ok(_) => Vec::new(),
        Err(_) => {
            let found = names::look_up(host, 0, None, Time::now() + RESOLVED_WITHIN);
            if_loopback(found.iter().flatten().map(SocketAddr::ip).collect())
        }
    }
}

/// These addresses of a name if all are of the loopback; none if one leads elsewhere.
fn if_loopback(found: Vec<IpAddr>) -> Vec<IpAddr> {
    match found.iter().all(IpAddr::is_loopback) {
        true => found,
        false => Vec::new(),
    }
}

/// All addresses of the name in `url`, each of which is a server by itself: each once, in an order
/// that doesn't change from one time to the next. Of a URL with an address that is none to choose.
///
/// # Errors
/// The name isn't one, or nobody says what its addresses are.
pub fn each_address(url: &str) -> Result<Vec<Option<IpAddr>>, String> {
    let target = Target::parse(url).map_err(|invalid| invalid.to_string())?;
    if target.host.parse::<IpAddr>().is_ok() {
        return Ok(vec![None]);
    }
    let (host, port) = (&target.host, target.port);
    let found = names::look_up(host, port, None, Time::now() + LISTED_WITHIN);
    let found = found.map_err(|error| {
        format!("--each-address: the addresses of {host} can't be found out: {error}")
    })?;
    let mut found: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
    found.sort_unstable();
    found.dedup();
    Ok(found.into_iter().map(Some).collect())
}

/// The process that somebody named, which has to listen there itself or by one that it started.
fn named(pid: u32, own: &[IpAddr], port: u16, listing: &Listing) -> Result<Root, String> {
    let Some(root) = Root::of(pid, listing) else {
        return Err(format!(
            "--pid {pid}: there's no such process; leave --pid out, and the process that listens \
             on port {port} is found"
        ));
    };
    let name = &root.name;
    if fs::read_dir(format!("/proc/{pid}/fd")).is_err() {
        let owner = fs::metadata(format!("/proc/{pid}")).map_or(0, |facts| facts.uid());
        return Err(format!(
            "--pid {pid}: process {pid} ({name}) belongs to user {owner}, and you are user {}, so \
             we can't see what it listens on: run ringside as that user, or leave --pid out and \
             go without CPU time",
            geteuid().as_raw()
        ));
    }
    let tree = listing.tree(pid);
    if tree.contains(&std::process::id()) {
        return Err(format!(
            "--pid {pid}: ringside itself belongs to process {pid} ({name}), so the load would \
             count as the server's: give the process of the server alone"
        ));
    }
    // The port of a container needn't be the one that it listens on inside.
    let shares_network = is_in_own_network(pid);
    if shares_network && !listening::ports(&tree).contains(&port) {
        return Err(format!(
            "--pid {pid}: process {pid} ({name}) doesn't listen on port {port}, nor does anything \
             that it started; give the --pid of each --url in the same order"
        ));
    }
    let all = listeners(own, port, listing);
    let mut others = all.iter().filter(|other| !tree.contains(&other.pid));
    match others.next().filter(|_| shares_network) {
        None => Ok(root),
        Some(other) => Err(format!(
            "--pid {pid}: process {} ({}) listens on port {port}, too, and gets some of the \
             requests: stop one of them, or give the process that started both",
            other.pid, other.name
        )),
    }
}

/// Whether it is in the network that this process is in, and not a container's. One that can't be
/// seen is taken to be.
fn is_in_own_network(pid: u32) -> bool {
    let network =
        |of: &str| -> Option<PathBuf> { fs::read_link(format!("/proc/{of}/ns/net")).ok() };
    match network(&pid.to_string()) {
        Some(its) => Some(its) == network("self"),
        None => true,
    }
}

/// Whoever listens at these addresses of this host, as far as that can be seen. Not the first
/// process of the host, where it only keeps the socket of another.
fn listeners(own: &[IpAddr], port: u16, listing: &Listing) -> Vec<Root> {
    let all: Vec<u32> = listing.all().iter().map(|one| one.pid).collect();
    let mut pids: Vec<u32> = own
        .iter()
        .flat_map(|address| listening::listeners(&all, *address, port))
        .collect();
    pids.sort_unstable();
    pids.dedup();
    if pids.len() > 1 {
        pids.retain(|pid| *pid != INIT);
    }
    let roots = pids.iter().filter_map(|pid| Root::of(*pid, listing));
    roots.collect()
}

/// Whoever listens there, if that is one process, or several of one tree; else why not, as the rest
/// of a sentence.
fn found(target: &Target, own: &[IpAddr], listing: &Listing) -> Result<Root, String> {
    if own.is_empty() {
        return Err(format!(
            "{} isn't this machine for certain (pass --pid if it is)",
            target.host
        ));
    }
    let owners = listeners(own, target.port, listing);
    let is_of_all = |root: &&Root| {
        let tree = listing.tree(root.pid);
        owners.iter().all(|owner| tree.contains(&owner.pid))
    };
    match owners.iter().find(is_of_all) {
        Some(root) if root.name == PROXY => Err(format!(
            "{PROXY} listens there for a container (pass --pid with the container's first \
             process, which `docker inspect -f {{{{.State.Pid}}}} NAME` says)"
        )),
        Some(root) if listing.tree(root.pid).contains(&std::process::id()) => Err(format!(
            "ringside itself belongs to process {} ({}), which listens there",
            root.pid, root.name
        )),
        Some(root) => Ok(root.clone()),
        None if owners.is_empty() => Err(
            "we can't see who listens there, because it's another user's process (run ringside as \
             root) or in a container (pass --pid)"
                .to_owned(),
        ),
        None => {
            let name = |root: &Root| format!("{} ({})", root.pid, root.name);
            let owners: Vec<String> = owners.iter().map(name).collect();
            Err(format!(
                "several processes listen there and share the requests: {} (stop all but \
                 one, or pass --pid with that which started them)",
                owners.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::{Child, Command};

    use rustix::process::{WaitId, WaitIdOptions, waitid};

    use super::*;

    fn find(url: &str, pid: Option<u32>) -> Result<(Running, String), String> {
        Running::find(url, pid, &Tls::default())
    }

    /// A process that does nothing, and ends with its owner.
    struct Idle(Child);

    impl Idle {
        fn start() -> Idle {
            let child = Command::new("sleep").arg("1000").spawn();
            Idle(child.expect("sleep starts"))
        }
    }

    impl Drop for Idle {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn the_process_behind_a_port_is_found_unless_we_belong_to_it() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let owners = listeners(&addresses("localhost"), port, &Listing::take());
        let own = std::process::id();
        assert!(owners.iter().any(|root| root.pid == own), "{owners:?}");
        let url = format!("http://127.0.0.1:{port}/a?b");
        let (running, path) = find(&url, None).expect("it listens");
        assert_eq!(path, "/a?b");
        assert_eq!(running.short_name(), format!("port-{port}"));
        let why = running.root.expect_err("it's our own");
        assert!(why.contains("ringside itself"), "{why}");
        let why = find(&url, Some(own)).expect_err("it's our own");
        assert!(why.contains("ringside itself"), "{why}");
        drop(listener);
        let (gone, _) = find(&url, None).expect("a URL");
        assert!(gone.root.expect_err("nobody").contains("can't see who"));
    }

    #[test]
    fn a_process_that_is_not_the_servers_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let url = format!("http://127.0.0.1:{port}/");
        let idle = Idle::start();
        let why = find(&url, Some(idle.0.id())).expect_err("it doesn't listen");
        assert!(why.contains("doesn't listen on port"), "{why}");
        let why = find(&url, Some(u32::MAX)).expect_err("nobody has this number");
        assert!(why.contains("no such process"), "{why}");
    }

    #[test]
    fn servers_whose_processes_belong_to_each_other_are_not_told_apart() {
        let mut idle = Idle::start();
        let running = |pid| {
            let root = Root::of(pid, &Listing::take());
            Running {
                host: "localhost".to_owned(),
                address: None,
                port: 80,
                is_here: true,
                tls: None,
                root: root.ok_or_else(String::new),
            }
        };
        let (mut parent, mut child) = (running(std::process::id()), running(idle.0.id()));
        let mut twin = child.clone();
        tell_apart(&mut [&mut child, &mut twin]);
        assert!(child.root.is_ok() && twin.root.is_ok());
        assert_eq!(child.ended(), None);
        tell_apart(&mut [&mut parent, &mut child]);
        for one in [parent, child] {
            let why = one.root.expect_err("they belong to each other");
            assert!(why.contains("belong to each other"), "{why}");
        }
        // It is gone when it has exited, also before somebody asks how.
        idle.0.kill().expect("it is our child");
        let pid = Pid::from_child(&idle.0);
        let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(pid), exited).expect("it is our child");
        for what in [twin.ended(), {
            drop(idle);
            twin.ended()
        }] {
            let gone = what.expect("it has ended");
            assert!(gone.contains("(sleep) is gone"), "{gone}");
        }
    }

    #[test]
    fn a_name_whose_addresses_are_of_loopback_is_this_machine() {
        let [two, six, away] = ["127.0.0.2", "::1", "192.0.2.1"]
            .map(|address| address.parse::<IpAddr>().expect("an address"));
        assert_eq!(if_loopback(vec![two, six]), [two, six]);
        for elsewhere in [vec![two, away], vec![away], Vec::new()] {
            assert_eq!(if_loopback(elsewhere), [] as [IpAddr; 0]);
        }
        for host in ["192.0.2.1", "no-such-name.invalid"] {
            assert_eq!(addresses(host), [] as [IpAddr; 0], "{host}");
        }
    }

    #[test]
    fn a_name_stands_for_each_of_its_addresses_and_an_address_for_itself() {
        assert_eq!(each_address("http://127.0.0.1:81/a"), Ok(vec![None]));
        assert_eq!(each_address("https://[::1]/"), Ok(vec![None]));
        let local = each_address("http://localhost:81/a").expect("every host has it");
        assert!(!local.is_empty(), "{local:?}");
        assert!(local.iter().flatten().all(IpAddr::is_loopback), "{local:?}");
        let why = each_address("http://no-such-name.invalid/").expect_err("RFC 6761");
        assert!(
            why.contains("the addresses of no-such-name.invalid"),
            "{why}"
        );
    }

    #[test]
    fn a_server_elsewhere_has_no_process_here() {
        let (running, _) = find("https://192.0.2.1/", None).expect("a URL");
        assert!(running.tls.is_some() && running.port == 443);
        assert_eq!(running.short_name(), "192.0.2.1-443");
        assert!(
            running
                .root
                .is_err_and(|why| why.contains("isn't this machine"))
        );
        let one = Some("192.0.2.7".parse().expect("an address"));
        let at = Running::find_at("http://example.invalid:81/a", one, None, &Tls::default());
        let (running, path) = at.expect("a URL");
        assert_eq!(
            (running.short_name(), path),
            ("192.0.2.7".into(), "/a".into())
        );
        assert_eq!(running.origin(), "http://example.invalid:81");
        let six = Running {
            address: Some("2001:db8::5".parse().expect("an address")),
            ..running
        };
        assert_eq!(six.short_name(), "ipv6-2001-db8--5");
        let why = find("ws://localhost/", None).expect_err("not HTTP");
        assert!(why.contains("not ws://"), "{why}");
    }
}
