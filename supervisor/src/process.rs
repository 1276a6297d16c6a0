//! Processes of others: started in a group of their own, on their own cores, with their output in
//! a file, and gone at the end with everything they started.
//!
//! A process is found again in three ways: as a descendant, as a member of the group or session
//! that was made for it, and by a mark in the environment it was started with. The last finds what
//! left the group and lost its parent. The child is not reaped before its group is empty, so its
//! number cannot come to mean somebody else meanwhile. Should this program itself be killed, a
//! shell that waits for that ends the same processes: whoever resumes the work finds none of them.
//!
//! Knows nothing of subjects or of what a process serves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use groups::{Group, Held};
use measure::process::Listing;
use measure::time::{Time, sleep_until, unix_nanoseconds};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, pidfd_open,
    waitid,
};

use crate::cores::Moved;
use crate::listening;
use crate::log::Log;

/// The variable that marks everything a process starts.
const MARK: &str = "RINGSIDE_SUBJECT";
/// How long a process may take to end by itself before it is killed.
pub const GRACE: Duration = Duration::from_secs(3);
/// How long the kernel may take to bury what was killed.
const BURIAL: Duration = Duration::from_secs(3);
/// How long what a process started may take to follow it.
const FOLLOWING: Duration = Duration::from_millis(300);
/// How long a command that answers a question may take.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// How long one that checks what a subject needs may take: it may compile something, beside others.
pub(crate) const CHECK_TIME: Duration = Duration::from_secs(30);
/// How often anything here looks again.
pub const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How a process is started.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The program: a path, or a name that the environment finds.
    pub program: String,
    /// What it is given.
    pub arguments: Vec<String>,
    /// Its whole environment, but for the mark.
    pub environment: BTreeMap<String, String>,
    /// Its working directory.
    pub folder: &'a Path,
    /// Where its output goes; what is there already stays.
    pub log: &'a Path,
    /// The cores it stands on; none leaves it where the caller is.
    pub cores: &'a [usize],
}

/// A process that was started, and everything that it started. Ends with its owner.
#[derive(Debug)]
pub struct Process {
    child: Child,
    pid: Pid,
    mark: String,
    log: Log,
    gone: Option<ExitStatus>,
    ended: bool,
    /// It was asked for something that may end it and leave another in its place.
    may_hand_over: bool,
    /// What it needs beside it, in the order of starting.
    companions: Vec<Process>,
    /// The names of those who were still there when it, or a companion, had ended.
    left_behind: BTreeSet<String>,
    /// The kernel's account of it, where one can be had. Removed when the process has ended.
    group: Option<Arc<Group>>,
    /// What it may use at most, and how that is kept.
    held: Option<Arc<Held>>,
    _guard: Option<Guard>,
}

impl Process {
    /// Starts it. An error says why it could not be started, not what it did then.
    pub fn start(launch: &Launch<'_>) -> io::Result<Process> {
        Process::start_with(launch, Stdio::null(), None, None)
    }

    /// Starts it under limits.
    pub(crate) fn start_held(launch: &Launch<'_>, held: Held) -> io::Result<Process> {
        Process::start_with(launch, Stdio::null(), None, Some(Arc::new(held)))
    }

    /// Starts one that can be told something: see [`Process::tell`].
    pub(crate) fn start_to_be_told(launch: &Launch<'_>) -> io::Result<Process> {
        Process::start_with(launch, Stdio::piped(), None, None)
    }

