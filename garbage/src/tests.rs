use super::*;

fn read(runtime: Runtime, text: &str) -> Result<Collected, String> {
    let mut journal = Journal::new(runtime);
    text.lines().for_each(|line| journal.line(line));
    journal.collected()
}

fn collected(collections: u64, paused_us: u64, longest_us: u64) -> Result<Collected, String> {
    Ok(Collected {
        collections,
        paused_ns: paused_us * 1000,
        longest_ns: longest_us * 1000,
        watched_ns: 0,
    })
}

#[test]
fn pauses_of_java_count_and_work_beside_the_program_does_not() {
    let parallel = "\
[0.003s][info][gc] Using Parallel
[0.859s][info][gc] GC(0) Pause Young (Allocation Failure) 16M->2M(61M) 7.465ms
listening on 8080
[0.865s][info][gc] GC(1) Pause Young (Allocation Failure) 18M->2M(61M) 2,392ms
[0.872s][info][gc] GC(2) Concurrent Mark Cycle 12.000ms
";
    assert_eq!(read(Runtime::Java, parallel), collected(2, 9_857, 7_465));
    let g1 = "\
[1.0s][info][gc,start    ] GC(4) Pause Young (Normal) (G1 Evacuation Pause)
[1.0s][info][gc,phases   ] GC(4)   Pre Evacuate Collection Set: 0.1ms
[1.0s][info][gc          ] GC(4) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 1.500ms
";
    assert_eq!(read(Runtime::Java, g1), collected(1, 1_500, 1_500));
}

#[test]
fn a_log_of_java_without_its_tags_has_another_format() {
    for line in [
        "[0.9s] GC(3) Pause Young (Normal) 17M->2M(61M) 1.5ms",
        "[0.9s][info] GC(3) Pause Young (Normal) 17M->2M(61M) 1.5ms",
        "GC(3) Pause Young (Normal) 17M->2M(61M) 1.5ms",
    ] {
        let why = read(Runtime::Java, line).expect_err(line);
        assert!(why.contains("-Xlog:gc"), "{why}");
    }
}

#[test]
fn a_collector_with_several_short_pauses_collects_once() {
    let z = "\
[0.057s][info][gc] Using The Z Garbage Collector
[0.500s][info][gc,phases] GC(0) Pause Mark Start 0.007ms
[0.509s][info][gc,phases] GC(0) Concurrent Mark 8.565ms
[0.509s][info][gc,phases] GC(0) Pause Mark End 0.008ms
[0.516s][info][gc,phases] GC(0) Pause Relocate Start 0.005ms
[0.520s][info][gc       ] GC(0) Garbage Collection (Warmup) 8M(12%)->8M(12%)
[0.905s][info][gc,phases] GC(1) Pause Mark Start 0.012ms
";
    assert_eq!(read(Runtime::Java, z), collected(2, 32, 12));
    let generational = "\
[0.500s][info][gc,phases] GC(3) y: Pause Mark Start 0.002ms
[0.509s][info][gc,phases] GC(2) O: Pause Mark End 0.003ms
[0.520s][info][gc       ] GC(3) Minor Collection (Allocation Rate) 8M(12%)->8M(12%) 0.020s
[0.530s][info][gc       ] GC(2) Major Collection (Warmup) 8M(12%)->8M(12%) 0.030s
";
    assert_eq!(read(Runtime::Java, generational), collected(2, 5, 3));
    let interleaved = "\
[1.1s][info][gc] GC(5) Pause Remark 20M->20M(30M) 1.000ms
[1.2s][info][gc] GC(6) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 1.000ms
[1.3s][info][gc] GC(5) Pause Cleanup 20M->20M(30M) 1.000ms
";
    assert_eq!(read(Runtime::Java, interleaved), collected(2, 3_000, 1_000));
    let without_phases = "[0.5s][info][gc] GC(0) Garbage Collection (Warmup) 8M(12%)->6M(9%)\n";
    assert_eq!(read(Runtime::Java, without_phases), collected(1, 0, 0));
}

