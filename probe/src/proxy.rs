//! How a proxy is asked to lead a connection on (RFC 9110 §9.3.6), and what to say when it doesn't.

use crate::tunnel::{Answered, Opening};
use engine::TunnelFault;
use proto::http1::connect;

use crate::LoadError;
use plan::{Contact, Invalid};

/// What is said on each connection before it leads to one of these targets; none where it does by
/// itself.
///
/// # Errors
/// It can't be said.
pub fn opening(contacts: &[Contact]) -> Result<Option<Opening>, Invalid> {
    let said = contacts
        .iter()
        .filter_map(|contact| contact.tunnel().transpose());
    let said: Vec<_> = said
        .map(|said| said.map(Into::into))
        .collect::<Result<_, _>>()?;
    Ok((!said.is_empty()).then_some(Opening { said, read }))
}

/// What all that has come so far from a proxy means.
fn read(received: &[u8]) -> Answered {
    match connect::answer(received) {
        Ok(None) => Answered::More,
        Ok(Some((200..=299, bytes))) => Answered::Open(bytes),
        Ok(Some((status, _))) => Answered::Not(TunnelFault::Refused(status)),
        Err(_) => Answered::Not(TunnelFault::Broken),
    }
}

/// The sentence for a proxy that doesn't lead a connection on.
pub(crate) fn refused(contact: &Contact, fault: TunnelFault) -> LoadError {
    let (url, proxy) = (contact.url(), place(contact));
    let has_user = contact
        .proxy
        .as_ref()
        .is_some_and(|proxy| proxy.authorization.is_some());
    let (what, advice) = match fault {
        TunnelFault::Refused(status) => {
            let advice = match status {
                // 401 is for servers (RFC 9110 §15.5.2), and tinyproxy says so all the same.
                401 | 407 if has_user => "it doesn't accept the user and the password in --proxy",
                401 | 407 => "give it a user: --proxy http://USER:PASSWORD@HOST:PORT",
                403 | 405 => "it must allow CONNECT to this host and port",
                500..=599 => "it may not reach the target: check the host and port, and its log",
                _ => "check that it is a proxy that knows CONNECT",
            };
            (format!("refused the tunnel with status {status}"), advice)
        }
        TunnelFault::Broken => (
            "doesn't answer CONNECT in HTTP, or not within 16 KiB".to_owned(),
            "check that --proxy has the port of an HTTP proxy without TLS",
        ),
        TunnelFault::Closed => (
            "closed the connection instead of answering CONNECT".to_owned(),
            "check that it allows tunnels, and look in its log",
        ),
    };
    LoadError::Unreachable(format!("{url}: the proxy {proxy} {what}; {advice}"))
}

/// The sentence for one that takes too long.
pub(crate) fn slow(contact: &Contact) -> LoadError {
    LoadError::Unreachable(format!(
        "{}: the proxy {} didn't answer CONNECT in time; check that it reaches the target, or \
         raise {} ({} s)",
        contact.url(),
        place(contact),
        contact.timeout_flag,
        contact.timeout_s
    ))
}

fn place(contact: &Contact) -> String {
    let proxy = contact.proxy.as_ref();
    proxy.map(plan::Proxy::place).unwrap_or_default()
}
