//! What one turn reported, and the received bytes it lends.
//!
//! The list knows which buffers of the driver's pool are lent and gives them back when it is used
//! for the next turn or dropped. Until then neither the driver nor the kernel writes to them.
//!
//! A driver around another one, as TLS is, works on the list of the inner one: it takes the
//! completions, opens what is lent, and reports and lends what it made of it from an arena that
//! lies in here, too.

use std::ops::Range;
use std::rc::Rc;

use crate::operations::{Completion, Event, Lent, Token};
use crate::pool::{Pool, Spare};

/// The completions of one turn of one driver, in the order in which they happened.
///
/// Read it by position, so that the driver stays free to be called in between:
///
/// ```no_run
/// # fn turn(driver: &mut impl engine::Driver, completions: &mut engine::Completions) {
/// # use engine::{Event, Until};
/// driver.wait(Until::Event, completions).expect("the driver works");
/// for position in 0..completions.len() {
///     let completion = completions.get(position);
///     if let Event::Received(lent) = completion.event {
///         println!("{} bytes", completions.bytes(lent).len());
///     }
/// }
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Completions {
    list: Vec<Completion>,
    loans: Vec<Loan>,
    /// What was made of lent bytes, and which parts of it are lent.
    arena: Vec<u8>,
    arena_loans: Vec<Range<usize>>,
    /// Where the lent buffers lie. `None` until the first turn.
    pool: Option<Rc<Pool>>,
    /// The waker was used, which is the owner's business even where nothing else is.
    woken: bool,
}

/// Marks the index of a loan in the arena. No driver has as many buffers.
const IN_ARENA: u32 = 1 << 31;

#[derive(Debug)]
struct Loan {
    spare: Spare,
    length: u32,
}

