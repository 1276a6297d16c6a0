//! What this machine has left for the generator. Advice names no more threads or CPUs than there
//! are.

use measure::cpu;

/// The generator's threads, and the CPUs that they may use.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    threads: u32,
    cpus: usize,
    /// The user chose the threads' CPUs.
    pinned: bool,
}

impl Room {
    /// Of so many threads on this machine.
    pub fn here(threads: u32) -> Room {
        Room {
            threads,
            cpus: cpu::allowed().len(),
            pinned: false,
        }
    }

    /// The same with the CPUs that the user gave for them; none were given where these are none.
    pub fn on(self, cpus: &[usize]) -> Room {
        Room {
            pinned: !cpus.is_empty(),
            ..self
        }
    }

    /// Whether another thread would have a CPU of its own.
    fn is_left(self) -> bool {
        (self.threads as usize) < self.cpus
    }

    /// How the generator gets more done.
    pub fn more_threads(self) -> String {
        match self.is_left() {
            true => format!(
                "add threads (-t, at most {} here) on CPUs of their own (--cpus)",
                self.cpus
            ),
            false => format!("use another machine: {}", self.all_taken()),
        }
    }

    /// How others leave the generator's CPUs alone.
    pub fn own_cpus(self) -> String {
        if self.pinned {
            "end what else runs on the CPUs given with --cpus".to_owned()
        } else if self.is_left() {
            "give the generator CPUs of its own (--cpus)".to_owned()
        } else if self.cpus > 1 {
            format!(
                "use fewer threads (-t) on CPUs of their own (--cpus), or another machine: {}",
                self.all_taken()
            )
        } else {
            "run the generator on another machine: it has a single CPU here".to_owned()
        }
    }

    fn all_taken(self) -> String {
        match self.cpus {
            1 => "the generator already has the only CPU here".to_owned(),
            cpus => format!("the generator already has all {cpus} CPUs here"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_no_more_than_there_is() {
        let told = |threads, cpus| {
            let room = Room {
                threads,
                cpus,
                pinned: false,
            };
            (room.more_threads(), room.own_cpus())
        };
        let (more, own) = told(1, 2);
        assert!(
            more.starts_with("add threads (-t, at most 2 here)"),
            "{more}"
        );
        assert!(own.ends_with("(--cpus)"), "{own}");
        for threads in [2, 8] {
            let (more, own) = told(threads, 2);
            let taken = "the generator already has all 2 CPUs here";
            assert_eq!(more, format!("use another machine: {taken}"));
            assert!(own.starts_with("use fewer threads (-t)"), "{own}");
            assert!(own.ends_with(taken), "{own}");
        }
        let (more, own) = told(1, 1);
        for said in [more, own] {
            assert!(said.contains("another machine"), "{said}");
            assert!(!said.contains("--cpus") && !said.contains("-t"), "{said}");
        }
        // Who has chosen CPUs isn't told to choose some.
        let room = Room::here(1);
        assert_eq!(room.on(&[]).own_cpus(), room.own_cpus());
        let advice = room.on(&[0]).own_cpus();
        assert_eq!(advice, "end what else runs on the CPUs given with --cpus");
    }
}
