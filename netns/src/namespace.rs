//! Entering a network of one's own: a namespace with a loopback interface and nothing else
//! (network_namespaces(7)), in which nothing of the host changes and no port is taken.
//!
//! Root needs a network namespace only. Anybody else needs a user namespace around it
//! (user_namespaces(7)), in which their own user and group are mapped to themselves: whoever is
//! mapped to root would be treated as root by programs that then can't become somebody else.
//!
//! What is refused half-way leaves the process in a network in which nothing works: it has to end
//! then, and measures nothing.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use rustix::process::{getegid, geteuid};
use serde::{Deserialize, Serialize};

/// Where the settings of the network of whoever reads and writes are (proc(5)).
const SETTINGS: &str = "/proc/sys/net";
/// What loopback is measured with, the first of them that can be had: both pace nothing. A host
/// that never had cubic as its own default doesn't allow it to other networks, and allows reno to
/// all of them (tcp_allowed_congestion_control, Documentation/networking/ip-sysctl.rst).
const CONGESTION_CONTROLS: [&str; 2] = ["cubic", "reno"];
/// Settings and their values: all ports that need no privilege, and backlogs as long as programs
/// ask for.
const FIXED: [(&str, &str); 2] = [
    ("ipv4/ip_local_port_range", "1024 65535"),
    ("core/somaxconn", "65535"),
];

/// Numbers of linux/netlink.h, linux/rtnetlink.h and linux/if.h.
const NLMSG_ERROR: u16 = 2;
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const IFF_UP: u32 = 0x1;
/// The lengths of struct nlmsghdr and struct ifinfomsg.
const HEADER: usize = 16;
const IFINFOMSG: usize = 16;
/// The loopback interface is the first of each namespace (LOOPBACK_IFINDEX, linux/net_namespace.h).
const LOOPBACK: i32 = 1;

/// How long a first connection over the new loopback interface may take.
const FIRST_CONTACT: Duration = Duration::from_secs(5);

/// Why there is no private network: what was refused, and what to do, in sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused(pub String);

/// Puts this process into a network of its own, ready to be measured in. The process must have no
/// second thread, and must exec before it starts anything: as a user it holds the capabilities of
/// its namespace until then.
///
/// # Errors
/// What was refused. The process may be in a network in which nothing works, and has to end.
pub fn enter() -> Result<(), Refused> {
    let (user, group) = (geteuid(), getegid());
    if user.is_root() {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| refused(errno, true))?;
    } else {
        let both = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET;
        unshare(both).map_err(|errno| refused(errno, false))?;
        // A user may map their own group only where nobody can leave groups (user_namespaces(7)).
        map("setgroups", "deny")?;
        map("gid_map", &format!("{group} {group} 1"))?;
        map("uid_map", &format!("{user} {user} 1"))?;
    }
    raise_loopback().map_err(|error| half_way("bringing up its loopback interface", error))?;
    adjust(Path::new(SETTINGS))?;
    try_loopback().map_err(|error| half_way("a connection over its loopback interface", error))
}

/// No namespace was made.
fn refused(errno: Errno, root: bool) -> Refused {
    let way_out = match (errno, root) {
        (Errno::ENOSPC | Errno::EUSERS, true) => {
            "Raise the limit: `sysctl -w user.max_net_namespaces=1024`."
        }
        (Errno::ENOSPC | Errno::EUSERS, false) => {
            "Raise the limits: `sysctl -w user.max_user_namespaces=1024 \
             user.max_net_namespaces=1024`; or run ringside as root."
        }
        (_, true) => {
            "Give this process CAP_SYS_ADMIN, and let its seccomp profile allow unshare (of a \
             container: `--cap-add SYS_ADMIN --security-opt seccomp=unconfined`)."
        }
        (_, false) => {
            "Allow unprivileged user namespaces (`sysctl -w kernel.unprivileged_userns_clone=1`, \
             or `kernel.apparmor_restrict_unprivileged_userns=0`; in a container, a seccomp \
             profile that lets unshare pass), or run ringside as root."
        }
    };
    let why = match errno {
        // Its own words for it are "No space left on device".
        Errno::ENOSPC | Errno::EUSERS => "the limit of namespaces is reached",
        other => other.desc(),
    };
    Refused(format!(
        "The kernel refused a network namespace: {why}. {way_out}"
    ))
}