    fn start_with(
        launch: &Launch<'_>,
        input: Stdio,
        errors: Option<Stdio>,
        held: Option<Arc<Held>>,
    ) -> io::Result<Process> {
        let (log, file) = Log::open(launch.log)?;
        let mark = format!("{}-{}", std::process::id(), unix_nanoseconds());
        let (program, arguments) = match &held {
            Some(held) => held.behind(&launch.program, &launch.arguments),
            None => (launch.program.clone(), launch.arguments.clone()),
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(&launch.environment)
            .env(MARK, &mark)
            .current_dir(launch.folder)
            .stdin(input)
            .stdout(file.try_clone()?)
            .stderr(errors.unwrap_or_else(|| Stdio::from(file)))
            .process_group(0);
        let child = {
            let _there = match launch.cores {
                [] => None,
                cores => Some(Moved::to(cores)?),
            };
            command.spawn()?
        };
        let pid = Pid::from_child(&child);
        // What it does before it is in the group is not on the group's account: microseconds. One
        // that is limited enters by itself before it does anything.
        let group = match &held {
            Some(held) => held.group.clone(),
            None => Group::make().map(Arc::new),
        };
        if let Some(group) = group.as_ref().filter(|_| held.is_none()) {
            group.take(child.id());
        }
        let _guard = Guard::new(pid, &mark, group.as_deref()).ok();
        Ok(Process {
            child,
            pid,
            mark,
            log,
            gone: None,
            ended: false,
            may_hand_over: false,
            companions: Vec::new(),
            left_behind: BTreeSet::new(),
            group,
            held,
            _guard,
        })
    }

    /// Runs what answers a question to its end, or for as long as that may take; none if it can't
    /// be started.
    pub(crate) fn to_its_end(launch: &Launch<'_>) -> Option<Process> {
        let mut process = Process::start(launch).ok()?;
        process.answers(ANSWER_TIME);
        Some(process)
    }

    /// How a check ended, if it didn't take too long.
    pub(crate) fn check(launch: &Launch<'_>) -> io::Result<Option<ExitStatus>> {
        Ok(Process::start(launch)?.answers(CHECK_TIME))
    }

    /// The same without what it says of errors, and nothing if it doesn't succeed.
    pub(crate) fn answer(launch: &Launch<'_>) -> Option<Vec<u8>> {
        let (input, errors) = (Stdio::null(), Some(Stdio::null()));
        let mut process = Process::start_with(launch, input, errors, None).ok()?;
        let status = process.answers(ANSWER_TIME)?;
        process.output().ok().filter(|_| status.success())
    }

    /// Waits for its end, for `longest` at most; how it ended, if it did by itself.
    fn answers(&mut self, longest: Duration) -> Option<ExitStatus> {
        let deadline = Time::now() + longest;
        while self.exited().is_none() && Time::now() < deadline {
            sleep_until(Time::now() + LOOK_AGAIN);
        }
        let status = self.exited();
        self.end(GRACE);
        status
    }

    /// Processes that this one needs: they end when it has ended, the last first.
    pub fn accompany(&mut self, companions: Vec<Process>) {
        self.companions.extend(companions);
    }

    /// Its companions, which are on their own from now on.
    pub fn let_companions_go(&mut self) -> Vec<Process> {
        std::mem::take(&mut self.companions)
    }

    /// The companion that was started as the `place`-th, from 0.
    pub fn companion(&mut self, place: usize) -> Option<&mut Process> {
        self.companions.get_mut(place)
    }

    /// Writes a line to its standard input.
    pub(crate) fn tell(&mut self, line: &str) -> io::Result<()> {
        match &mut self.child.stdin {
            Some(input) => input.write_all(format!("{line}\n").as_bytes()),
            None => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
        }
    }

    /// From now on it may end, as long as somebody whom it has started is there: a server that was
    /// asked to start a new program in its own place has not gone into the background.
    pub fn may_hand_over(&mut self) {
        self.may_hand_over = true;
    }

    /// The kernel's account of it and of what it starts.
    pub(crate) fn group(&self) -> Option<Arc<Group>> {
        self.group.clone()
    }

    /// What it may use at most, if it is limited.
    pub(crate) fn held(&self) -> Option<Arc<Held>> {
        self.held.clone()
    }

    /// How its limits keep it from serving, if they do.
    pub(crate) fn kept_by_limits(&self) -> Option<String> {
        let held = self.held.as_ref()?;
        let out = held.out_of_memory();
        out.or_else(|| held.short_of_addresses())
            .or_else(|| held.held_back())
    }

    /// The processes that it needs beside it. What they use is not on its account.
    pub(crate) fn companions(&self) -> &[Process] {
        &self.companions
    }

    /// Its process id, which is also that of its group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process id of who leads it now: its own, or that of whom it has left its place to, which
    /// is the one with the most below it.
    pub fn leader(&mut self) -> u32 {
        if self.exited().is_none() {
            return self.pid();
        }
        let below = |pid: &u32| measure::process::tree(*pid).len();
        let left = self.members().into_iter().max_by_key(below);
        left.unwrap_or(self.pid())
    }

    /// How it ended, if it has. What it started may still be there.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        if self.gone.is_none() {
            // NOWAIT leaves it a zombie: its number stays taken until its group is empty.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let status = waitid(WaitId::Pid(self.pid), options).ok().flatten()?;
            let raw = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => (code & 0xff) << 8,
                (None, Some(signal)) => signal & 0x7f,
                (None, None) => 0,
            };
            self.gone = Some(ExitStatus::from_raw(raw));
        }
        self.gone
    }

    /// How it ended, in words, if it has. One that left somebody behind went into the background,
    /// where nobody can say any more what belongs to it.
    pub fn ended_in_words(&mut self) -> Option<String> {
        let status = self.exited()?;
        let left: BTreeSet<String> = self.members().into_iter().filter_map(name).collect();
        if self.may_hand_over && !left.is_empty() {
            return None;
        }
        if left.is_empty() || !status.success() {
            return Some(self.explained(status));
        }
        let left: Vec<String> = left.into_iter().collect();
        Some(format!(
            "it went into the background (it exited with status 0 and left {} running); start it \
             so that it stays in the foreground, as with `daemon off` or --no-daemon",
            left.join(" and ")
        ))
    }

    /// How it ended, or what its limits had to do with that.
    fn explained(&self, status: ExitStatus) -> String {
        let how = ending(status);
        let Some(held) = self.held.as_ref().filter(|_| !status.success()) else {
            return how;
        };
        let short = || Some(format!("{how}; {}", held.short_of_addresses()?));
        held.out_of_memory().or_else(short).unwrap_or(how)
    }

    /// The ports that it and what it started listen on.
    pub(crate) fn listening(&self) -> BTreeSet<u16> {
        listening::ports(&self.members())
    }

    /// Sleeps until it has exited, at most for `limit`; how it ended, if it has.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let woken = pidfd_open(self.pid, PidfdFlags::empty()).and_then(|descriptor| {
            // Readable when the process has exited (pidfd_open(2)).
            let mut exit = [PollFd::new(&descriptor, PollFlags::IN)];
            let limit = Timespec::try_from(limit).ok();
            poll(&mut exit, limit.as_ref())
        });
        if woken.is_err() {
            sleep_until(Time::now() + limit.min(LOOK_AGAIN));
        }
        self.exited()
    }

    /// Whether it ended within `limit`.
    pub fn wait_for(&mut self, limit: Duration) -> bool {
        let deadline = Time::now() + limit;
        while Time::now() < deadline {
            if self.wait(deadline - Time::now()).is_some() {
                return true;
            }
        }
        false
    }

    /// Asks it and its group to end; [`Process::end`] then waits for that.
    pub fn ask_to_end(&self) {
        // Fails only if nobody is left in the group. One that is stopped must run to hear it.
        let _ = kill_process_group(self.pid, Signal::TERM);
        let _ = kill_process_group(self.pid, Signal::CONT);
    }

    /// Ends it and everything that it started, then its companions: asks, waits for `grace`, kills.
    /// Who is still there a moment after it has ended itself was left behind, and is named. Returns
    /// who is there after all of that, which the kernel has to be asked about.
    pub fn end(&mut self, grace: Duration) -> Vec<u32> {
        // If it has ended already, nobody has asked its children: they shall have followed it.
        if self.exited().is_none() {
            self.ask_to_end();
        }
        let deadline = Time::now() + grace;
        if self.wait_until(deadline, |process| process.exited().is_some()) {
            let soon = (Time::now() + FOLLOWING).min(deadline);
            if !self.wait_until(soon, |process| process.members().is_empty()) {
                let left = self.members();
                self.left_behind.extend(left.into_iter().filter_map(name));
            }
        }
        self.ask_to_end();
        for pid in self.members() {
            send(pid, Signal::TERM);
        }
        if !self.wait_until(deadline, Process::is_gone) {
            let _ = kill_process_group(self.pid, Signal::KILL);
            for pid in self.members() {
                send(pid, Signal::KILL);
            }
            self.wait_until(Time::now() + BURIAL, Process::is_gone);
        }
        let mut left = self.members();
        if self.exited().is_some() {
            let _ = self.child.wait();
        }
        self.ended = true;
        while let Some(mut companion) = self.companions.pop() {
            left.extend(companion.end(grace));
            self.left_behind.append(&mut companion.left_behind);
        }
        left
    }

    /// The names of those who were still there when it, or a companion, had ended.
    pub fn left_behind(&self) -> &BTreeSet<String> {
        &self.left_behind
    }

    fn is_gone(&mut self) -> bool {
        self.exited().is_some() && self.members().is_empty()
    }

    /// Kills it and everything that it started, at once and without a word; its companions stay.
    /// Returns who is there after all of that.
    pub fn kill(&mut self) -> Vec<u32> {
        let deadline = Time::now() + BURIAL;
        loop {
            // The first one first: a master would start workers in the place of those it lost.
            send(self.pid(), Signal::KILL);
            let members = self.members();
            members.iter().for_each(|pid| send(*pid, Signal::KILL));
            if self.is_gone() || Time::now() >= deadline {
                return self.members();
            }
            sleep_until(Time::now() + LOOK_AGAIN);
        }
    }

    /// Whether `happened` became true before the deadline.
    fn wait_until(&mut self, deadline: Time, happened: impl Fn(&mut Process) -> bool) -> bool {
        loop {
            if happened(self) {
                return true;
            }
            let now = Time::now();
            if now >= deadline {
                return false;
            }
            sleep_until((now + LOOK_AGAIN).min(deadline));
        }
    }

    /// Everyone alive who belongs to it, itself included unless it has exited.
    pub fn members(&self) -> Vec<u32> {
        let mut members: BTreeSet<u32> = measure::process::tree(self.pid()).into_iter().collect();
        members.extend(marked(&self.mark));
        members.extend(self.group.iter().flat_map(|group| group.members()));
        members.remove(&std::process::id());
        members.into_iter().filter(|pid| alive(*pid)).collect()
    }

    /// All that it wrote, unless that is more than a megabyte.
    pub(crate) fn output(&self) -> io::Result<Vec<u8>> {
        self.log.beginning()
    }

    /// What it writes.
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// The last lines that it wrote, without control characters.
    pub fn last_lines(&self) -> Vec<String> {
        self.log.last_lines()
    }

    /// Who of this `listing` belongs to it, by its mark or its control group. The environments of
    /// processes that `known` names are not looked at again.
    pub(crate) fn owned(&self, listing: &Listing, known: &mut BTreeSet<(u32, u64)>) -> Vec<u32> {
        let mut owned = self
            .group
            .iter()
            .flat_map(|group| group.members())
            .collect::<Vec<_>>();
        for one in listing.all() {
            let key = (one.pid, one.started);
            if known.contains(&key) {
                continue;
            }
            match holds(one.pid, &self.mark) {
                Some(true) => owned.push(one.pid),
                Some(false) => {}
                // It is becoming another program just now.
                None => continue,
            }
            known.insert(key);
        }
        owned
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Only where an error or a panic passed by `end`: then there is no time to be polite.
        if !self.ended {
            self.end(Duration::from_millis(200));
        }
    }
}