#[test]
fn of_gos_three_times_the_first_and_the_last_are_pauses() {
    let text = "\
gc 30 @0.201s 15%: 0.022+1.0+0.002 ms clock, 0.044+0.065/0.023/0.011+0.004 ms cpu, 3->17->14 MB
2026/11/28 12:00:00 gc is a word of this program
gc 31 @0.205s 14%: 0.024+15+0.011 ms clock, 0.048+0.068/0.12/0+0.022 ms cpu, 25->117->92 MB (forced)
";
    assert_eq!(read(Runtime::Go, text), collected(2, 59, 24));
}

#[test]
fn several_processes_of_go_that_write_to_one_log_count_alike() {
    let line = "gc 7 @0.2s 1%: 0.010+5.0+0.002 ms clock, 0 ms cpu\n";
    assert_eq!(
        read(Runtime::Go, &[line, line, line].concat()),
        collected(3, 36, 10)
    );
}

#[test]
fn each_line_of_node_is_a_collection() {
    let text = "\
[32408:0x1b50fc00]  33 ms: Scavenge 3.9 (4.0) -> 3.5 (5.0) MB, 1.06 / 0.00 ms  (average mu = 1.000)
[32408:0x1b50fc00]  46 ms: Mark-Compact (reduce) 6.7 (8.9) -> 6.5 (9.4) MB, 2.84 / 0.00 ms  (+ 0.3 \
ms in 5 steps since start of marking, biggest step 0.1 ms, walltime since start of marking 4 ms)
GET / 46 ms: 200
";
    assert_eq!(read(Runtime::Node, text), collected(2, 4_200, 2_840));
}

#[test]
fn another_format_is_shown_with_its_first_line_and_what_to_do() {
    for (runtime, line, what) in [
        (
            Runtime::Java,
            "2.1: [GC (Allocation Failure)  65536K->1K(251392K), 0.0012 secs]",
            "-Xlog:gc",
        ),
        (
            Runtime::Java,
            "[0.9s][info][gc] GC(0) Pause Young (Normal) 17M->2M(61M) 6.4s",
            "-Xlog:gc",
        ),
        (
            Runtime::Go,
            "gc 1 @0.041s 1%: 20+53+4 us clock",
            "gctrace=1",
        ),
        (
            Runtime::Node,
            "[18:0x5a]  33 ms: Scavenge 3.9 (4.0) -> 3.5 (5.0) MB, 1.06 ms",
            "--trace-gc",
        ),
    ] {
        let said = read(runtime, &format!("{line}\n{line}\n")).expect_err(line);
        assert!(said.contains(line) && said.contains(what), "{said}");
    }
}

#[test]
fn no_line_is_ever_more_than_strange() {
    let lines = [
        "",
        "gc ",
        "gc 1 @",
        "gc 1 @%: ",
        "] GC(",
        "] GC()",
        "[gc] GC(1) Pause ",
        "[ ms: Scavenge",
        "[gc] GC(99999999999999999999) Pause a 1ms",
        "[gc] GC(1) Pause a NaNms",
        "gc 1 @0s 1%: 1e300+1+1 ms clock",
        "[1] 1 ms: Scavenge é / 0",
    ];
    for runtime in [Runtime::Java, Runtime::Go, Runtime::Node] {
        let mut journal = Journal::new(runtime);
        lines.iter().for_each(|line| journal.line(line));
        let most = journal.collected().map_or(0, |all| all.collections);
        assert!(most <= lines.len() as u64);
    }
}

#[test]
fn a_share_and_a_rate_need_a_while() {
    let one = collected(1, 10, 10).expect("it's so");
    assert_eq!((one.share_paused(), one.per_second()), (None, None));
    let watched = Collected {
        watched_ns: 1_000_000,
        ..one
    };
    assert_eq!(watched.share_paused(), Some(0.01));
    assert_eq!(watched.per_second(), Some(1000.0));
}
