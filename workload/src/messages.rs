//! The messages of a WebSocket, which follow each other on each connection: what of the words of a
//! comparison goes with them.

/// What of a workload stands beside messages that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// `message` is given.
    pub message: bool,
    /// `method` is.
    pub method: bool,
    /// `pick` is.
    pub pick: bool,
    /// How many requests may be outstanding on a connection.
    pub pipeline: u32,
    /// Whether a connection stays open behind an exchange.
    pub keep_alive: bool,
    /// Requests per second, if they have a rate.
    pub rate: Option<f64>,
}

/// Whether they go together.
///
/// # Errors
/// The key that doesn't go with them, and what to do.
pub fn check(beside: &Beside) -> Result<(), String> {
    let given = [
        (beside.message, "`message`"),
        (beside.method, "`method`"),
        (beside.pick, "`pick`"),
    ];
    if let Some((_, key)) = given.iter().find(|(given, _)| *given) {
        return Err(format!(
            "{key}: the messages are those of `targets`, in their order: drop {key}"
        ));
    }
    if beside.pipeline > 1 {
        return Err(
            "`pipeline`: a message waits for the answer to the one before it: drop it, or use \
             more `connections`"
                .to_owned(),
        );
    }
    if !beside.keep_alive {
        return Err(
            "`keep_alive = false` opens a connection for each exchange, and each goes through \
             all messages of `targets`: drop it"
                .to_owned(),
        );
    }
    rated(beside.rate)
}

/// Refuses a rate where the waits between messages say when the next one is sent.
///
/// # Errors
/// Why, and what to do, if there is a `rate`.
pub fn rated(rate: Option<f64>) -> Result<(), String> {
    match rate.is_some() {
        true => Err(
            "`rate`: the waits between the messages of a WebSocket say when a connection sends \
             the next one, and so would a rate: drop it, and set the load by `connections`"
                .to_owned(),
        ),
        false => Ok(()),
    }
}
