#!/usr/bin/env python3
"""Runs every comparison in comparisons/mechanisms/, or those that are named, one after the other.
Writes how each row compares with its baseline to OUTPUT/mechanisms.csv, and as tables to
OUTPUT/mechanisms.md. OUTPUT must not exist yet, or be empty.

Comparisons of the kernel's interface run with --profile, which counts system calls in a round of
its own. OUTPUT/seconds.csv has how long each took. Build the subjects first, with `ringside
subjects build --all`, and run nothing else meanwhile.

Exits with 1 if a row has neither figures nor a reason, or if all of them take more than 25 minutes;
with 2 if nothing could be run."""

import argparse
import csv
import glob
import json
import math
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS_MAX = 25 * 60
WITH_SYSTEM_CALLS = ["waiting", "features"]
# Rows that have one mechanism more than another row, and that row, in these comparisons.
STEPPED = ["waiting", "features"]
STEPS = {
    "and-batching": "io_uring",
    "and-defer-taskrun": "and-batching",
    "and-direct-descriptors": "and-defer-taskrun",
    "and-multishot": "and-direct-descriptors",
    "and-skip-success": "and-multishot",
    "and-registered-buffers": "and-multishot",
    "sqpoll-shared": "without-defer-taskrun",
    "no-defer-taskrun": "no-coop-taskrun",
}
# What rows are judged by. Of each figure, `kind` is that of ringside's verdict, and `floor` the
# noise floor: by how much the baseline seems to differ from itself, as a share.
FIGURES = ["rate", "cpu", "p99", "memory", "generator"]
COLUMNS = [
    "comparison", "point", "row", "baseline", "equal_rate", "requests_per_second", "rate_ratio",
    "rate_low", "rate_high", "rate_kind", "rate_floor", "step_ratio", "step_low", "step_high",
    "step_kind", "busy_cpu_us", "server_cpu_us", "cpu_ratio", "cpu_low", "cpu_high", "cpu_kind",
    "cpu_floor", "p99_us", "p99_ratio", "p99_low", "p99_high", "p99_kind", "p99_floor",
    "memory_mib", "memory_processes", "memory_ratio", "memory_low", "memory_high", "memory_kind",
    "memory_floor",
    "generator_cpu_us", "generator_ratio", "generator_low", "generator_high", "generator_kind",
    "generator_floor", "system_calls", "sleeps_per_1000", "preempted_per_1000",
    "collections_per_second", "longest_pause_us", "paused", "reason",
]

JUDGED = {
    "requests_per_second": "rate",
    "requests_driven": "rate",
    "server_cpu_per_exchange": "cpu",
    "generator_cpu_per_exchange": "generator",
    "response_time_p99": "p99",
    "memory_peak": "memory",
}


def compare(ringside, file, folder, name):
    """What one comparison found: its report, or that of each point of a sweep."""
    words = [ringside, "compare", file, "--output", folder]
    if name in WITH_SYSTEM_CALLS:
        words.append("--profile")
    subprocess.run(words, check=False)
    swept = os.path.join(folder, "sweep.json")
    if os.path.exists(swept):
        points = read(swept)["points"]
        return [(one["value"], read(folder, one["folder"], "report.json")) for one in points]
    report = os.path.join(folder, "report.json")
    if not os.path.exists(report):
        raise SystemExit(f"{file}: `{' '.join(words)}` left no report")
    return [("", read(report))]


def read(*path):
    with open(os.path.join(*path)) as text:
        return json.load(text)


def median(spread):
    return spread and spread["median"]


def of_judgement(line, name, ratio, kind, floor):
    """A figure's ratio, its interval, and what ringside's verdict makes of them, for a line."""
    if ratio:
        keys = ["centre", "low", "high"]
        columns = [f"{name}_{column}" for column in ["ratio", "low", "high"]]
        line.update(zip(columns, (round(ratio[key], 4) for key in keys)))
        line[f"{name}_kind"] = kind
        line[f"{name}_floor"] = "" if floor is None else round(floor, 4)


