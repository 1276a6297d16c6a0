use super::*;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const MS: u64 = 1_000_000;

/// Enough turns of a shell's loop to be seen in ticks: a tenth of a second or more.
const BURN: &str = "i=0; while [ $i -lt 250000 ]; do i=$((i+1)); done";

/// A shell in a process group of its own, which says how far it is and waits for an answer: no
/// test has to guess how long anything takes.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn start(script: &str) -> Shell {
        let mut child = Command::new("/bin/sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("a shell");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Shell {
            child,
            input,
            output,
        }
    }

    fn word(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    fn hears(&mut self, word: &str) {
        assert_eq!(self.word(), word);
    }

    fn goes_on(&mut self) {
        self.input.write_all(b"\n").expect("the shell reads");
    }

    fn ends(mut self) {
        self.goes_on();
        assert!(self.child.wait().expect("our child").success());
    }
}

/// Processor time as the kernel's other account has it: user and system time, in ticks.
fn stat_cpu_ns(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).expect("alive");
    let rest: Vec<&str> = text
        .rsplit_once(')')
        .expect("a name")
        .1
        .split_whitespace()
        .collect();
    let ticks: u64 =
        rest[11].parse::<u64>().expect("utime") + rest[12].parse::<u64>().expect("stime");
    ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second()
}

#[test]
fn the_processor_time_of_a_child_is_that_of_the_kernels_other_account() {
    let mut shell = Shell::start(&format!("{BURN}; echo done; read answer"));
    shell.hears("done");
    let pid = shell.child.id();
    let (told, ticks) = (cpu_ns(pid).expect("alive"), stat_cpu_ns(pid));
    assert!(
        told > 10 * MS,
        "{told} ns: the loop is too short to test anything"
    );
    assert!(
        told.abs_diff(ticks) <= 25 * MS,
        "{told} ns against {ticks} ns"
    );
    let usage = TreeWatch::new(pid).sample();
    assert_eq!((usage.processes, usage.threads), (1, 1));
    assert!(usage.cpu_ns >= told);
    shell.ends();
    assert_eq!(cpu_ns(pid), None);
}

#[test]
fn what_a_process_used_is_kept_when_it_exits() {
    let inner = format!("/bin/sh -c '{BURN}; echo burnt; read answer'");
    let mut shell = Shell::start(&format!("{inner}; echo alone; read answer; :"));
    let mut watch = TreeWatch::new(shell.child.id());
    shell.hears("burnt");
    let both = watch.sample();
    assert_eq!(both.processes, 2);
    assert!(both.cpu_ns > 10 * MS);
    shell.goes_on();
    shell.hears("alone");
    let one = watch.sample();
    assert_eq!(one.processes, 1);
    assert!(one.cpu_ns >= both.cpu_ns, "{one:?} after {both:?}");
    assert!(one.wait_ns >= both.wait_ns);
    assert!(
        one.cpu_ns < both.cpu_ns + both.cpu_ns / 2,
        "counted twice: {one:?} after {both:?}"
    );
    shell.ends();
    let none = watch.sample();
    assert_eq!((none.processes, none.threads), (0, 0));
    assert!(none.cpu_ns >= one.cpu_ns);
}

#[test]
fn a_process_that_no_sample_saw_is_found_in_its_parents_account() {
    let inner = format!("/bin/sh -c '{BURN}; :'");
    let mut shell = Shell::start(&format!(
        "echo ready; read answer; {inner}; echo over; read a; :"
    ));
    let mut watch = TreeWatch::new(shell.child.id());
    shell.hears("ready");
    let before = watch.sample();
    shell.goes_on();
    shell.hears("over");
    let after = watch.sample();
    assert_eq!((before.processes, after.processes), (1, 1));
    assert!(
        after.cpu_ns > before.cpu_ns + 10 * MS,
        "{after:?} after {before:?}"
    );
    shell.ends();
}