/// A namespace was made, but is no use, as where a profile takes its capabilities away.
fn half_way(what: &str, error: impl Display) -> Refused {
    let way_out = "On Ubuntu, `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` allows \
                   it; root is always allowed, unless a container's profile says otherwise.";
    unusable(what, error, way_out)
}

fn unusable(what: &str, error: impl Display, way_out: &str) -> Refused {
    Refused(format!(
        "A network namespace was made, but {what} failed: {error}. {way_out}"
    ))
}

fn map(file: &str, text: &str) -> Result<(), Refused> {
    fs::write(Path::new("/proc/self").join(file), text)
        .map_err(|error| half_way(&format!("writing /proc/self/{file}"), error))
}

/// Sets the loopback interface up, as `ip link set lo up` does (rtnetlink(7)).
fn raise_loopback() -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    // No protocol is NETLINK_ROUTE.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    send(&socket, &request_up(), SendFlags::empty())?;
    let mut answer = [0; 1024];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    acknowledged(&answer[..length])
}

/// The message that sets the loopback interface up and asks for an acknowledgement.
fn request_up() -> Vec<u8> {
    let length = HEADER + IFINFOMSG;
    let mut message = Vec::with_capacity(length);
    message.extend((length as u32).to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    message.extend(1u32.to_ne_bytes()); // Its number, and the port that the kernel fills in.
    message.extend(0u32.to_ne_bytes());
    message.extend([0; 4]); // AF_UNSPEC, padding, and the type of the device.
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes()); // Which of the flags to change.
    message
}

/// What an acknowledgement says: an error message with the number of the error, 0 if there is none
/// (netlink(7)).
fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let short = || io::Error::new(ErrorKind::InvalidData, "the kernel's answer can't be read");
    let kind = answer.get(4..6).ok_or_else(short)?;
    let error = answer.get(HEADER..HEADER + 4).ok_or_else(short)?;
    if kind != NLMSG_ERROR.to_ne_bytes() {
        return Err(short());
    }
    let number = error.try_into().map(i32::from_ne_bytes);
    match number.map_err(|_| short())? {
        0 => Ok(()),
        number => Err(io::Error::from_raw_os_error(-number)),
    }
}

/// Gives the network the settings that all measurements have. One that this kernel does not show
/// stays as it is.
fn adjust(settings: &Path) -> Result<(), Refused> {
    choose_congestion_control(settings)?;
    FIXED
        .iter()
        .try_for_each(|(name, value)| set(settings, name, value))
}

/// Where none of ours is there, the host's stays.
fn choose_congestion_control(settings: &Path) -> Result<(), Refused> {
    let available = settings.join("ipv4/tcp_available_congestion_control");
    let available = fs::read_to_string(available).unwrap_or_default();
    let is_there = |name: &str| available.split_whitespace().any(|other| other == name);
    let ours = CONGESTION_CONTROLS
        .into_iter()
        .filter(|name| is_there(name));
    let mut refused = Ok(());
    for name in ours {
        match set(settings, "ipv4/tcp_congestion_control", name) {
            Ok(()) => return Ok(()),
            // Of several refusals the first tells why.
            Err(why) => refused = refused.and(Err(why)),
        }
    }
    refused
}

fn set(settings: &Path, name: &str, value: &str) -> Result<(), Refused> {
    let written = File::options()
        .write(true)
        .open(settings.join(name))
        .and_then(|mut file| file.write_all(value.as_bytes()));
    match written {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let name = format!("net.{}", name.replace('/', "."));
            let what = format!("setting {name} to {value}");
            Err(match error.kind() {
                ErrorKind::ReadOnlyFilesystem => unusable(
                    &what,
                    error,
                    "/proc/sys is mounted read-only, as containers do: mount it writable, or run \
                     ringside outside of the container.",
                ),
                _ => half_way(&what, error),
            })
        }
        _ => Ok(()),
    }
}