def of_row(row, setup, floors, has_p99):
    """The line of a row: its own figures, and those beside the baseline's. What no verdict could be
    given of is said with the reason instead of a figure. `has_p99`: rows are judged by it."""
    line = {"row": row["name"]}
    outcome = row.get("outcome", {"state": "measured"})
    if outcome["state"] != "measured":
        line["reason"] = " ".join(str(said) for key, said in outcome.items() if key != "state")
        return line
    judged = judged_of(row, setup)
    figures, used = row.get("figures") or {}, row.get("resources") or {}
    generating = figures.get("generating") or {}
    line["requests_per_second"] = median(figures.get("requests_per_second"))
    line["busy_cpu_us"] = median(figures.get("server_cpu_us_per_exchange"))
    line["generator_cpu_us"] = median(generating.get("cpu_us_per_exchange"))
    if at_equal_rate := row.get("at_equal_rate"):
        line["equal_rate"] = setup["equal_rate"]
        line["server_cpu_us"] = median(at_equal_rate.get("server_cpu_us_per_exchange"))
        line["p99_us"] = median(at_equal_rate.get("p99_us"))
    elif has_p99:
        line["p99_us"] = median(figures.get("p99_us"))
    memory = median(figures.get("memory_peak_bytes"))
    line["memory_mib"] = memory and memory / 1024**2
    line["memory_processes"] = (used.get("processes") or {}).get("highest")
    line["system_calls"] = ((row.get("profile") or {}).get("calls") or {}).get("per_exchange")
    for key in FROM_RESOURCES:
        line[key] = median(used.get(key))
    reasons = []
    for metric, ratio, verdict in judged:
        name = JUDGED.get(metric, metric)
        of_judgement(line, name, ratio, verdict.get("kind"), floors.get(metric))
        if is_compared(row) and (not ratio or is_bounded(verdict["kind"])):
            reasons.append(verdict["sentence"])
        if is_compared(row) and not ratio and metric == "response_time_p99":
            line["p99_us"] = None
    line["reason"] = "; ".join(reasons)
    return line


FROM_RESOURCES = [
    "sleeps_per_1000", "preempted_per_1000", "collections_per_second", "longest_pause_us", "paused",
]


def lines_of(report):
    """The lines of a report, each with its baseline."""
    setup = report["setup"]
    floors = {one["metric"]: one["share"] for one in report.get("noise_floors") or []}
    judged = [one for row in report["subjects"] for one in judged_of(row, setup)]
    has_p99 = any(metric == "response_time_p99" for metric, _, _ in judged)
    for row in report["subjects"]:
        yield {"baseline": setup["baseline"], **of_row(row, setup, floors, has_p99)}


def judged_of(row, setup):
    """Each figure that a row is judged by, with its ratio and verdict."""
    judged = [(setup["metric"], row.get("ratio"), row.get("verdict") or {})]
    further = row.get("further") or []
    return judged + [(one["metric"], one["ratio"], one["verdict"]) for one in further]


def is_compared(row):
    """Whether a row is compared, which neither the baseline is nor the ceiling."""
    return row["role"] == "subject" and (row.get("verdict") or {}).get("kind") != "baseline"


def steps_of(folder):
    """The requests a second of each row as a multiple of those of the row with one mechanism less.
    The intervals hold for all of a comparison together: Student's t of the logarithms, by round."""
    by_row = {}
    with open(os.path.join(folder, "report.csv")) as text:
        for line in csv.DictReader(text):
            if line["counts"] == "true":
                rates = by_row.setdefault(line["row"], {})
                rates[line["round"]] = float(line["requests_per_second"])
    found = {}
    here = {row: before for row, before in STEPS.items() if {row, before} <= by_row.keys()}
    for row, before in here.items():
        own, other = by_row[row], by_row[before]
        logs = [math.log(own[one] / other[one]) for one in own if one in other]
        if len(logs) < 3:
            continue
        mean = sum(logs) / len(logs)
        error = math.sqrt(sum((one - mean) ** 2 for one in logs) / (len(logs) - 1) / len(logs))
        wide = student(1 - 0.05 / len(here), len(logs) - 1) * error
        values = [mean, mean - wide, mean + wide]
        keys = ["step_ratio", "step_low", "step_high"]
        found[row] = {key: round(math.exp(value), 4) for key, value in zip(keys, values)}
    return found


def student(confidence, freedom):
    """Within so many standard errors a mean lies, by Student's t."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    scale /= math.sqrt(freedom * math.pi)

    def density(at):
        return scale * (1 + at * at / freedom) ** (-(freedom + 1) / 2)

    share, at, step = 0.0, 0.0, 1e-4
    while share < confidence / 2:
        share += step * (density(at) + density(at + step)) / 2
        at += step
    return at


def is_bounded(kind):
    """Whether the generator was the limit of one of the two that are compared."""
    return kind in ["at_least", "at_most", "undecided"]


def beside(line, name):
    """A ratio to the baseline with its interval, as a table shows it: of a bound the end that is
    proven."""
    if line.get(f"{name}_ratio") in (None, ""):
        return ""
    values = [float(line[f"{name}_{part}"]) for part in ["ratio", "low", "high"]]
    centre, low, high = values
    if high > 10 * low:
        return "?"  # An interval that holds nearly everything.
    # Where two digits would round a difference away.
    digits = 3 if any(0.9 <= value < 1.1 for value in values) else 2
    kind = line.get(f"{name}_kind")
    sign, figure = {
        "at_least": ("≥ ", low), "at_most": ("≤ ", high), "undecided": ("? ", centre),
    }.get(kind, ("", centre))
    return f"{sign}{figure:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def memory(line):
    """The peak of memory: of several processes their own peaks' sum, an upper bound."""
    bound = "≤ " if float(line.get("memory_processes") or 1) > 1 else ""
    return number(line, "memory_mib", 0) and bound + number(line, "memory_mib", 0)


