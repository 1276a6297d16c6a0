//! One exchange over HTTP/1.1.

use proto::http1::HeadMemo;
use proto::http1::client::{Answer as Framing, Client, Event, Limits};

use super::conversation::Conversation;
use super::{Answer, keep};
use crate::LoadError;
use plan::Contact;

/// Sends the plan's request and reads its answer.
pub(super) fn exchange(contact: &Contact, mut peer: Conversation) -> Result<Answer, LoadError> {
    peer.send(&contact.http1()?)?;
    let mut client = Client::new(Limits::default());
    client
        .sent(Framing::to(&contact.request.method))
        .map_err(|misuse| peer.broken(misuse))?;
    let mut memo = HeadMemo::new();
    let mut answer = Answer::default();
    loop {
        let mut received = Vec::new();
        if !peer.receive(&mut received)? {
            return match client.ended() {
                Ok(Some(_)) => Ok(answer),
                _ => {
                    Err(peer
                        .broken("the server closed the connection before its answer was complete"))
                }
            };
        }
        let mut input = &received[..];
        while let Some(event) = client
            .next(&mut input, &mut memo)
            .map_err(|violation| peer.broken(violation))?
        {
            match event {
                Event::Informational { .. } => {}
                Event::Head { status, head } => {
                    answer.status = status;
                    answer.head = head.to_vec();
                }
                Event::Body(bytes) => {
                    keep(&mut answer.body, bytes).map_err(|why| peer.broken(why))?;
                }
                Event::End(_) => return Ok(answer),
            }
        }
    }
}
