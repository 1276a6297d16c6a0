//! Where users were found, how the stores are, and what of their connections is in use.

use exposition::Family;
use users::counts::{CAUSES, Snapshot};

use super::label;

/// The name of a metric, what it is, and the label that its figures have.
type Named = (&'static str, &'static str, &'static str);

/// All metrics of tables of users, by their names.
pub(super) fn families(users: &[(&str, Snapshot)]) -> Vec<Family> {
    if users.is_empty() {
        return Vec::new();
    }
    let found = (
        "ringside_gateway_users_total",
        "Users that were looked up, by where they were found.",
        "outcome",
    );
    let events = (
        "ringside_gateway_users_events_total",
        "What happened as users were looked up.",
        "event",
    );
    let errors = (
        "ringside_gateway_users_store_errors_total",
        "Failures of stores of users, by cause.",
        "error",
    );
    let state = (
        "ringside_gateway_users_state",
        "How stores of users are; 1 is yes.",
        "state",
    );
    let mut families = vec![
        counters(found, users, |counts| {
            [
                ("memory", counts.memory),
                ("stale", counts.stale),
                ("redis", counts.redis),
                ("database", counts.database),
                ("nobody", counts.nobody),
                ("unavailable", counts.unavailable),
            ]
        }),
        counters(events, users, |counts| {
            [
                ("redis_failed", counts.redis_failed),
                ("database_failed", counts.database_failed),
                ("nonsense", counts.nonsense),
                ("revoked", counts.revoked),
                ("revocations_lost", counts.overtaken),
            ]
        }),
        counters(errors, users, |counts| {
            std::array::from_fn::<_, { CAUSES.len() }, _>(|at| (CAUSES[at], counts.causes[at]))
        }),
        gauges(state, users, |counts| {
            [
                ("entries", counts.entries),
                ("tasks", counts.tasks),
                ("redis_breaker_open", u64::from(counts.redis_open)),
                ("redis_lost", u64::from(counts.redis_lost)),
                ("database_breaker_open", u64::from(counts.database_open)),
                ("hears_revocations", u64::from(counts.hears)),
            ]
        }),
    ];
    families.extend(of_pools(users));
    families
}

/// What of the connections of stores is in use. Stores that aren't asked have none.
fn of_pools(users: &[(&str, Snapshot)]) -> [Family; 2] {
    let each = |figure: fn(&users::counts::Pool) -> u64| {
        users.iter().flat_map(move |(name, counts)| {
            let pools = [
                ("redis", counts.redis_pool),
                ("database", counts.database_pool),
            ];
            let pools = pools.into_iter().filter(|(_, pool)| pool.limit > 0);
            pools.map(move |(store, pool)| {
                let tags = vec![("users", label(name)), ("store", store.to_owned())];
                (tags, figure(&pool))
            })
        })
    };
    [
        Family::gauges(
            "ringside_gateway_users_pool_in_use",
            "Commands under way to Redis, and connections to the database in use.",
            each(|pool| pool.in_use),
        ),
        Family::gauges(
            "ringside_gateway_users_pool_limit",
            "How many there may be.",
            each(|pool| pool.limit),
        ),
    ]
}

fn counters<const N: usize>(
    (name, help, of_what): Named,
    users: &[(&str, Snapshot)],
    figures: impl Fn(&Snapshot) -> [(&'static str, u64); N],
) -> Family {
    Family::counters(name, help, samples(of_what, users, figures))
}

fn gauges<const N: usize>(
    (name, help, of_what): Named,
    users: &[(&str, Snapshot)],
    figures: impl Fn(&Snapshot) -> [(&'static str, u64); N],
) -> Family {
    Family::gauges(name, help, samples(of_what, users, figures))
}

/// A sample for each figure of each table of users.
fn samples<const N: usize>(
    of_what: &'static str,
    users: &[(&str, Snapshot)],
    figures: impl Fn(&Snapshot) -> [(&'static str, u64); N],
) -> Vec<(exposition::Tags, u64)> {
    let each = users.iter().flat_map(|(name, counts)| {
        figures(counts).map(|(what, figure)| {
            let tags = vec![("users", label(name)), (of_what, what.to_owned())];
            (tags, figure)
        })
    });
    each.collect()
}