def memory_beside(line, lines):
    """A ratio of memory says nothing where either of the two is but an upper bound."""
    baseline = [one for one in lines if one["row"] == line["baseline"]]
    sums = [one for one in [line, *baseline] if memory(one).startswith("≤")]
    return "" if sums else beside(line, "memory")


def number(line, column, digits):
    value = line.get(column)
    return f"{float(value):,.{digits}f}" if value not in (None, "") else ""


def percent(line, column):
    value = line.get(column)
    return f"{100 * float(value):.1f}" if value not in (None, "") else ""


def at_equal_rate(line, cell):
    return cell if line.get("equal_rate") else ""


def at_full_load(line, cell):
    return "" if line.get("equal_rate") else cell


SHOWN = [
    ("requests/s", lambda line: number(line, "requests_per_second", 0)),
    ("× baseline", lambda line: beside(line, "rate")),
    ("× one mechanism less", lambda line: beside(line, "step")),
    ("CPU µs per request", lambda line: number(line, "busy_cpu_us", 1)),
    ("CPU × baseline", lambda line: at_full_load(line, beside(line, "cpu"))),
    ("CPU × baseline, equal rate", lambda line: at_equal_rate(line, beside(line, "cpu"))),
    ("p99 µs", lambda line: at_full_load(line, number(line, "p99_us", 0))),
    ("p99 µs, equal rate", lambda line: at_equal_rate(line, number(line, "p99_us", 0))),
    ("p99 × baseline", lambda line: beside(line, "p99")),
    ("generator's CPU µs per request", lambda line: number(line, "generator_cpu_us", 1)),
    ("generator's CPU × baseline", lambda line: beside(line, "generator")),
    ("peak memory MiB", memory),
    ("memory × baseline", lambda line: line["memory_beside"]),
    ("system calls per request", lambda line: number(line, "system_calls", 2)),
    ("sleeps per 1,000 requests", lambda line: number(line, "sleeps_per_1000", 1)),
    ("preemptions per 1,000 requests", lambda line: number(line, "preempted_per_1000", 1)),
    ("collections/s", lambda line: number(line, "collections_per_second", 1)),
    ("longest pause µs", lambda line: number(line, "longest_pause_us", 0)),
    ("paused, %", lambda line: percent(line, "paused")),
]

MARKS = {
    "≥ ": "`≥`: the generator was the limit, and this end of the interval is proven.",
    "≤ ": "`≤` of a ratio: the same, from the other side.",
    "? ": "`?`: the generator was the limit, so nothing is proven.",
}


def point_of(line):
    point = line["point"]
    if isinstance(point, str) and point.removesuffix(".0").isdigit():
        point = float(point)
    return f"{int(point):,}" if isinstance(point, float) and point.is_integer() else str(point)


def table(name, lines):
    """A comparison's rows in Markdown; a column that none of them has is left out."""
    for line in lines:
        others = [one for one in lines if one["point"] == line["point"]]
        line["memory_beside"] = memory_beside(line, others)
    point = [("", lambda line: point_of(line))] if any(line["point"] for line in lines) else []
    figures = SHOWN
    if all(beside(line, "p99") in ["", "?"] for line in lines):
        # What the baseline has alone says nothing of the others.
        figures = [one for one in SHOWN if not one[0].startswith("p99")]
    shown = [*point, ("", lambda line: line["row"]), *figures]
    shown = [(head, cell) for head, cell in shown if any(cell(line) for line in lines)]
    rows = [[head for head, _ in shown], ["---" if not head else "--:" for head, _ in shown]]
    for line in lines:
        rows.append([cell(line) or "" for _, cell in shown])
    text = "".join("| " + " | ".join(row) + " |\n" for row in rows)
    reasons = [f"{where(line)}: {line['reason']}" for line in lines if line.get("reason")]
    notes = "".join(f"\n{note}\n" for note in [*legend(rows), *floors_of(lines), *reasons])
    return f"## {name}\n\nBaseline: {lines[0]['baseline']}\n\n{text}{notes}\n"


def where(line):
    return f"{line['row']} at {point_of(line)}" if line["point"] else line["row"]


