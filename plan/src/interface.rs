//! The network device that carries connections, where one was asked for.

use crate::invalid::Invalid;
use crate::target::Target;

/// The longest name of a device (`IFNAMSIZ` with its zero, netdevice(7)).
const NAME_BYTES_MAX: usize = 15;

/// Checks that a device may be called so (`dev_valid_name` in Linux), and that connections to
/// `target` take one.
pub(crate) fn validate(name: &str, target: &Target) -> Result<(), Invalid> {
    if target.unix_socket.is_some() {
        return Err(Invalid(
            "--unix-socket and --interface contradict each other: give only one of them".into(),
        ));
    }
    let other = |c: char| c == '/' || c == ':' || c == '\0' || c.is_whitespace();
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(other) {
        return Err(Invalid(format!(
            "--interface {name:?}: expected a network device such as eth0 (`ip link` lists them), \
             or an address of this machine"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_device_can_have_are_refused() {
        let target = Target::parse("http://x/").unwrap();
        for name in ["lo", "eth0.100", "wlp0s20f3", "br-0123456789ab"] {
            assert_eq!(validate(name, &target), Ok(()), "{name}");
        }
        for name in ["", "a b", "eth0:1", "a/b", "sixteen-is-long.", "x\0"] {
            let Invalid(text) = validate(name, &target).unwrap_err();
            assert!(text.contains("such as eth0"), "{text}");
        }
        let mut unix = target;
        unix.unix_socket = Some("/run/x".into());
        let Invalid(text) = validate("lo", &unix).unwrap_err();
        assert!(text.contains("contradict"), "{text}");
    }
}
