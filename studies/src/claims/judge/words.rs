//! The sentences of judgements, in both languages. What comes from elsewhere, such as why the
//! generator was the limit or how a program is installed, is English in both.

use lab::verdict::Metric;
use load::check::Streamed;

use super::{Bound, Interval, shown};
use crate::claims::little::number;
use crate::claims::stated::{Multiple, Share};
use crate::claims::word::Words;

/// What a figure is called.
fn called(metric: Metric) -> Words {
    let zh = match metric {
        Metric::RequestsPerSecond | Metric::RequestsDriven => "每秒请求数",
        Metric::ResponseTimeP99 => " P99 响应时间",
        Metric::ResponseTimeP95 => " P95 响应时间",
        Metric::ResponseTimeP50 => "响应时间中位数",
        Metric::ResponseTimeMean => "平均响应时间",
        Metric::Streamed(figure) => of_streams(figure),
        Metric::ServerCpuPerExchange => "每个请求的 CPU 时间",
        Metric::Seconds => "耗时",
        Metric::MemoryPeak => "内存峰值",
        Metric::Capacity => "容量",
        Metric::GeneratorCpuPerExchange => "压测端每个请求的 CPU 时间",
    };
    Words::new(metric.name(), zh)
}

/// The same of one of the events in answers.
fn of_streams(figure: Streamed) -> &'static str {
    match figure {
        Streamed::FirstByteP50 => "首字节时间中位数",
        Streamed::FirstByteP99 => " P99 首字节时间",
        Streamed::FirstEventP50 => "首个事件时间中位数",
        Streamed::FirstEventP99 => " P99 首个事件时间",
        Streamed::EventGapP50 => "事件间隔中位数",
        Streamed::EventGapP99 => " P99 事件间隔",
        Streamed::TimePerEventP50 => "每个事件的时间中位数",
        Streamed::TimePerEventP99 => " P99 每个事件的时间",
        Streamed::EventRate => "每秒事件数",
    }
}

/// What stands between findings.
pub(in crate::claims) const APART: [&str; 2] = ["; ", "；"];

/// Whether a condition was met.
pub(in crate::claims) fn passes(ok: bool) -> Words {
    match ok {
        true => Words::new("passes", "通过"),
        false => Words::new("fails", "未通过"),
    }
}

/// That a row isn't there, or can't be used, for this reason.
pub(super) fn plain(why: &str) -> Words {
    Words::new(why, why)
}

pub(super) fn no_row(name: &str) -> Words {
    Words::new(
        format!("there's no row called {name} in what was measured"),
        format!("测量结果中没有名为 {name} 的一行"),
    )
}

pub(super) fn not_measured(name: &str) -> Words {
    Words::new(format!("{name} wasn't measured"), format!("{name} 未测量"))
}

pub(super) fn of_row(name: &str, what: &str) -> Words {
    Words::new(format!("{name}: {what}"), format!("{name}：{what}"))
}

pub(super) fn too_few(of: &str, to: &str, metric: Metric) -> Words {
    let called = called(metric);
    Words::new(
        format!(
            "{of} and {to} have too few rounds in common with a {}",
            called.en
        ),
        format!("{of} 与 {to} 都有{}的轮次太少", called.zh),
    )
}

pub(super) fn delayed(why: &str) -> Words {
    Words::new(
        format!("the times include the generator's own delays ({why})"),
        format!("这些时间包含压测端自身的延迟（{why}）"),
    )
}

pub(super) fn limited_for_both(why: &str) -> Words {
    Words::new(
        format!("the generator was the limit for both ({why})"),
        format!("两边都是压测端先到极限（{why}）"),
    )
}

/// Why CPU time is judged beside requests/s.
pub(super) fn limited(why: &str) -> Words {
    Words::new(
        format!(" (the generator was the limit: {why})"),
        format!("（压测端先到极限：{why}）"),
    )
}

/// A multiple that was measured against one that was published, by another figure if one is named.
pub(super) fn multiple(
    metric: Metric,
    rows: (&str, &str),
    (bound, measured): (Bound, Interval),
    published: &Multiple,
    by: Option<Metric>,
) -> Words {
    let by_another = match by.map(called) {
        Some(by) => Words::new(format!(" by {}", by.en), format!("，按{}", by.zh)),
        None => Words::default(),
    };
    // No post has it as it stands: it follows from what they have.
    let before = match metric {
        Metric::ServerCpuPerExchange if by.is_none() => {
            Words::new("; by the published figures: ", "；按公布的数字推出：")
        }
        _ => Words::new("; published: ", "；原文："),
    };
    let published = before.with(&range(published));
    times(metric, rows, bound, measured)
        .with(&published)
        .with(&by_another)
}

/// How much the baseline seemed to differ from itself, where that decides.
pub(super) fn floor(floor: f64) -> Words {
    let percent = format!("{:.1}", 100.0 * floor);
    Words::new(
        format!(" (the noise floor is {percent} %)"),
        format!("（噪声下限为 {percent}%）"),
    )
}