/// A shell that kills a process and all that it started when this program is gone, however that
/// came: its standard input ends then. (prctl(PR_SET_PDEATHSIG) would need code between fork and
/// exec, and would not reach grandchildren.)
#[derive(Debug)]
struct Guard(Child);

/// Kills the group `$1`, and who has left it: all who were started with the mark `$2` or are in the
/// lists of a control group that follow. What is killed takes a moment to be gone, so it looks
/// again, which takes longer. The control group can be removed then.
const GUARD: &str = r#"
while read -r _; do :; done
kill -s KILL -- "-$1"
mark=$2
shift 2
for again in 1 2 3 4 5; do
    marked=$(grep -lsxzF "$mark" /proc/[0-9]*/environ | tr -cd '0-9\n')
    for pid in $marked $(cat "$@" /dev/null); do
        [ "$pid" = 0 ] || kill -s KILL "$pid"
    done
done
for list; do rmdir "${list%/*}"; done
"#;

impl Guard {
    fn new(leader: Pid, mark: &str, group: Option<&Group>) -> io::Result<Guard> {
        Command::new("/bin/sh")
            .args(["-c", GUARD, "ringside-guard", &leader.to_string()])
            .arg(format!("{MARK}={mark}"))
            .args(group.into_iter().flat_map(Group::lists))
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map(Guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Killed before its input ends: the group was ended properly, or is about to be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a process a signal, if it is still there.
pub fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended since it was listed, which is what is wanted.
        let _ = kill_process(pid, signal);
    }
}

/// Whether a process is more than an entry that nobody has reaped yet (proc(5), state).
fn alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// What a process is called, without control characters; none if it is gone.
fn name(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.chars().filter(|c| !c.is_control()).collect())
}

