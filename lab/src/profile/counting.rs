//! Counting for a part of a load, and the exchanges of that very part.
//!
//! A subject that is counted is slower for it: dividing by the rate of the whole load, of which
//! only a part was counted, would make each exchange look cheaper than it is. So `perf` starts with
//! its counters off and is told when to count (perf-stat(1), --control), and the exchanges that had
//! completed are read at the same two moments.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use load::{Phase, Progress};
use measure::time::{Time, sleep_until};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use std::time::Duration;

/// How long `perf` may take to say that it has done what it was told.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How often is looked whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// What `perf` is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Say that you are there; nothing is counted yet.
    Ready,
    Count,
    Stop,
}

/// When is counted, and what completed meanwhile.
#[derive(Debug)]
pub(super) struct Counting {
    looked_s: f64,
    state: State,
}

#[derive(Debug)]
enum State {
    Waiting,
    Ready,
    On { since_s: f64, completed: u64 },
    Over { exchanges: u64 },
    Failed(String),
}

impl Counting {
    /// For at least so many seconds, or to the load's end.
    pub(super) fn new(looked_s: f64) -> Counting {
        Counting {
            looked_s,
            state: State::Waiting,
        }
    }

    /// The load is that far.
    pub(super) fn step(
        &mut self,
        progress: &Progress,
        turn: &mut dyn FnMut(Wish) -> Result<(), String>,
    ) {
        let over = progress.phase == Phase::Drain;
        let next = match self.state {
            _ if progress.phase == Phase::WarmUp => return,
            State::Over { .. } | State::Failed(_) => return,
            State::Waiting | State::Ready if over => {
                Err("perf wasn't ready before the load ended".to_owned())
            }
            State::Waiting => turn(Wish::Ready).map(|()| State::Ready),
            State::Ready => turn(Wish::Count).map(|()| State::On {
                since_s: progress.elapsed_s,
                completed: progress.completed,
            }),
            State::On { since_s, .. } if !over && progress.elapsed_s < since_s + self.looked_s => {
                return;
            }
            State::On { completed, .. } => turn(Wish::Stop).map(|()| State::Over {
                exchanges: progress.completed.saturating_sub(completed),
            }),
        };
        self.state = next.unwrap_or_else(State::Failed);
    }

    /// The exchanges that completed while it counted.
    pub(super) fn exchanges(self) -> Result<u64, String> {
        match self.state {
            State::Over { exchanges: 0 } => Err("no exchange completed in that time".to_owned()),
            State::Over { exchanges } => Ok(exchanges),
            State::Failed(why) => Err(why),
            State::Waiting | State::Ready | State::On { .. } => {
                Err("the load ended before they were counted".to_owned())
            }
        }
    }
}

/// Two named pipes to `perf`, gone with their owner: what it is to do, and that it has done it.
#[derive(Debug)]
pub(super) struct Switch {
    control: File,
    answers: File,
    paths: [PathBuf; 2],
}

impl Switch {
    pub(super) fn make(folder: &Path) -> Result<Switch, String> {
        let paths = ["perf.control", "perf.answers"].map(|name| folder.join(name));
        let pipe = |path: &Path| {
            let _ = fs::remove_file(path); // Of a start before.
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            // For both ways, so that opening it waits for nobody.
            open(
                path,
                OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC,
                Mode::empty(),
            )
        };
        let complain = |error| format!("can't create the pipe {}: {error}", folder.display());
        Ok(Switch {
            control: File::from(pipe(&paths[0]).map_err(complain)?),
            answers: File::from(pipe(&paths[1]).map_err(complain)?),
            paths,
        })
    }

    /// As `perf --control` takes it.
    pub(super) fn argument(&self) -> String {
        let [control, answers] = &self.paths;
        format!("fifo:{},{}", control.display(), answers.display())
    }