/// A row's figure as a multiple of another's.
fn times(metric: Metric, (of, to): (&str, &str), bound: Bound, measured: Interval) -> Words {
    let (called, amount, measured) = (called(metric), bound.words(), measured.words());
    Words::new(
        format!(
            "{} of {of} is {}{measured} times that of {to}",
            called.en, amount.en
        ),
        format!("{of} 的{}{}是 {to} 的 {measured} 倍", called.zh, amount.zh),
    )
}

pub(super) fn by(metric: Metric, pairs: &Words) -> Words {
    let called = called(metric);
    Words::new(
        format!("by {}: {}", called.en, pairs.en),
        format!("按{}：{}", called.zh, pairs.zh),
    )
}

/// How two rows lie to each other.
#[derive(Clone, Copy, Debug)]
pub(super) enum Relation {
    Above,
    NotShown,
    Below,
    NoDifferent,
}

pub(super) fn relation(
    (of, to): (&str, &str),
    relation: Relation,
    (bound, measured): (Bound, Interval),
) -> Words {
    let (en, zh) = match relation {
        Relation::Above => ("above", "高于"),
        Relation::NotShown => ("not shown to be above", "未能显示高于"),
        Relation::Below => ("below", "低于"),
        Relation::NoDifferent => ("no different from", "无异于"),
    };
    let (amount, measured) = (bound.words(), measured.words());
    Words::new(
        format!("{of} {en} {to}: {}{measured} ×", amount.en),
        format!("{of} {zh} {to}：{}{measured} 倍", amount.zh),
    )
}

pub(super) fn cpu((of, to): (&str, &str), measured: Interval) -> Words {
    times(
        Metric::ServerCpuPerExchange,
        (to, of),
        Bound::Exact,
        measured,
    )
}

pub(super) fn no_figure(row: &str, metric: Metric) -> Words {
    let called = called(metric);
    Words::new(
        format!("{row} has no {}", called.en),
        format!("{row} 没有{}", called.zh),
    )
}

/// A figure in the unit that people read it in.
fn in_units(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Streamed(Streamed::EventRate) => number(value),
        Metric::ResponseTimeMean
        | Metric::Streamed(_)
        | Metric::ResponseTimeP50
        | Metric::ResponseTimeP95
        | Metric::ResponseTimeP99 => format!("{} ms", shown(value / 1e3)),
        Metric::ServerCpuPerExchange | Metric::GeneratorCpuPerExchange => {
            format!("{} µs", shown(value))
        }
        Metric::MemoryPeak => format!("{} MB", shown(value / 1e6)),
        Metric::Seconds => format!("{} s", shown(value)),
        Metric::RequestsPerSecond | Metric::RequestsDriven | Metric::Capacity => number(value),
    }
}

/// A figure of a row, per core or not; where the generator was the limit, why.
pub(super) fn figure(
    (metric, row): (Metric, &str),
    per_core: bool,
    measured: Interval,
    published: f64,
    limited: Option<&str>,
) -> Words {
    let called = called(metric);
    let (each_en, each_zh) = match per_core {
        true => (" per core", "（每核）"),
        false => ("", ""),
    };
    let (end_en, end_zh) = match metric.more_is_better() {
        true => ("least", "至少"),
        false => ("most", "至多"),
    };
    let bound_en = limited.map_or(String::new(), |why| {
        format!(" (at {end_en}, because the generator was the limit: {why})")
    });
    let bound_zh = limited.map_or(String::new(), |why| {
        format!("（{end_zh}，压测端先到极限：{why}）")
    });
    let [low, high, published] =
        [measured.low, measured.high, published].map(|value| in_units(metric, value));
    Words::new(
        format!(
            "{} of {row}{each_en}: between {low} and {high} in our rounds{bound_en}; published: \
             {published}",
            called.en
        ),
        format!(
            "{row} 的{}{each_zh}：各轮在 {low} 与 {high} 之间{bound_zh}；原文：{published}",
            called.zh
        ),
    )
}

pub(super) fn no_number(row: &str, word: &str) -> Words {
    Words::new(
        format!("{row} prints no number after `{word}`"),
        format!("{row} 的输出中 `{word}` 之后没有数字"),
    )
}

/// A published multiple, or its least and its most.
fn range(published: &Multiple) -> Words {
    let [least, most] = [published.least, published.most].map(shown);
    match published.least == published.most {
        true => Words::new(least.clone(), least),
        false => Words::new(format!("{least} to {most}"), format!("{least} 到 {most}")),
    }
}

/// Two numbers that commands write, and their published ratio.
pub(super) fn printed(
    word: &str,
    (of, a): (&str, f64),
    (to, b): (&str, f64),
    published: &Multiple,
) -> Words {
    let (ratio, published) = (shown(a / b), range(published));
    let (a, b) = (number(a), number(b));
    Words::new(
        format!(
            "{word} of {of}: {a} against {b} of {to}, a ratio of {ratio}; published: {}",
            published.en
        ),
        format!(
            "{of} 的 {word} 为 {a}，{to} 为 {b}，比值 {ratio}；原文：{}",
            published.zh
        ),
    )
}

