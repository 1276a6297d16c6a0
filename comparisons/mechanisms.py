#!/usr/bin/env python3
"""Runs every comparison in comparisons/mechanisms/, one after the other, and writes what each row is
worth beside its baseline into OUTPUT/mechanisms.csv, and as tables into OUTPUT/mechanisms.md.

    python3 comparisons/mechanisms.py RINGSIDE OUTPUT [NAME...]

Those of the kernel's interface are made with --profile, which counts system calls in a round of its
own. Exits with 1 if a row has neither figures nor a reason, or if all of them take more than 25
minutes; how long each took stands in OUTPUT/seconds.csv. Nothing else may run meanwhile. Subjects are built before: `ringside subjects build --all`."""

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
# Rows that have what the row before has and one mechanism more, and the row that is before them.
STEPS = {
    "and-batching": "io_uring",
    "and-defer-taskrun": "and-batching",
    "and-direct-descriptors": "and-defer-taskrun",
    "and-multishot": "and-direct-descriptors",
    "and-skip-success": "and-multishot",
    "and-registered-buffers": "and-multishot",
}
COLUMNS = [
    "comparison", "point", "row", "baseline", "equal_rate", "requests_per_second", "rate_ratio",
    "rate_low", "rate_high", "step_ratio", "step_low", "step_high", "busy_cpu_us", "server_cpu_us",
    "cpu_ratio", "cpu_low", "cpu_high", "p99_us", "p99_ratio", "p99_low", "p99_high", "memory_mib",
    "memory_ratio", "memory_low", "memory_high", "generator_cpu_us", "generator_ratio",
    "generator_low", "generator_high", "system_calls", "sleeps_per_1000", "preempted_per_1000",
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
    """What one comparison found: its report, or that of a sweep."""
    words = [ringside, "compare", file, "--output", folder]
    if name in WITH_SYSTEM_CALLS:
        words.append("--profile")
    subprocess.run(words, check=False)
    for found in ["sweep.json", "report.json"]:
        path = os.path.join(folder, found)
        if os.path.exists(path):
            with open(path) as text:
                return json.load(text)
    raise SystemExit(f"{file}: `{' '.join(words)}` left no report")


def median(spread):
    return spread and spread["median"]


def of_ratio(line, name, ratio):
    """The ratio of a figure and its interval, for a line."""
    if ratio:
        keys = ["centre", "low", "high"]
        columns = [f"{name}_{column}" for column in ["ratio", "low", "high"]]
        line.update(zip(columns, (round(ratio[key], 4) for key in keys)))


def of_row(row, judged, equal_rate):
    """The line of a row: its own figures, and those beside the baseline's. What no verdict could be
    given of is said with the reason instead of a figure."""
    line = {"row": row["name"]}
    outcome = row.get("outcome", {"state": "measured"})
    if outcome["state"] != "measured":
        line["reason"] = " ".join(str(said) for key, said in outcome.items() if key != "state")
        return line
    figures, used = row.get("figures") or {}, row.get("resources") or {}
    generating = figures.get("generating") or {}
    line["requests_per_second"] = median(figures.get("requests_per_second"))
    line["busy_cpu_us"] = median(figures.get("server_cpu_us_per_exchange"))
    line["generator_cpu_us"] = median(generating.get("cpu_us_per_exchange"))
    if at_equal_rate := row.get("at_equal_rate"):
        line["equal_rate"] = equal_rate
        line["server_cpu_us"] = median(at_equal_rate.get("server_cpu_us_per_exchange"))
        line["p99_us"] = median(at_equal_rate.get("p99_us"))
    elif any(metric == "response_time_p99" for metric, _, _ in judged):
        line["p99_us"] = median(figures.get("p99_us"))
    memory = median(figures.get("memory_peak_bytes"))
    line["memory_mib"] = memory and memory / 1024**2
    line["system_calls"] = ((row.get("profile") or {}).get("calls") or {}).get("per_exchange")
    for key in FROM_RESOURCES:
        line[key] = median(used.get(key))
    reasons = []
    for metric, ratio, says in judged:
        of_ratio(line, JUDGED.get(metric, metric), ratio)
        if says and not ratio:
            reasons.append(says)
            if metric == "response_time_p99":
                line["p99_us"] = None
    line["reason"] = "; ".join(reasons)
    return line


FROM_RESOURCES = [
    "sleeps_per_1000", "preempted_per_1000", "collections_per_second", "longest_pause_us", "paused",
]


def lines_of(found):
    """The lines of a report, or those of each point of a sweep."""
    if "points" not in found:
        for row in found["subjects"]:
            said = (row.get("verdict") or {}).get("sentence")
            row["kind"] = (row.get("verdict") or {}).get("kind")
            judged = [(found["setup"]["metric"], row.get("ratio"), of_subject(row, said))]
            for one in row.get("further") or []:
                says = of_subject(row, one["verdict"]["sentence"])
                judged.append((one["metric"], one["ratio"], says))
            yield "", found["setup"]["baseline"], of_row(row, judged, found["setup"]["equal_rate"])
        return
    for point in found["points"]:
        for row in point["rows"]:
            judged = [(found["metric"], row.get("ratio"), of_subject(row, row.get("verdict")))]
            line = of_row(row, judged, None)
            yield point.get("value", point.get("name")), found["baseline"], line


def of_subject(row, says):
    """What is said of a row that is compared, which neither the baseline is nor the ceiling."""
    return says if row["role"] == "subject" and row.get("kind") != "baseline" else None


def steps_of(folder):
    """The requests a second of each row as a multiple of those of the row that is before it, with
    intervals that hold for all of these together: Student's t of the logarithms, by round."""
    by_row = {}
    with open(os.path.join(folder, "report.csv")) as text:
        for line in csv.DictReader(text):
            if line["counts"] == "true":
                rates = by_row.setdefault(line["row"], {})
                rates[line["round"]] = float(line["requests_per_second"])
    found = {}
    for row, before in STEPS.items():
        own, other = by_row.get(row, {}), by_row.get(before, {})
        logs = [math.log(own[one] / other[one]) for one in own if one in other]
        if len(logs) < 3:
            continue
        mean = sum(logs) / len(logs)
        error = math.sqrt(sum((one - mean) ** 2 for one in logs) / (len(logs) - 1) / len(logs))
        wide = student(1 - 0.05 / len(STEPS), len(logs) - 1) * error
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


def beside(line, name):
    """A ratio to the baseline with its interval, as a table shows it."""
    if not line.get(f"{name}_ratio"):
        return ""
    centre, low, high = (float(line[f"{name}_{part}"]) for part in ["ratio", "low", "high"])
    if high > 10 * low:
        return "?"  # An interval that holds nearly everything.
    return f"{centre:.2f} ({low:.2f}–{high:.2f})"


def number(line, column, digits):
    value = line.get(column)
    return f"{float(value):,.{digits}f}" if value not in (None, "") else ""


def percent(line, column):
    value = line.get(column)
    return f"{100 * float(value):.1f}" if value not in (None, "") else ""


SHOWN = [
    ("requests/s", lambda line: number(line, "requests_per_second", 0)),
    ("beside the baseline", lambda line: beside(line, "rate")),
    ("beside the row before", lambda line: beside(line, "step")),
    ("CPU µs per request", lambda line: number(line, "busy_cpu_us", 1)),
    ("CPU beside the baseline", lambda line: not line.get("equal_rate") and beside(line, "cpu")),
    ("CPU at an equal rate", lambda line: line.get("equal_rate") and beside(line, "cpu")),
    ("p99 µs", lambda line: not line.get("equal_rate") and number(line, "p99_us", 0)),
    ("p99 µs at an equal rate", lambda line: line.get("equal_rate") and number(line, "p99_us", 0)),
    ("p99 beside the baseline", lambda line: beside(line, "p99")),
    ("generator's CPU µs per request", lambda line: number(line, "generator_cpu_us", 1)),
    ("generator's CPU beside the baseline", lambda line: beside(line, "generator")),
    ("peak memory MiB", lambda line: number(line, "memory_mib", 0)),
    ("memory beside the baseline", lambda line: beside(line, "memory")),
    ("system calls per request", lambda line: number(line, "system_calls", 2)),
    ("sleeps per 1,000", lambda line: number(line, "sleeps_per_1000", 1)),
    ("preemptions per 1,000", lambda line: number(line, "preempted_per_1000", 1)),
    ("collections/s", lambda line: number(line, "collections_per_second", 1)),
    ("longest pause µs", lambda line: number(line, "longest_pause_us", 0)),
    ("paused, %", lambda line: percent(line, "paused")),
]


def point_of(line):
    point = line["point"]
    return f"{int(point):,}" if isinstance(point, float) and point.is_integer() else str(point)


def table(name, lines):
    """A comparison's rows in Markdown; a column that none of them has is left out."""
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
    reasons = "".join(f"\n{line['row']}: {line['reason']}\n" for line in lines if line.get("reason"))
    return f"## {name}\n\nBaseline: {lines[0]['baseline']}\n\n{text}{reasons}\n"


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    ringside, output, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(output, exist_ok=True)
    seconds, empty = {}, []
    with open(os.path.join(output, "mechanisms.csv"), "w", newline="") as text:
        written, tables = csv.DictWriter(text, COLUMNS, restval=""), []
        written.writeheader()
        for file in sorted(glob.glob(os.path.join(HERE, "mechanisms", "*.toml"))):
            name = os.path.basename(file).removesuffix(".toml")
            if wanted and name not in wanted:
                continue
            folder, began = os.path.join(output, name), time.monotonic()
            found = compare(ringside, file, folder, name)
            seconds[name] = time.monotonic() - began
            steps = steps_of(folder) if name == "waiting" else {}
            lines = []
            for point, baseline, line in lines_of(found):
                line.update(steps.get(line["row"], {}))
                lines.append({"comparison": name, "point": point, "baseline": baseline, **line})
                written.writerow(lines[-1])
                if not line.get("requests_per_second") and not line.get("reason"):
                    empty.append(f"{name}: {line['row']}")
            text.flush()
            tables.append(table(name, lines))
    with open(os.path.join(output, "mechanisms.md"), "w") as text:
        text.write("".join(tables))
    with open(os.path.join(output, "seconds.csv"), "w") as text:
        text.write("".join(f"{name},{took:.0f}\n" for name, took in seconds.items()))
    took = sum(seconds.values())
    print(f"all in {took:.0f} s")
    if empty:
        print("neither measured nor with a reason: " + ", ".join(empty))
    sys.exit(1 if empty or took > SECONDS_MAX else 0)


if __name__ == "__main__":
    main()