#[test]
fn an_orphan_that_ended_and_a_child_that_no_sample_saw_are_both_kept() {
    // The subshell exits at once, so somebody outside of the tree reaps what it started.
    let orphan = format!("/bin/sh -c '{BURN}; echo burnt; read answer' <&3 &");
    let child = format!("/bin/sh -c '{BURN}; :'");
    let mut shell = Shell::start(&format!(
        "exec 3<&0; ({orphan}); echo root; read answer; {child}; echo over; read a; :"
    ));
    let root = shell.child.id();
    let mut words = [shell.word(), shell.word()];
    words.sort_unstable();
    assert_eq!(words, ["burnt", "root"]);
    let mut watch = TreeWatch::new(root);
    let both = watch.sample();
    assert_eq!(both.processes, 2);
    let of_root = cpu_ns(root).expect("alive");
    let orphan_ns = both.cpu_ns.saturating_sub(of_root);
    assert!(orphan_ns > 10 * MS, "{both:?}");
    // One line for each of the two, whoever reads first.
    shell.goes_on();
    shell.goes_on();
    shell.hears("over");
    if !(0..2_000).any(|_| tree(root).len() == 1) {
        crate::skip::not_permitted("nobody reaps orphans here");
        return shell.ends();
    }
    let reaped_ns = Listed::read(root).expect("alive").reaped_ns;
    assert!(reaped_ns > 10 * MS, "{reaped_ns}");
    let after = watch.sample();
    let own_ns = cpu_ns(root).expect("alive");
    assert!(
        after.cpu_ns >= orphan_ns + reaped_ns,
        "{orphan_ns} of the orphan and {reaped_ns} of the child make {after:?}"
    );
    let all = orphan_ns + reaped_ns + own_ns;
    assert!(after.cpu_ns <= all + 25 * MS, "{all}: {after:?}");
    shell.ends();
}

#[test]
fn a_tree_holds_descendants_and_orphans_but_not_us() {
    // The subshell exits at once; its child loses its parent, but stays in the group.
    let orphan = "/bin/sh -c 'echo orphan; read answer; echo bye' <&3 &";
    let mut shell = Shell::start(&format!("exec 3<&0; ({orphan}); echo root; read answer; :"));
    let root = shell.child.id();
    // Both words, in whichever order: then the subshell is gone and its child is running.
    let mut words = [shell.word(), shell.word()];
    words.sort_unstable();
    assert_eq!(words, ["orphan", "root"]);
    let pids = tree(root);
    assert_eq!(pids.first(), Some(&root), "{pids:?}");
    assert_eq!(pids.len(), 2, "{pids:?}");
    let parents: Vec<u32> = pids
        .iter()
        .filter_map(|pid| Some(Listed::read(*pid)?.parent))
        .collect();
    assert_eq!(parents[0], std::process::id());
    assert_ne!(parents[1], root, "it is no orphan");
    let ours = tree(std::process::id());
    assert!(ours.contains(&root), "a child in another group: {ours:?}");
    // One line for each of the two, whoever reads first.
    shell.goes_on();
    shell.goes_on();
    shell.hears("bye");
    assert!(shell.child.wait().expect("our child").success());
}

#[test]
fn threads_that_exited_are_still_in_the_time_of_their_process() {
    let before = own_cpu_ns().expect("our own");
    let burnt = std::thread::spawn(|| {
        let thread = own_thread();
        loop {
            let time = thread_time(thread).expect("our own");
            if time.run_ns > 30 * MS {
                return time.run_ns;
            }
        }
    });
    let burnt = burnt.join().expect("it counts only");
    let after = own_cpu_ns().expect("our own");
    assert!(
        after - before >= burnt,
        "{before} + {burnt} is more than {after}"
    );
}

#[test]
fn a_thread_that_is_not_ours_has_no_time() {
    assert!(thread_time(own_thread()).is_some());
    assert_eq!(thread_time(1), None);
}

#[test]
fn memory_that_is_used_is_seen() {
    let own = [std::process::id()];
    let before = memory(&own);
    let heap = std::hint::black_box(vec![1u8; 64 << 20]);
    let after = memory(&own);
    drop(heap);
    let grown = after.anonymous_bytes.saturating_sub(before.anonymous_bytes);
    assert!(grown > 48 << 20, "{before:?}, then {after:?}");
    assert!(after.anonymous_bytes <= after.resident_bytes);
    assert!(after.resident_bytes <= after.peak_bytes);
    // Other tests of this process take memory meanwhile, so its peak is read last.
    let peak = own_peak_bytes().expect("our own");
    assert!(after.proportional_bytes.is_none_or(|bytes| bytes <= peak));
    assert!(peak >= after.anonymous_bytes);
}

