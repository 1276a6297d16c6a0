//! A table of slots with generations: the state of every socket of a driver, found by [`Token`].
//!
//! A slot is *open* (its token finds it), then *closing* (its token is stale, but operations of the
//! kernel still refer to it, so it is not given out again), then *free*.

use crate::driver::Token;

/// State of type `T` for each socket.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    entries: Vec<Entry<T>>,
    /// Slots that were used before. Last in, first out, which keeps the used part dense.
    free: Vec<u32>,
    limit: usize,
}

#[derive(Debug)]
struct Entry<T> {
    /// Even while open, odd while closing or free; one use is two steps.
    generation: u32,
    state: T,
}

impl<T> Slots<T> {
    /// A table of at most `limit` slots. Memory is set aside now and touched as slots are used.
    pub(crate) fn new(limit: usize) -> Slots<T> {
        assert!(
            u32::try_from(limit).is_ok(),
            "a token names a slot by 32 bits, and {limit} slots were asked for"
        );
        Slots {
            entries: Vec::with_capacity(limit),
            free: Vec::with_capacity(limit),
            limit,
        }
    }

    /// How many slots there may be.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Opens a slot with `state`, or gives it back if all are open or closing.
    pub(crate) fn open(&mut self, state: T) -> Result<Token, T> {
        if let Some(slot) = self.free.pop() {
            let entry = &mut self.entries[slot as usize];
            debug_assert!(
                entry.generation % 2 == 1,
                "slot {slot} is given out while it's open"
            );
            entry.generation = entry.generation.wrapping_add(1);
            entry.state = state;
            return Ok(Token::new(slot, entry.generation));
        }
        if self.entries.len() == self.limit {
            return Err(state);
        }
        self.entries.push(Entry {
            generation: 0,
            state,
        });
        Ok(Token::new((self.entries.len() - 1) as u32, 0))
    }

    /// The state of an open socket.
    #[inline]
    pub(crate) fn get(&self, token: Token) -> Option<&T> {
        let entry = self.entries.get(token.slot())?;
        (entry.generation == token.generation()).then_some(&entry.state)
    }

    /// The state of an open socket, to change.
    #[inline]
    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut T> {
        let entry = self.entries.get_mut(token.slot())?;
        (entry.generation == token.generation()).then_some(&mut entry.state)
    }

    /// Makes `token` stale. The slot stays taken until [`Slots::free`].
    pub(crate) fn retire(&mut self, token: Token) -> Option<&mut T> {
        let entry = self.entries.get_mut(token.slot())?;
        if entry.generation != token.generation() {
            return None;
        }
        debug_assert!(
            entry.generation.is_multiple_of(2),
            "{token:?} names a slot that isn't open"
        );
        entry.generation = entry.generation.wrapping_add(1);
        Some(&mut entry.state)
    }

    /// The state of the socket that `token` named, if it is closing and not yet free.
    #[inline]
    pub(crate) fn closing_mut(&mut self, token: Token) -> Option<&mut T> {
        let entry = self.entries.get_mut(token.slot())?;
        let closing = entry.generation == token.generation().wrapping_add(1);
        closing.then_some(&mut entry.state)
    }

    /// The state of the socket that `token` names or named, open or closing.
    #[inline]
    pub(crate) fn taken_mut(&mut self, token: Token) -> Option<&mut T> {
        let entry = self.entries.get_mut(token.slot())?;
        (entry.generation.wrapping_sub(token.generation()) <= 1).then_some(&mut entry.state)
    }

    /// Ends the closing of a slot: every operation on it has ended, it may be opened again.
    pub(crate) fn free(&mut self, slot: usize) {
        debug_assert!(
            self.entries[slot].generation % 2 == 1,
            "only a retired slot is freed"
        );
        self.free.push(slot as u32);
        debug_assert!(
            self.free.len() <= self.entries.len(),
            "more slots are free than were ever used: one was freed twice"
        );
    }

    /// How many slots were ever used, the free ones included.
    pub(crate) fn used(&self) -> usize {
        self.entries.len()
    }

    /// The token that names, or last named, the socket in a slot that was used.
    pub(crate) fn last_token(&self, slot: usize) -> Token {
        // One step back from odd, which is closing or free, is the use before.
        let generation = self.entries[slot].generation & !1;
        Token::new(slot as u32, generation)
    }

    /// The state of every slot that was ever used, the free ones included.
    pub(crate) fn states(&self) -> impl Iterator<Item = &T> + '_ {
        self.entries.iter().map(|entry| &entry.state)
    }

    /// Whether every slot is open or closing.
    pub(crate) fn is_full(&self) -> bool {
        self.taken() == self.limit
    }

    /// How many slots are open or closing.
    pub(crate) fn taken(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

/// The open socket that a token names, of a driver that leaves nothing in the slots of those that
/// ended. Takes the table alone, so that the rest of the driver stays free.
#[inline]
pub(crate) fn find<T>(sockets: &mut Slots<Option<T>>, token: Token) -> Option<&mut T> {
    sockets.get_mut(token)?.as_mut()
}

/// Whether a closed socket of such a driver still sends.
pub(crate) fn lingers<T>(sockets: &mut Slots<Option<T>>, token: Token) -> bool {
    matches!(sockets.closing_mut(token), Some(Some(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_finds_its_socket_until_it_is_retired() {
        let mut slots = Slots::new(4);
        let token = slots.open("a").expect("room");
        assert_eq!(slots.get(token), Some(&"a"));
        slots.retire(token).expect("open");
        assert_eq!(slots.get(token), None);
        assert_eq!(slots.get_mut(token), None);
        assert_eq!(slots.retire(token), None);
        assert_eq!(slots.closing_mut(token), Some(&mut "a"));
        assert_eq!(slots.taken_mut(token), Some(&mut "a"));
    }

    #[test]
    fn a_stale_token_never_reaches_the_next_user_of_its_slot() {
        let mut slots = Slots::new(1);
        let old = slots.open("old").expect("room");
        slots.retire(old).expect("open");
        slots.free(old.slot());
        let new = slots.open("new").expect("room");
        assert_eq!(old.slot(), new.slot());
        assert_eq!(slots.get(old), None);
        assert_eq!(slots.closing_mut(old), None);
        assert_eq!(slots.get(new), Some(&"new"));
    }

    #[test]
    fn a_closing_slot_is_not_given_out() {
        let mut slots = Slots::new(1);
        let token = slots.open(1).expect("room");
        assert_eq!(slots.open(2), Err(2));
        slots.retire(token).expect("open");
        assert_eq!(slots.open(3), Err(3));
        assert_eq!(slots.taken(), 1);
        slots.free(token.slot());
        assert_eq!(slots.taken(), 0);
        assert!(slots.open(4).is_ok());
    }

    #[test]
    fn the_last_token_of_a_slot_is_that_of_its_last_use() {
        let mut slots = Slots::new(2);
        let token = slots.open(()).expect("room");
        assert_eq!((slots.used(), slots.last_token(0)), (1, token));
        slots.retire(token).expect("open");
        assert_eq!(slots.last_token(0), token);
        slots.free(0);
        assert_eq!(slots.last_token(0), token);
        let next = slots.open(()).expect("room");
        assert_eq!(slots.last_token(0), next);
    }

    #[test]
    fn generations_may_wrap() {
        let mut slots = Slots::new(1);
        let token = slots.open(()).expect("room");
        slots.retire(token).expect("open");
        slots.free(0);
        slots.entries[0].generation = u32::MAX;
        let token = slots.open(()).expect("room");
        assert_eq!(token.generation(), 0);
        assert!(slots.get(token).is_some());
    }
}