def legend(rows):
    """What the signs in these rows mean."""
    cells = [cell for row in rows[2:] for cell in row]
    ratios = [cell for cell in cells if cell.endswith(")")]
    for mark, says in MARKS.items():
        if any(cell.startswith(mark) for cell in ratios):
            yield says
    if "?" in cells:
        yield "`?` without a figure: the interval holds nearly everything."
    if any(cell.startswith("≤ ") and cell not in ratios for cell in cells):
        yield "`≤` of memory: the sum of several processes' own peaks, which count what they share."


def floors_of(lines):
    """The noise floors that differences were held against, a sentence for each point."""
    for point in dict.fromkeys(line["point"] for line in lines):
        here = [line for line in lines if line["point"] == point]
        known = {}
        for name in FIGURES:
            found = [one for one in here if one.get(f"{name}_floor") not in (None, "")]
            known.update({name: float(found[0][f"{name}_floor"])} if found else {})
        if known:
            of = ", ".join(f"{name} {100 * share:.1f} %" for name, share in known.items())
            yield f"Noise floor{point and f' at {point_of(here[0])}'}: {of}."


def arguments():
    """What is asked for. Exits with 2 if it can't be done."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ringside", metavar="RINGSIDE", help="the program to measure with")
    parser.add_argument("output", metavar="OUTPUT", help="the folder to write to")
    parser.add_argument("names", metavar="NAME", nargs="*", help="comparisons; all by default")
    parser.add_argument(
        "--merge", metavar="CSV", help="an older mechanisms.csv, for comparisons that aren't run"
    )
    asked = parser.parse_intermixed_args()
    files = sorted(glob.glob(os.path.join(HERE, "mechanisms", "*.toml")))
    known = {os.path.basename(file).removesuffix(".toml"): file for file in files}
    for name in asked.names:
        if name not in known:
            parser.error(f"no comparison is called `{name}`; there are {', '.join(known)}")
    if os.path.exists(asked.output) and (
        not os.path.isdir(asked.output) or os.listdir(asked.output)
    ):
        parser.error(f"{asked.output} exists: name a new folder, so that nothing old is read again")
    wanted = {name: known[name] for name in known if not asked.names or name in asked.names}
    try:
        return asked, wanted, merged(asked.merge, wanted) if asked.merge else []
    except OSError as error:
        parser.error(f"can't read {asked.merge}: {error.strerror}")


def merged(file, wanted):
    """The lines of an older record whose comparisons aren't run now. What it lacks stays empty."""
    with open(file, newline="") as text:
        return [line for line in csv.DictReader(text) if line["comparison"] not in wanted]


def measured(ringside, output, name, file):
    """The lines of a comparison that is run now, and how many seconds it took."""
    folder, began = os.path.join(output, name), time.monotonic()
    found = compare(ringside, file, folder, name)
    took = time.monotonic() - began
    steps = steps_of(folder) if name in STEPPED else {}
    lines = [
        {"comparison": name, "point": point, **line, **steps.get(line["row"], {})}
        for point, report in found
        for line in lines_of(report)
    ]
    kinds = {line["row"]: line.get("rate_kind") for line in lines}
    for line in lines:
        before = STEPS.get(line["row"])
        if line.get("step_ratio") and any(is_bounded(kinds.get(r)) for r in [line["row"], before]):
            line["step_kind"] = "undecided"
    return lines, took


def main():
    asked, wanted, old = arguments()
    os.makedirs(asked.output, exist_ok=True)
    seconds, by_name = {}, {}
    for line in old:
        by_name.setdefault(line["comparison"], []).append(line)
    for name, file in wanted.items():
        by_name[name], seconds[name] = measured(asked.ringside, asked.output, name, file)
        write(asked.output, by_name)
    with open(os.path.join(asked.output, "seconds.csv"), "w") as text:
        text.write("".join(f"{name},{took:.0f}\n" for name, took in seconds.items()))
    took = sum(seconds.values())
    print(f"all in {took:.0f} s")
    empty = [
        f"{line['comparison']}: {line['row']}"
        for lines in by_name.values()
        for line in lines
        if not line.get("requests_per_second") and not line.get("reason")
    ]
    if empty:
        print("neither measured nor with a reason: " + ", ".join(empty))
    sys.exit(1 if empty or took > SECONDS_MAX else 0)


def write(output, by_name):
    """Writes what is known so far."""
    names = sorted(by_name)
    with open(os.path.join(output, "mechanisms.csv"), "w", newline="") as text:
        written = csv.DictWriter(text, COLUMNS, restval="", extrasaction="ignore")
        written.writeheader()
        for name in names:
            written.writerows(by_name[name])
    with open(os.path.join(output, "mechanisms.md"), "w") as text:
        text.write("".join(table(name, by_name[name]) for name in names))


if __name__ == "__main__":
    main()
