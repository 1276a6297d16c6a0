#!/usr/bin/env python3
"""Runs every comparison in comparisons/mechanisms/, one after the other, and writes what each row is
worth beside its baseline into OUTPUT/mechanisms.csv, and as tables into OUTPUT/mechanisms.md.

    python3 comparisons/mechanisms.py RINGSIDE OUTPUT [NAME...]

Those of the kernel's interface are made with --profile, which counts system calls in a round of its
own. Exits with 1 if a row has neither figures nor a reason, or if it takes more than 25 minutes.
Nothing else may run meanwhile. Subjects are built before: `ringside subjects build --all`."""

import csv
import glob
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS_MAX = 25 * 60
WITH_SYSTEM_CALLS = ["waiting", "features"]
COLUMNS = [
    "comparison", "point", "row", "baseline", "requests_per_second", "rate_ratio", "rate_low",
    "rate_high", "busy_cpu_us", "server_cpu_us", "cpu_ratio", "cpu_low", "cpu_high", "p99_us",
    "memory_mib", "memory_ratio", "memory_low", "memory_high", "system_calls", "sleeps_per_1000",
    "collections_per_second", "longest_pause_us", "paused", "reason",
]

JUDGED = {
    "requests_per_second": "rate",
    "server_cpu_per_exchange": "cpu",
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


def of_row(row, judged):
    """The line of a row: its own figures, and those beside the baseline's."""
    line = {"row": row["name"]}
    outcome = row.get("outcome", {"state": "measured"})
    if outcome["state"] != "measured":
        line["reason"] = " ".join(str(said) for key, said in outcome.items() if key != "state")
        return line
    figures, used = row.get("figures") or {}, row.get("resources") or {}
    at_equal_rate = row.get("at_equal_rate") or figures
    line["requests_per_second"] = median(figures.get("requests_per_second"))
    line["busy_cpu_us"] = median(figures.get("server_cpu_us_per_exchange"))
    line["server_cpu_us"] = median(at_equal_rate.get("server_cpu_us_per_exchange"))
    line["p99_us"] = median(at_equal_rate.get("p99_us"))
    memory = median(figures.get("memory_peak_bytes"))
    line["memory_mib"] = memory and memory / 1024**2
    line["system_calls"] = ((row.get("profile") or {}).get("calls") or {}).get("per_exchange")
    for column, key in [
        ("sleeps_per_1000", "sleeps_per_1000"),
        ("collections_per_second", "collections_per_second"),
        ("longest_pause_us", "longest_pause_us"),
        ("paused", "paused"),
    ]:
        line[column] = median(used.get(key))
    for metric, ratio in judged:
        if metric in JUDGED:
            of_ratio(line, JUDGED[metric], ratio)
    return line


def lines_of(found):
    """The lines of a report, or those of each point of a sweep."""
    if "points" not in found:
        for row in found["subjects"]:
            judged = [(found["setup"]["metric"], row.get("ratio"))]
            judged += [(one["metric"], one["ratio"]) for one in row.get("further") or []]
            yield "", found["setup"]["baseline"], of_row(row, judged)
        return
    for point in found["points"]:
        for row in point["rows"]:
            judged = [(found["metric"], row.get("ratio"))]
            yield point.get("value", point.get("name")), found["baseline"], of_row(row, judged)


def beside(line, name):
    """A ratio to the baseline with its interval, as a table shows it."""
    if not line.get(f"{name}_ratio"):
        return ""
    centre, low, high = (float(line[f"{name}_{part}"]) for part in ["ratio", "low", "high"])
    return f"{centre:.2f} ({low:.2f}–{high:.2f})"


def number(line, column, digits):
    value = line.get(column)
    return f"{float(value):,.{digits}f}" if value not in (None, "") else ""


SHOWN = [
    ("requests/s", lambda line: number(line, "requests_per_second", 0)),
    ("beside the baseline", lambda line: beside(line, "rate")),
    ("CPU µs per request", lambda line: number(line, "busy_cpu_us", 1)),
    ("CPU at an equal rate", lambda line: beside(line, "cpu")),
    ("p99 µs at an equal rate", lambda line: number(line, "p99_us", 0)),
    ("peak memory MiB", lambda line: number(line, "memory_mib", 0)),
    ("memory beside the baseline", lambda line: beside(line, "memory")),
    ("system calls per request", lambda line: number(line, "system_calls", 2)),
    ("sleeps per 1,000", lambda line: number(line, "sleeps_per_1000", 1)),
    ("collections/s", lambda line: number(line, "collections_per_second", 1)),
    ("longest pause µs", lambda line: number(line, "longest_pause_us", 0)),
]


# What columns are called where there was no equal rate: the figures are those of the closed loop.
OF_CLOSED_LOOPS = {
    "CPU at an equal rate": "CPU beside the baseline",
    "p99 µs at an equal rate": "p99 µs",
}


def table(name, lines, equal_rate):
    """A comparison's rows in Markdown; a column that none of them has is left out."""
    point = [("", lambda line: str(line["point"]))] if any(line["point"] for line in lines) else []
    shown = [*point, ("", lambda line: line["row"]), *SHOWN]
    if not equal_rate:
        shown = [(OF_CLOSED_LOOPS.get(head, head), cell) for head, cell in shown]
    shown = [(head, cell) for head, cell in shown if any(cell(line) for line in lines)]
    rows = [[head for head, _ in shown], ["---" if not head else "--:" for head, _ in shown]]
    for line in lines:
        rows.append([cell(line) for _, cell in shown])
    text = "".join("| " + " | ".join(row) + " |\n" for row in rows)
    reasons = "".join(f"\n{line['row']}: {line['reason']}\n" for line in lines if line.get("reason"))
    return f"## {name}\n\nBaseline: {lines[0]['baseline']}\n\n{text}{reasons}\n"


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    ringside, output, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(output, exist_ok=True)
    began, empty = time.monotonic(), []
    with open(os.path.join(output, "mechanisms.csv"), "w", newline="") as text:
        written, tables = csv.DictWriter(text, COLUMNS, restval=""), []
        written.writeheader()
        for file in sorted(glob.glob(os.path.join(HERE, "mechanisms", "*.toml"))):
            name = os.path.basename(file).removesuffix(".toml")
            if wanted and name not in wanted:
                continue
            found = compare(ringside, file, os.path.join(output, name), name)
            lines = []
            for point, baseline, line in lines_of(found):
                lines.append({"comparison": name, "point": point, "baseline": baseline, **line})
                written.writerow(lines[-1])
                if not line.get("requests_per_second") and not line.get("reason"):
                    empty.append(f"{name}: {line['row']}")
            text.flush()
            equal_rate = (found.get("setup") or {}).get("equal_rate")
            tables.append(table(name, lines, equal_rate))
    with open(os.path.join(output, "mechanisms.md"), "w") as text:
        text.write("".join(tables))
    took = time.monotonic() - began
    print(f"all in {took:.0f} s")
    if empty:
        print("neither measured nor with a reason: " + ", ".join(empty))
    sys.exit(1 if empty or took > SECONDS_MAX else 0)


if __name__ == "__main__":
    main()