/// Whether the environment of a process at its start held the mark; none where it has none yet.
fn holds(pid: u32, mark: &str) -> Option<bool> {
    // What cannot be read is somebody else's.
    let environment = fs::read(format!("/proc/{pid}/environ")).ok();
    let wanted = format!("{MARK}={mark}");
    match environment {
        Some(bytes) if bytes.is_empty() => None,
        Some(bytes) => Some(
            bytes
                .split(|byte| *byte == 0)
                .any(|entry| entry == wanted.as_bytes()),
        ),
        None => Some(false),
    }
}

/// Processes whose environment at their start held the mark.
fn marked(mark: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| holds(*pid, mark) == Some(true))
        .collect()
}

/// How a process ended, in words: `exit status 1`, `killed by signal 9 (SIGKILL)`.
pub(crate) fn ending(status: ExitStatus) -> String {
    let name = |signal: i32| match signal {
        6 => " (SIGABRT)",
        9 => " (SIGKILL: someone killed it, or the kernel ran out of memory)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        _ => "",
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with status {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}{}", name(signal)),
        (None, None) => "it ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use measure::process::TreeWatch;
    use tempfile::TempDir;

    use super::*;

    struct Folder(TempDir);

    impl Folder {
        fn new() -> Folder {
            Folder(tempfile::tempdir().expect("a temporary folder"))
        }

        fn start(&self, script: &str) -> Process {
            Process::start(&Launch {
                program: "/bin/sh".into(),
                arguments: vec!["-c".into(), script.into()],
                environment: [("PATH".into(), "/usr/bin:/bin".into())].into(),
                folder: self.0.path(),
                log: &self.0.path().join("log"),
                cores: &[],
            })
            .expect("/bin/sh starts")
        }
    }

    /// Waits until the process has written `text`.
    fn until_written(process: &Process, text: &str) {
        let deadline = Time::now() + Duration::from_secs(10);
        while !process.last_lines().iter().any(|line| line.contains(text)) {
            assert!(Time::now() < deadline, "never wrote {text}");
            sleep_until(Time::now() + LOOK_AGAIN);
        }
    }

    fn number_after(process: &Process, word: &str) -> u32 {
        let lines = process.last_lines();
        let line = lines
            .iter()
            .find_map(|line| line.strip_prefix(word))
            .expect("written above");
        line.trim().parse().expect("a process id")
    }

    #[test]
    fn one_that_ends_when_asked_is_gone_at_once() {
        let folder = Folder::new();
        let mut process = folder.start("echo up; exec sleep 1000");
        until_written(&process, "up");
        assert_eq!(process.exited(), None);
        let start = Time::now();
        assert_eq!(process.end(GRACE), Vec::<u32>::new());
        assert!(Time::now() - start < GRACE, "it was killed, not asked");
        assert!(process.left_behind().is_empty());
        assert_eq!(
            process.exited().and_then(|status| status.signal()),
            Some(15)
        );
    }

    #[test]
    fn one_that_does_not_listen_is_killed() {
        let folder = Folder::new();
        let mut process = folder.start("trap '' TERM; echo up; while :; do sleep 1000; done");
        until_written(&process, "up");
        assert_eq!(process.end(Duration::from_millis(100)), Vec::<u32>::new());
        assert_eq!(process.exited().and_then(|status| status.signal()), Some(9));
    }

    #[test]
    fn a_grandchild_that_left_the_group_and_lost_its_parent_is_gone_too() {
        let folder = Folder::new();
        let script = "setsid sleep 1000 & until grep -q sleep /proc/$!/comm; do :; done; \
                      echo orphan $!; exit 3";
        let mut process = folder.start(script);
        until_written(&process, "orphan");
        let orphan = number_after(&process, "orphan");
        let deadline = Time::now() + Duration::from_secs(10);
        while process.exited().is_none() && Time::now() < deadline {
            sleep_until(Time::now() + LOOK_AGAIN);
        }
        assert_eq!(process.exited().and_then(|status| status.code()), Some(3));
        assert!(alive(orphan), "the test needs an orphan");
        assert_eq!(process.end(GRACE), Vec::<u32>::new());
        assert!(!alive(orphan));
        let left: Vec<&str> = process.left_behind().iter().map(String::as_str).collect();
        assert_eq!(left, ["sleep"]);
    }

    #[test]
    fn the_time_of_a_grandchild_that_left_and_lost_its_parent_is_counted_once_it_is_owned() {
        let folder = Folder::new();
        let before = Listing::take();
        let burn = "i=0; while [ $i -lt 250000 ]; do i=$((i+1)); done";
        let script =
            format!("setsid -f sh -c '{burn}; echo burnt; exec sleep 1000'; exec sleep 1000");
        let mut process = folder.start(&script);
        until_written(&process, "burnt");
        let mut known = before
            .all()
            .iter()
            .map(|one| (one.pid, one.started))
            .collect();
        let listing = Listing::take();
        let mut tree = TreeWatch::new(process.pid());
        let alone = tree.sample_of(&listing);
        for pid in process.owned(&listing, &mut known) {
            tree.adopt(pid, &listing);
        }
        let all = tree.sample_of(&listing);
        assert!(all.processes > alone.processes, "{alone:?}, {all:?}");
        assert!(all.cpu_ns > alone.cpu_ns + 20_000_000, "{alone:?}, {all:?}");
        assert_eq!(process.end(GRACE), Vec::<u32>::new());
        // It was there before, and is nobody's.
        assert!(
            !process
                .owned(&before, &mut BTreeSet::new())
                .contains(&std::process::id())
        );
    }

    #[test]
    fn a_child_that_outlives_one_that_ends_by_itself_was_left_behind() {
        let folder = Folder::new();
        let script = "sleep 1000 & until grep -q sleep /proc/$!/comm; do :; done; echo child $!";
        let mut process = folder.start(script);
        until_written(&process, "child");
        let child = number_after(&process, "child");
        assert!(process.wait(GRACE).is_some_and(|status| status.success()));
        assert_eq!(process.end(GRACE), Vec::<u32>::new());
        assert!(!alive(child));
        let left: Vec<&str> = process.left_behind().iter().map(String::as_str).collect();
        assert_eq!(left, ["sleep"]);
    }

    #[test]
    fn dropping_the_owner_ends_the_process() {
        let folder = Folder::new();
        let process = folder.start("echo up; sleep 1000 & wait");
        until_written(&process, "up");
        let pid = process.pid();
        drop(process);
        assert!(!alive(pid));
    }

    #[test]
    fn all_of_it_ends_when_this_program_is_gone() {
        let folder = Folder::new();
        let script = "setsid sh -c 'echo orphan $$; exec sleep 1000' & sleep 1000 & wait";
        let mut process = folder.start(script);
        until_written(&process, "orphan");
        let orphan = number_after(&process, "orphan");
        // What the kernel does to the pipe of a program that was killed.
        let guard = process._guard.as_mut().expect("/bin/sh starts");
        drop(guard.0.stdin.take());
        let deadline = Time::now() + Duration::from_secs(10);
        while (process.exited().is_none() || alive(orphan)) && Time::now() < deadline {
            sleep_until(Time::now() + LOOK_AGAIN);
        }
        assert_eq!(process.exited().and_then(|status| status.signal()), Some(9));
        assert!(!alive(orphan), "who left the group is still there");
        assert_eq!(process.end(GRACE), Vec::<u32>::new());
    }

    #[test]
    fn the_last_lines_are_those_of_this_start_and_fit_for_a_terminal() {
        let folder = Folder::new();
        fs::write(folder.0.path().join("log"), "from before\n").expect("writable");
        let script = r"for i in $(seq 30); do echo line $i; done; printf '\033[31mred\a\n'";
        let mut process = folder.start(script);
        until_written(&process, "red");
        let lines = process.last_lines();
        assert_eq!(lines.len(), 12);
        assert_eq!(
            lines.last().map(String::as_str),
            Some(r"\u{1b}[31mred\u{7}")
        );
        assert!(!lines.iter().any(|line| line.contains("before")));
        process.end(GRACE);
    }
}