#[test]
fn memory_that_a_process_has_mapped_twice_is_counted_once() {
    let own = [std::process::id()];
    if proportional_bytes(&own).is_none() {
        crate::skip::not_permitted("this kernel does not say how pages are shared");
        return;
    }
    const SIZE: u64 = 32 << 20;
    let script = format!(
        "exec python3 -c '
import mmap, os, sys
memory = os.memfd_create(\"twice\")
os.ftruncate(memory, {SIZE})
maps = [mmap.mmap(memory, {SIZE}) for _ in range(2)]
for one in maps:
    for at in range(0, {SIZE}, 4096):
        one[at] = 1
print(\"mapped\", flush=True)
sys.stdin.readline()
'"
    );
    if Command::new("python3").arg("-V").output().is_err() {
        crate::skip::skip("python3 isn't installed");
        return;
    }
    let mut twice = Shell::start(&script);
    twice.hears("mapped");
    let pids = [twice.child.id()];
    let memory = memory(&pids);
    let shared = shared(&pids);
    let repeated = shared.repeated_bytes;
    assert!(memory.resident_bytes > 2 * SIZE, "{memory:?}");
    assert!(
        repeated.abs_diff(SIZE) < SIZE / 16,
        "{repeated}, {memory:?}"
    );
    let once = shared.proportional_bytes.expect("it was said before");
    assert!(once.abs_diff(SIZE) < SIZE, "{once}, {memory:?}");
    twice.ends();
    let repeated = |pids: &[u32]| self::shared(pids).repeated_bytes;
    assert_eq!(repeated(&own), 0, "nothing is shared much");
    assert_eq!(repeated(&[]), 0);
}

#[test]
fn pages_that_several_processes_have_are_divided_among_them() {
    let own = std::process::id();
    let Some(alone) = proportional_bytes(&[own]) else {
        crate::skip::not_permitted("this kernel does not say how pages are shared");
        return;
    };
    assert!(alone > 0 && alone <= memory(&[own]).peak_bytes);
    assert_eq!(
        proportional_bytes(&[u32::MAX]),
        Some(0),
        "nobody has nothing"
    );
    assert_eq!(proportional_bytes(&[]), Some(0));
}

#[test]
fn descriptors_and_resident_memory_are_counted() {
    let own = std::process::id();
    let before = descriptors(own).expect("our own");
    let opened: Vec<_> = (0..50)
        .map(|_| fs::File::open("/dev/null").expect("it is there"))
        .collect();
    let after = descriptors(own).expect("our own");
    drop(opened);
    // Other tests of this program open and close theirs meanwhile.
    assert!(after >= before + 25, "{before}, then {after}");
    assert_eq!(descriptors(u32::MAX), None);
    let (estimate, exact) = (resident_bytes(&[own]), memory(&[own]).resident_bytes);
    assert!(
        estimate > exact / 2 && estimate / 2 < exact,
        "{estimate}, {exact}"
    );
    assert_eq!(resident_bytes(&[u32::MAX]), 0);
}

#[test]
fn a_thread_that_waits_leaves_its_processor_by_itself() {
    let mut watch = TreeWatch::new(std::process::id());
    let before = watch.switches(&Listing::take());
    let (there, here) = std::sync::mpsc::channel::<u32>();
    let (back, answers) = std::sync::mpsc::channel::<u32>();
    let echo = std::thread::spawn(move || {
        for number in here {
            back.send(number).expect("somebody listens");
        }
    });
    for number in 0..200 {
        there.send(number).expect("somebody listens");
        assert_eq!(answers.recv(), Ok(number));
    }
    let after = watch.switches(&Listing::take());
    drop(there);
    echo.join().expect("it only echoes");
    assert!(
        after.voluntary >= before.voluntary + 20,
        "{before:?}, then {after:?}"
    );
    let usage = watch.sample();
    // Both are counted in ticks, and scaled to what the clock says.
    let parts = usage.user_ns + usage.system_ns;
    assert!(parts <= usage.cpu_ns + 40 * MS, "{usage:?}");
}

#[test]
fn the_dead_have_no_memory() {
    let nobody = memory(&[u32::MAX]);
    assert_eq!(nobody.resident_bytes, 0);
    assert!(tree(u32::MAX).is_empty());
}

#[test]
fn names_of_processes_may_hold_anything() {
    let fields = "S 1 2 3 0 -1 4194560 1 2 3 4 50 60 70 80 20 0 1 0 99 1000 1";
    let stat = Listed::parse(&format!("4711 (a) b (c) {fields}")).expect("whole");
    assert_eq!(
        (stat.pid, stat.parent, stat.group, stat.session),
        (4711, 1, 2, 3)
    );
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    assert_eq!((stat.reaped_ns, stat.started), (150 * tick_ns, 99));
    assert_eq!(stat.name, "a) b (c");
    assert_eq!((stat.user_ns, stat.system_ns), (50 * tick_ns, 60 * tick_ns));
    assert!(Listed::parse("4711 (sh) S 1 2").is_none());
    assert!(Listed::parse("").is_none());
}

#[test]
fn a_ledger_keeps_what_is_gone_and_notices_reuse() {
    let mut ledger = Ledger::default();
    ledger.update(BTreeMap::from([(1, 10), (2, 20)]));
    ledger.update(BTreeMap::from([(1, 11)]));
    assert_eq!(ledger.total(), 31);
    // Number 1 exited at 11 or more, and another process got its number.
    ledger.update(BTreeMap::from([(1, 3)]));
    assert_eq!(ledger.total(), 34);
}