/// Whether two ends find each other.
fn try_loopback() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    TcpStream::connect_timeout(&listener.local_addr()?, FIRST_CONTACT).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, value) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().expect("it has one")).expect("a folder");
            fs::write(file, value).expect("a file");
        }
        folder
    }

    fn value(folder: &tempfile::TempDir, name: &str) -> String {
        fs::read_to_string(folder.path().join(name)).expect("it is there")
    }

    #[test]
    fn settings_that_the_kernel_shows_are_made_the_same_everywhere() {
        let folder = settings(&[
            ("ipv4/tcp_available_congestion_control", "reno bbr cubic\n"),
            ("ipv4/tcp_congestion_control", ""),
            ("ipv4/ip_local_port_range", ""),
        ]);
        assert_eq!(adjust(folder.path()), Ok(()));
        assert_eq!(value(&folder, "ipv4/tcp_congestion_control"), "cubic");
        assert_eq!(value(&folder, "ipv4/ip_local_port_range"), "1024 65535");
        // Older kernels don't show it in the network of a user.
        assert!(!folder.path().join("core/somaxconn").exists());
    }

    #[test]
    fn a_congestion_control_that_is_not_there_is_not_asked_for() {
        for (available, expected) in [("bbr reno\n", "reno"), ("bbr\n", "bbr")] {
            let folder = settings(&[
                ("ipv4/tcp_available_congestion_control", available),
                ("ipv4/tcp_congestion_control", "bbr"),
            ]);
            assert_eq!(adjust(folder.path()), Ok(()));
            let set = value(&folder, "ipv4/tcp_congestion_control");
            // A file of ours, unlike the kernel's, keeps what was longer.
            assert!(set.starts_with(expected), "{set}");
        }
    }

    #[test]
    fn where_the_host_allows_no_cubic_packets_are_still_not_paced() {
        // A folder in its place refuses both, as a kernel may refuse the first.
        let folder = settings(&[
            ("ipv4/tcp_available_congestion_control", "reno cubic bbr\n"),
            ("ipv4/tcp_congestion_control/file", ""),
        ]);
        let Refused(why) = adjust(folder.path()).expect_err("it is a folder");
        assert!(why.contains("tcp_congestion_control to cubic"), "{why}");
    }

    #[test]
    fn a_setting_that_cannot_be_written_is_named() {
        // Nobody can write a folder, whoever runs this.
        let folder = settings(&[("ipv4/ip_local_port_range/file", "")]);
        let Refused(why) = adjust(folder.path()).expect_err("it is a folder");
        assert!(why.contains("net.ipv4.ip_local_port_range"), "{why}");
    }

    #[test]
    fn an_acknowledgement_without_an_error_is_none() {
        let answer = |kind: u16, error: i32| {
            let mut bytes = vec![36, 0, 0, 0];
            bytes.extend(kind.to_ne_bytes());
            bytes.resize(HEADER, 0);
            bytes.extend(error.to_ne_bytes());
            bytes
        };
        assert!(acknowledged(&answer(NLMSG_ERROR, 0)).is_ok());
        let error = acknowledged(&answer(NLMSG_ERROR, -1)).expect_err("EPERM");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(acknowledged(&answer(RTM_NEWLINK, 0)).is_err());
        for length in 0..HEADER + 4 {
            assert!(acknowledged(&answer(NLMSG_ERROR, 0)[..length]).is_err());
        }
    }

    #[test]
    fn a_refusal_says_what_to_do_to_whom() {
        let Refused(root) = refused(Errno::EPERM, true);
        assert!(root.contains("CAP_SYS_ADMIN") && root.contains("Operation not permitted"));
        let Refused(user) = refused(Errno::EPERM, false);
        assert!(user.contains("user namespaces") && user.contains("as root"));
        let Refused(full) = refused(Errno::ENOSPC, false);
        assert!(
            full.contains("limit of namespaces") && full.contains("max_user_namespaces"),
            "{full}"
        );
    }
}
