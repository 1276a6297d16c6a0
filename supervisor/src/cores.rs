//! Which cores the subjects and the generator run on, and how a process gets there.
//!
//! A child inherits the affinity of the thread that starts it (sched_setaffinity(2)), so a subject
//! is placed by moving the starting thread for that moment: no tool, no code between fork and exec.

use std::fmt;
use std::fs;
use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

/// Cores as a file names them: `"auto"` or a list such as `"0,2-5"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// One core for the server, another one (two where there are four) for the generator.
    #[default]
    Auto,
    /// These.
    List(Vec<usize>),
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Choice, D::Error> {
        let text = String::deserialize(from)?;
        if text == "auto" {
            return Ok(Choice::Auto);
        }
        parse(&text).map(Choice::List).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` names no cores; expected \"auto\" or a list such as \"0,2-5\""
            ))
        })
    }
}

fn parse(text: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.trim().parse().ok()?;
        let last: usize = last.trim().parse().ok()?;
        if first > last || last >= CpuSet::MAX_CPU {
            return None;
        }
        cores.extend(first..=last);
    }
    cores.sort_unstable();
    cores.dedup();
    Some(cores)
}

/// Where everything runs in one comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The cores of every subject.
    pub server: Vec<usize>,
    /// The cores of the generator.
    pub generator: Vec<usize>,
    /// What a reader must know about it, if anything.
    pub caution: Option<String>,
}

impl Placement {
    /// Places both on the cores that this process may use.
    pub fn decide(server: &Choice, generator: &Choice) -> Result<Placement, String> {
        let allowed = allowed().map_err(|error| format!("sched_getaffinity: {error}"))?;
        place(server, generator, &allowed, &sibling)
    }

    /// The same with servers on those of `cores` that this process may use, or on all that it may
    /// use where that's none: servers that ran before are on cores of their own choice, and what
    /// is compared with them has the same.
    pub fn with_servers_on(self, cores: &[usize]) -> Result<Placement, String> {
        let mut server = allowed().map_err(|error| format!("sched_getaffinity: {error}"))?;
        if server.iter().any(|core| cores.contains(core)) {
            server.retain(|core| cores.contains(core));
        }
        Ok(Placement {
            caution: caution(&server, &self.generator, &sibling),
            server,
            ..self
        })
    }

    /// Whether servers have every core that this process may use.
    pub fn has_all_for_servers(&self) -> bool {
        allowed().is_ok_and(|all| all == self.server)
    }

    /// The cores of the generator that are not the server's, too.
    pub(crate) fn generator_only(&self) -> Vec<usize> {
        let own = self
            .generator
            .iter()
            .filter(|core| !self.server.contains(core));
        own.copied().collect()
    }
}

fn place(
    server: &Choice,
    generator: &Choice,
    allowed: &[usize],
    sibling: &dyn Fn(usize, usize) -> bool,
) -> Result<Placement, String> {
    let listed = |choice: &Choice| match choice {
        Choice::Auto => Ok(None),
        Choice::List(cores) => match cores.iter().find(|core| !allowed.contains(core)) {
            Some(core) => Err(format!(
                "this process may not use core {core}; expected some of {}",
                List(allowed)
            )),
            None => Ok(Some(cores.clone())),
        },
    };
    let (server, generator) = (listed(server)?, listed(generator)?);
    let server = server.unwrap_or_else(|| {
        let taken = generator.clone().unwrap_or_default();
        let free = allowed.iter().find(|core| !taken.contains(core));
        vec![*free.or(allowed.first()).unwrap_or(&0)]
    });
    let generator = generator.unwrap_or_else(|| generator_beside(&server, allowed, sibling));
    let caution = caution(&server, &generator, sibling);
    Ok(Placement {
        server,
        generator,
        caution,
    })
}

fn generator_beside(
    server: &[usize],
    allowed: &[usize],
    sibling: &dyn Fn(usize, usize) -> bool,
) -> Vec<usize> {
    let free: Vec<usize> = allowed
        .iter()
        .copied()
        .filter(|core| !server.contains(core))
        .collect();
    let (near, far): (Vec<usize>, Vec<usize>) = free
        .iter()
        .partition(|free| server.iter().any(|core| sibling(*core, **free)));
    let wanted = if allowed.len() >= 4 { 2 } else { 1 };
    let mut cores: Vec<usize> = far.into_iter().chain(near).take(wanted).collect();
    if cores.is_empty() {
        cores = server[..1].to_vec();
    }
    cores.sort_unstable();
    cores
}

fn caution(
    server: &[usize],
    generator: &[usize],
    sibling: &dyn Fn(usize, usize) -> bool,
) -> Option<String> {
    if generator.iter().any(|core| server.contains(core)) {
        return Some(
            "Generator and server share a core: every number here is a mix of both.".to_owned(),
        );
    }
    let pair = server
        .iter()
        .flat_map(|a| generator.iter().map(move |b| (*a, *b)))
        .find(|(a, b)| sibling(*a, *b))?;
    Some(format!(
        "Cores {} (server) and {} (generator) are two threads of one physical core and slow each \
         other down.",
        pair.0, pair.1
    ))
}

/// Whether two processors are hardware threads of one core.
fn sibling(a: usize, b: usize) -> bool {
    let path = format!("/sys/devices/system/cpu/cpu{a}/topology/thread_siblings_list");
    let list = fs::read_to_string(path).unwrap_or_default();
    a != b && parse(list.trim()).is_some_and(|cores| cores.contains(&b))
}

fn allowed() -> io::Result<Vec<usize>> {
    of_process(None)
}

/// The cores that a process may use, or the calling thread.
pub(crate) fn of_process(pid: Option<Pid>) -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(pid)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|core| set.is_set(*core))
        .collect())
}

/// The calling thread stands on other cores while this lives, and goes back when it is dropped.
#[derive(Debug)]
pub struct Moved {
    before: CpuSet,
}

impl Moved {
    /// Moves the calling thread onto these cores.
    pub fn to(cores: &[usize]) -> io::Result<Moved> {
        let before = sched_getaffinity(None)?;
        let mut set = CpuSet::new();
        cores.iter().for_each(|core| set.set(*core));
        sched_setaffinity(None, &set)?;
        Ok(Moved { before })
    }
}

impl Drop for Moved {
    fn drop(&mut self) {
        // It was this thread's own mask a moment ago. Should a hot-unplug have made it invalid,
        // the kernel has chosen another one already.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// Writes cores as `0,2-5`.
#[derive(Clone, Copy, Debug)]
pub struct List<'a>(pub &'a [usize]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(first) = rest.first() {
            let run = (0..rest.len())
                .take_while(|i| rest[*i] == first + i)
                .count();
            match run {
                1 => write!(f, "{first}")?,
                _ => write!(f, "{first}-{}", first + run - 1)?,
            }
            rest = &rest[run..];
            if !rest.is_empty() {
                f.write_str(",")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(allowed: &[usize], sibling: &dyn Fn(usize, usize) -> bool) -> Placement {
        place(&Choice::Auto, &Choice::Auto, allowed, sibling).expect("auto always finds a place")
    }

    #[test]
    fn lists_of_cores_read_and_write() {
        assert_eq!(parse("0,2-5"), Some(vec![0, 2, 3, 4, 5]));
        assert_eq!(List(&[0, 2, 3, 4, 7]).to_string(), "0,2-4,7");
        for text in ["", "a", "3-1", "1,,2", "99999"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn two_cores_are_split_and_one_is_shared_with_a_caution() {
        let two = placed(&[0, 1], &|_, _| false);
        assert_eq!(
            (two.server, two.generator, two.caution),
            (vec![0], vec![1], None)
        );
        let one = placed(&[3], &|_, _| false);
        assert_eq!((one.server, one.generator), (vec![3], vec![3]));
        assert!(one.caution.is_some());
    }

    #[test]
    fn the_generator_keeps_off_the_servers_hardware_thread_while_it_can() {
        let pairs = |a: usize, b: usize| a / 2 == b / 2;
        let eight = placed(&[0, 1, 2, 3, 4, 5, 6, 7], &pairs);
        assert_eq!(
            (eight.server, eight.generator, eight.caution),
            (vec![0], vec![2, 3], None)
        );
        let two = placed(&[0, 1], &pairs);
        assert!(
            two.caution
                .is_some_and(|caution| caution.contains("one physical core"))
        );
    }

    #[test]
    fn servers_have_the_cores_of_one_that_ran_before_and_the_generator_stays() {
        let own = allowed().expect("affinity can be read");
        let auto = placed(&own, &|_, _| false);
        let on = |cores: &[usize]| {
            let placed = auto.clone().with_servers_on(cores);
            placed.expect("affinity can be read")
        };
        let all = on(&own);
        assert_eq!((&all.server, &all.generator), (&own, &auto.generator));
        assert!(
            all.caution
                .is_some_and(|what| what.contains("share a core"))
        );
        assert_eq!(on(&[]).server, own);
        assert_eq!(on(&[own[0], CpuSet::MAX_CPU]).server, own[..1]);
    }

    #[test]
    fn a_core_that_may_not_be_used_is_refused() {
        let list = Choice::List(vec![9]);
        let refused = place(&list, &Choice::Auto, &[0, 1], &|_, _| false);
        assert!(refused.is_err_and(|what| what.contains("core 9") && what.contains("0-1")));
    }

    #[test]
    fn a_thread_goes_back_to_its_cores() {
        let before = allowed().expect("affinity can be read");
        {
            let _moved = Moved::to(&before[..1]).expect("one of its own cores");
            assert_eq!(allowed().expect("affinity can be read"), before[..1]);
        }
        assert_eq!(allowed().expect("affinity can be read"), before);
    }
}
