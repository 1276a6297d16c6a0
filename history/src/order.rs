//! In which order sessions follow each other.

use crate::model::LeftOut;
use crate::session::Session;

/// In which order sessions follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By when they were measured.
    #[default]
    Time,
    /// By commit, those of one commit together: in the order of when each was measured first.
    Commit,
    /// By commit, in this order; hashes may be abbreviated.
    Listed(Vec<String>),
}

/// The sessions in this order. Those that have no place in it go to `left_out`.
pub(crate) fn ordered(
    mut sessions: Vec<Session>,
    order: &Order,
    left_out: &mut Vec<LeftOut>,
) -> Vec<Session> {
    sessions
        .sort_by(|a, b| (a.facts.unix_s, &a.facts.place).cmp(&(b.facts.unix_s, &b.facts.place)));
    let listed = match order {
        Order::Time => return sessions,
        Order::Commit => sessions
            .iter()
            .filter_map(|session| session.facts.commit.clone())
            .collect(),
        Order::Listed(listed) => listed.clone(),
    };
    // The first of several counts, and either may be abbreviated.
    let place = |commit: &str| {
        let same = |known: &String| known.starts_with(commit) || commit.starts_with(&**known);
        listed.iter().position(same)
    };
    let mut placed = Vec::new();
    for session in sessions {
        let at = session.facts.commit.as_deref().map(place);
        let why = match at {
            Some(Some(at)) => {
                placed.push((at, session));
                continue;
            }
            Some(None) => "its commit isn't in the list of commits",
            None => "neither its name nor its directory's has a commit",
        };
        left_out.push(LeftOut {
            what: session.facts.place,
            why: why.to_owned(),
        });
    }
    placed.sort_by_key(|(at, _)| *at);
    placed.into_iter().map(|(_, session)| session).collect()
}