impl Completions {
    /// An empty list. It grows in its first turns and is reused from then on.
    pub fn new() -> Completions {
        Completions::default()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the turn reported nothing.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The completion at `position`.
    ///
    /// # Panics
    ///
    /// If `position` is not below [`Completions::len`].
    #[inline]
    pub fn get(&self, position: usize) -> Completion {
        self.list[position]
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Completion> + '_ {
        self.list.iter().copied()
    }

    /// The received bytes that `lent` names.
    ///
    /// A `lent` of an earlier turn is an error of the caller. It reads as no bytes, or as other
    /// bytes received in this turn; never as memory that is being written to.
    #[inline]
    pub fn bytes(&self, lent: Lent) -> &[u8] {
        match (&self.pool, self.loans.get(lent.index as usize)) {
            (Some(pool), Some(loan)) if loan.length == lent.length => {
                &pool.bytes(&loan.spare)[..loan.length as usize]
            }
            _ => self.arena_bytes(lent),
        }
    }

    fn arena_bytes(&self, lent: Lent) -> &[u8] {
        let index = lent.index.checked_sub(IN_ARENA);
        match index.and_then(|index| self.arena_loans.get(index as usize)) {
            Some(range) if range.len() == lent.length as usize => &self.arena[range.clone()],
            _ => &[],
        }
    }

    /// Begins a turn of the driver that owns `pool`: empties the list and ends its loans.
    pub(crate) fn begin(&mut self, pool: &Rc<Pool>) {
        self.list.clear();
        self.woken = false;
        self.end_loans();
        if !self
            .pool
            .as_ref()
            .is_some_and(|mine| Rc::ptr_eq(mine, pool))
        {
            self.pool = Some(Rc::clone(pool));
        }
    }

    /// Reports `event` on `socket`.
    #[inline]
    pub fn push(&mut self, socket: Token, event: Event) {
        self.list.push(Completion { socket, event });
    }

    /// Notes that the turn brought a wake.
    #[inline]
    pub(crate) fn note_wake(&mut self) {
        self.woken = true;
    }

    /// Whether the turn brought a wake. A driver around another one may not sleep over it.
    #[inline]
    pub fn has_wake(&self) -> bool {
        self.woken
    }

    /// Has `rename` change each completion: a driver of several has names of its own.
    #[inline]
    pub(crate) fn rename(&mut self, rename: impl FnMut(&mut Completion)) {
        self.list.iter_mut().for_each(rename);
    }

    /// Exchanges the list with an empty one, for the completions of an inner driver to be worked
    /// on. What they lend stays lent.
    pub fn exchange(&mut self, list: &mut Vec<Completion>) {
        debug_assert!(
            list.is_empty(),
            "completions of an earlier turn would be reported again"
        );
        std::mem::swap(&mut self.list, list);
    }

    /// Has `work` change lent bytes and append what it makes of them to the arena.
    #[inline]
    #[doc(hidden)]
    pub fn open<R>(&mut self, lent: Lent, work: impl FnOnce(&mut [u8], &mut Vec<u8>) -> R) -> R {
        match (&self.pool, self.loans.get_mut(lent.index as usize)) {
            (Some(pool), Some(loan)) => {
                let bytes = pool.bytes_mut(&mut loan.spare);
                work(&mut bytes[..loan.length as usize], &mut self.arena)
            }
            // What another driver in between has made: seldom, and never much.
            _ => {
                let mut copy = self.arena_bytes(lent).to_vec();
                work(&mut copy, &mut self.arena)
            }
        }
    }

    /// Reports `bytes` as received on `socket`, and lends a copy of them.
    pub fn lend_copy(&mut self, socket: Token, bytes: &[u8]) {
        let start = self.arena.len();
        self.arena.extend_from_slice(bytes);
        self.lend_arena(socket, start);
    }

    /// How much lies in the arena.
    #[doc(hidden)]
    pub fn arena_len(&self) -> usize {
        self.arena.len()
    }

    /// Reports what lies in the arena from `start` on as received on `socket`, and lends it.
    #[inline]
    #[doc(hidden)]
    pub fn lend_arena(&mut self, socket: Token, start: usize) {
        let range = start..self.arena.len();
        debug_assert!(
            !range.is_empty(),
            "nothing lies in the arena behind {start}, so nothing came"
        );
        let lent = Lent {
            index: IN_ARENA | self.arena_loans.len() as u32,
            length: range.len() as u32,
        };
        self.arena_loans.push(range);
        self.push(socket, Event::Received(lent));
    }

    /// Reports the first `length` bytes of `spare` as received on `socket`, and lends them. `spare`
    /// comes from the pool that the turn began with.
    #[inline]
    pub(crate) fn lend(&mut self, socket: Token, spare: Spare, length: usize) {
        debug_assert!(
            self.pool
                .as_ref()
                .is_some_and(|pool| (1..=pool.buffer_bytes()).contains(&length)),
            "{length} bytes don't lie in one buffer of this turn's pool"
        );
        debug_assert!(
            self.loans.len() < IN_ARENA as usize,
            "an index of a loan reads as one in the arena"
        );
        let lent = Lent {
            index: self.loans.len() as u32,
            length: length as u32,
        };
        self.loans.push(Loan {
            spare,
            length: lent.length,
        });
        self.push(socket, Event::Received(lent));
    }

    fn end_loans(&mut self) {
        self.arena.clear();
        self.arena_loans.clear();
        debug_assert!(
            self.pool.is_some() || self.loans.is_empty(),
            "buffers are lent and belong to no pool"
        );
        if let Some(pool) = &self.pool {
            pool.give_back(self.loans.drain(..).map(|loan| loan.spare));
        }
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        self.end_loans();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(completions: &Completions, position: usize) -> Lent {
        match completions.get(position).event {
            Event::Received(lent) => lent,
            other => panic!("not received: {other:?}"),
        }
    }

    fn lend(completions: &mut Completions, pool: &Pool, bytes: &[u8]) {
        let mut spare = pool.take().expect("a free buffer");
        pool.bytes_mut(&mut spare)[..bytes.len()].copy_from_slice(bytes);
        completions.lend(Token::new(0, 0), spare, bytes.len());
    }

    #[test]
    fn lent_bytes_are_read_back() {
        let pool = Pool::new(4, 64).expect("memory");
        let mut completions = Completions::new();
        completions.begin(&pool);
        lend(&mut completions, &pool, b"one");
        lend(&mut completions, &pool, b"three");
        assert_eq!(completions.bytes(received(&completions, 0)), b"one");
        assert_eq!(completions.bytes(received(&completions, 1)), b"three");
    }

    #[test]
    fn a_loan_of_an_earlier_turn_never_reaches_a_buffer_that_is_not_lent() {
        let pool = Pool::new(4, 64).expect("memory");
        let mut completions = Completions::new();
        completions.begin(&pool);
        lend(&mut completions, &pool, b"secret");
        let stale = received(&completions, 0);
        completions.begin(&pool);
        assert_eq!(completions.bytes(stale), b"");
        lend(&mut completions, &pool, b"ok");
        assert_eq!(
            completions.bytes(stale),
            b"",
            "another length is seen to be stale"
        );
    }

    #[test]
    fn what_is_made_of_lent_bytes_is_lent_until_the_next_turn() {
        let pool = Pool::new(4, 64).expect("memory");
        let mut completions = Completions::new();
        completions.begin(&pool);
        lend(&mut completions, &pool, b"abc");
        lend(&mut completions, &pool, b"de");
        let mut list = Vec::new();
        completions.exchange(&mut list);
        assert!(completions.is_empty());
        for completion in &list {
            let Event::Received(lent) = completion.event else {
                panic!("not received");
            };
            let start = completions.arena_len();
            completions.open(lent, |bytes, arena| {
                bytes.make_ascii_uppercase();
                arena.extend_from_slice(bytes);
            });
            completions.lend_arena(completion.socket, start);
        }
        assert_eq!(completions.bytes(received(&completions, 0)), b"ABC");
        assert_eq!(completions.bytes(received(&completions, 1)), b"DE");
        let stale = received(&completions, 0);
        completions.begin(&pool);
        assert_eq!(completions.bytes(stale), b"");
    }

    #[test]
    fn what_another_driver_has_made_can_be_worked_on_like_what_was_received() {
        let pool = Pool::new(1, 64).expect("memory");
        let mut completions = Completions::new();
        completions.begin(&pool);
        completions.lend_copy(Token::new(0, 0), b"abc");
        let lent = received(&completions, 0);
        let start = completions.arena_len();
        completions.open(lent, |bytes, arena| {
            bytes.reverse();
            arena.extend_from_slice(bytes);
        });
        completions.lend_arena(Token::new(0, 0), start);
        assert_eq!(completions.bytes(received(&completions, 0)), b"abc");
        assert_eq!(completions.bytes(received(&completions, 1)), b"cba");
        completions.begin(&pool);
        completions.open(lent, |bytes, _| {
            assert_eq!(bytes, b"", "of an earlier turn")
        });
    }

    #[test]
    fn buffers_return_with_the_next_turn_and_with_the_end_of_the_list() {
        let pool = Pool::new(2, 64).expect("memory");
        let mut completions = Completions::new();
        completions.begin(&pool);
        lend(&mut completions, &pool, b"a");
        lend(&mut completions, &pool, b"b");
        assert!(pool.take().is_none());
        completions.begin(&pool);
        lend(&mut completions, &pool, b"c");
        drop(completions);
        assert!(pool.take().is_some());
        assert!(pool.take().is_some());
    }

    #[test]
    fn a_list_that_changes_drivers_gives_each_its_own_buffers_back() {
        let first = Pool::new(1, 64).expect("memory");
        let second = Pool::new(1, 64).expect("memory");
        let mut completions = Completions::new();
        completions.begin(&first);
        lend(&mut completions, &first, b"a");
        completions.begin(&second);
        lend(&mut completions, &second, b"b");
        assert_eq!(completions.bytes(received(&completions, 0)), b"b");
        assert!(first.take().is_some());
        assert!(second.take().is_none());
    }
}