    /// Tells `perf`, and waits until it says that it is so.
    pub(super) fn turn(&mut self, wish: Wish) -> Result<(), String> {
        let word = match wish {
            // Its counters are off as it is.
            Wish::Ready | Wish::Stop => "disable\n",
            Wish::Count => "enable\n",
        };
        let told = self.control.write_all(word.as_bytes());
        told.map_err(|error| format!("can't tell perf to {}: {error}", word.trim()))?;
        let deadline = Time::now() + ANSWER_MAX;
        let mut answer = [0; 64];
        while Time::now() < deadline {
            // It answers `ack`, a line break and a zero.
            match self.answers.read(&mut answer) {
                Ok(length) if answer[..length].contains(&b'a') => return Ok(()),
                _ => sleep_until(Time::now() + LOOK_AGAIN),
            }
        }
        Err("perf didn't answer; it must support --control (Linux 5.9 or newer)".to_owned())
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(phase: Phase, elapsed_s: f64, completed: u64) -> Progress {
        Progress {
            phase,
            elapsed_s,
            total_s: Some(3.0),
            connected: 1,
            completed,
            failed: 0,
        }
    }

    /// What was turned when, and what came of it.
    fn play(course: &[Progress]) -> (Vec<(Wish, f64)>, Result<u64, String>) {
        let (mut counting, mut turned) = (Counting::new(1.0), Vec::new());
        for progress in course {
            counting.step(progress, &mut |wish| {
                turned.push((wish, progress.elapsed_s));
                Ok(())
            });
        }
        (turned, counting.exchanges())
    }

    #[test]
    fn only_exchanges_that_completed_while_it_counted_are_divided_by() {
        // 1,000 a second; 200 a second while it is counted.
        let course = [
            at(Phase::WarmUp, 0.0, 0),
            at(Phase::Measure, 0.0, 0),
            at(Phase::Measure, 0.5, 500),
            at(Phase::Measure, 1.0, 600),
            at(Phase::Measure, 1.5, 700),
            at(Phase::Measure, 2.0, 1_200),
            at(Phase::Drain, 2.5, 1_700),
        ];
        let (turned, exchanges) = play(&course);
        let expected = [(Wish::Ready, 0.0), (Wish::Count, 0.5), (Wish::Stop, 1.5)];
        assert_eq!((turned.as_slice(), exchanges), (&expected[..], Ok(200)));
    }

    #[test]
    fn a_load_that_ends_sooner_ends_the_counting() {
        let course = [
            at(Phase::Measure, 0.0, 0),
            at(Phase::Measure, 0.5, 500),
            at(Phase::Drain, 1.0, 600),
        ];
        let (turned, exchanges) = play(&course);
        assert_eq!(turned.last(), Some(&(Wish::Stop, 1.0)));
        assert_eq!(exchanges, Ok(100));
        for shorter in [&course[..0], &course[..1], &course[..2]] {
            assert!(play(shorter).1.is_err(), "{shorter:?}");
        }
        assert!(play(&[course[0], course[2]]).1.is_err(), "it was never on");
        let still = [course[0], course[1], at(Phase::Drain, 1.0, 500)];
        assert!(play(&still).1.is_err(), "nothing completed");
    }

    #[test]
    fn pipes_carry_what_is_told_and_what_is_answered() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut switch = Switch::make(folder.path()).expect("pipes");
        let [control, answers] = switch.paths.clone();
        let both_ways = |path: &Path| File::options().read(true).write(true).open(path);
        let (mut told, mut back) = (both_ways(&control).unwrap(), both_ways(&answers).unwrap());
        let peer = std::thread::spawn(move || {
            let mut word = [0; 7];
            told.read_exact(&mut word).expect("a word");
            back.write_all(b"ack\n\0").expect("an answer");
            word
        });
        assert_eq!(switch.turn(Wish::Count), Ok(()));
        assert_eq!(&peer.join().expect("it only answers"), b"enable\n");
        drop(switch);
        assert!(!control.exists() && !answers.exists());
    }
}
