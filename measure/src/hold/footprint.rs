//! What holding costs this process in memory, looked at from time to time.

use super::Memory;
use crate::process;
use crate::series::ROWS_MAX;
use crate::time::Time;

/// How far apart two readings that are kept are at first.
const EVERY_NS: u64 = 1_000_000_000;

/// What was read of the memory of this process.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// Before, at most, and with how many connections.
    pub memory: Memory,
    /// The highest of each stretch, and when the stretch began.
    readings: Vec<(Time, u64)>,
    every_ns: u64,
}

impl Footprint {
    /// Of a process that holds nothing yet.
    pub fn before() -> Footprint {
        Footprint {
            memory: Memory {
                before_bytes: process::own_resident_bytes(),
                ..Memory::default()
            },
            readings: Vec::new(),
            every_ns: EVERY_NS,
        }
    }

    /// Looks while so many connections stand.
    pub fn look(&mut self, standing: u64, now: Time) {
        if let Some(bytes) = process::own_resident_bytes() {
            self.read(standing, bytes, now);
        }
    }

    fn read(&mut self, standing: u64, bytes: u64, now: Time) {
        match self.readings.last_mut() {
            Some((began, highest)) if now.since(*began) < self.every_ns => {
                *highest = bytes.max(*highest);
            }
            _ => self.readings.push((now, bytes)),
        }
        if self.readings.len() > ROWS_MAX {
            self.thin();
        }
        // What fewer of them need says nothing.
        if standing >= self.memory.connections.max(1) {
            self.memory.connections = standing;
            self.memory.held_bytes = self.memory.held_bytes.max(Some(bytes));
        }
    }

    /// Makes one reading of two, as neighbouring rows of the series become one.
    fn thin(&mut self) {
        let pairs = self.readings.chunks(2);
        let highest = |pair: &[(Time, u64)]| {
            let bytes = pair.iter().map(|(_, bytes)| *bytes).max();
            Some((pair.first()?.0, bytes?))
        };
        self.readings = pairs.filter_map(highest).collect();
        self.every_ns *= 2;
    }

    /// The readings in seconds since `origin`, and bytes.
    pub fn over_time(&self, origin: Time) -> Vec<(f64, u64)> {
        let readings = self.readings.iter();
        let seconds = |at: Time| at.since(origin) as f64 / 1e9;
        readings
            .map(|(began, bytes)| (seconds(*began), *bytes))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_hold_keeps_the_highest_of_fewer_readings() {
        let mut footprint = Footprint {
            memory: Memory::default(),
            readings: Vec::new(),
            every_ns: EVERY_NS,
        };
        let looks = 2 * (2 * ROWS_MAX as u64 + 10);
        for look in 0..looks {
            let bytes = if look == 2 * 3000 + 1 { 9000 } else { look / 2 };
            footprint.read(look, bytes, Time(look * EVERY_NS / 2));
        }
        let over_time = footprint.over_time(Time(0));
        assert!(over_time.len() <= ROWS_MAX, "{}", over_time.len());
        assert!(over_time.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let highest = over_time.iter().max_by_key(|(_, bytes)| *bytes);
        let (at_s, bytes) = highest.expect("a reading");
        assert_eq!(*bytes, 9000);
        assert!((2996.0..=3000.0).contains(at_s), "{at_s}");
        assert_eq!(footprint.memory.connections, looks - 1);
    }

    #[test]
    fn what_fewer_connections_need_is_no_price_of_more() {
        let mut footprint = Footprint::before();
        let (before, one) = (footprint.memory, 1 << 40);
        footprint.read(0, 5 << 40, Time(1));
        assert_eq!(footprint.memory, before);
        footprint.read(10, one, Time(2));
        footprint.read(9, 5 << 40, Time(3));
        assert_eq!(footprint.memory.held_bytes, Some(one));
        assert_eq!(footprint.memory.connections, 10);
    }
}