/// Why a row's system calls aren't known.
pub(super) fn no_calls(row: &str, why: Option<&str>) -> Words {
    let (en, zh) = match why {
        Some(why) => (format!(": {why}"), format!("：{why}")),
        None => (String::new(), String::new()),
    };
    Words::new(
        format!("the system calls of {row} weren't counted{en}"),
        format!("{row} 的系统调用没有计数{zh}"),
    )
}

/// System calls for each exchange, row by row.
pub(super) fn calls(counts: &[(&str, f64)]) -> Words {
    let each = |(row, count): &(&str, f64)| {
        let count = shown(*count);
        Words::new(format!("{row} {count}"), format!("{row} {count} 次"))
    };
    let each: Vec<Words> = counts.iter().map(each).collect();
    Words::new("system calls for each exchange: ", "每个请求的系统调用：")
        .with(&Words::joined(&each, [", ", "，"]))
}

/// The same of two rows, beside the multiple that was published.
pub(super) fn fewer_calls(counts: &[(&str, f64)], ratio: f64, published: &Multiple) -> Words {
    let (ratio, published) = (shown(ratio), range(published));
    calls(counts).with(&Words::new(
        format!(", a ratio of {ratio}; published: {}", published.en),
        format!("，比值 {ratio}；原文：{}", published.zh),
    ))
}

pub(super) fn no_command(row: &str) -> Words {
    Words::new(
        format!("{row} isn't a timed command"),
        format!("{row} 不是计时的命令"),
    )
}

/// How often a timed command did what it is for, and what that took at most.
pub(super) fn completes(row: &str, runs: usize, seconds: f64, memory: Option<u64>) -> Words {
    let (en, zh) = match memory {
        Some(bytes) => {
            let megabytes = number(bytes as f64 / 1e6);
            (
                format!(" and {megabytes} MB of memory"),
                format!("、{megabytes}MB 内存"),
            )
        }
        None => (String::new(), String::new()),
    };
    Words::new(
        format!("{row} did it in {runs} of {runs} runs, with at most {seconds:.2} s{en}"),
        format!("{row}：{runs} 次运行全部完成，至多 {seconds:.2} 秒{zh}"),
    )
}

pub(super) fn no_conditions(row: &str) -> Words {
    Words::new(
        format!("{row} has no phases with conditions"),
        format!("{row} 没有带条件的阶段"),
    )
}

/// How a phase went in its rounds.
pub(super) fn phase(name: &str, passes: bool, (passed, rounds): (usize, usize)) -> Words {
    let ends = self::passes(passes);
    Words::new(
        format!("{name} {} ({passed} of {rounds})", ends.en),
        format!("{name} {}（{rounds} 轮中 {passed} 轮）", ends.zh),
    )
}

pub(super) fn phases(row: &str, phases: &[Words]) -> Words {
    let phases = Words::joined(phases, [", ", "，"]);
    Words::new(format!("{row}: "), format!("{row}：")).with(&phases)
}

pub(super) fn no_exchanges(row: &str) -> Words {
    Words::new(format!("{row} has no exchanges"), format!("{row} 没有请求"))
}

pub(super) fn errors(row: &str, failed: u64, all: u64, published: &Share) -> Words {
    let percent = |part: f64| format!("{:.3}", part * 100.0);
    let share = percent(failed as f64 / all as f64);
    let published = match (published.value == 0.0, published.rounding == 0.0) {
        (true, true) => "0".to_owned(),
        (true, false) => "0.0".to_owned(),
        (false, _) => percent(published.value),
    };
    let (failed, all) = (number(failed as f64), number(all as f64));
    Words::new(
        format!(
            "errors of {row}: {failed} of {all} requests ({share} %); published: {published} %"
        ),
        format!("{row} 的错误：{all} 个请求中 {failed} 个（{share}%）；原文：{published}%"),
    )
}

/// What other figures of a post come to.
pub(super) fn sum(
    what: &Words,
    from: &str,
    comes_to: f64,
    published: f64,
    made_of: Option<&str>,
) -> Words {
    let (comes_to, published) = (shown(comes_to), shown(published));
    let made_of = match made_of {
        Some(figures) => Words::new(format!(" ({figures})"), format!("（{figures}）")),
        None => Words::default(),
    };
    let sum = Words::new(
        format!(
            "{}: {from} come to {comes_to}; published: {published}",
            what.en
        ),
        format!("{}：{from} 得 {comes_to}；原文：{published}", what.zh),
    );
    sum.with(&made_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_stands_in_the_unit_that_people_read_it_in() {
        for (metric, value, expected) in [
            (Metric::ResponseTimeP99, 8_200.0, "8.20 ms"),
            (Metric::ServerCpuPerExchange, 25.3, "25.3 µs"),
            (Metric::MemoryPeak, 1.2e9, "1,200 MB"),
            (Metric::Seconds, 0.29, "0.29 s"),
            (Metric::RequestsPerSecond, 62_500.0, "62,500"),
        ] {
            assert_eq!(in_units(metric, value), expected);
        }
    }
}
