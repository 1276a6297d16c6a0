#!/usr/bin/env python3
"""Replays a log of 10,000 lines whose gaps are known, and holds what the server saw against it:
`ringside run --replay` on the last CPU, a server in Go on the first one.

    python3 comparisons/replay.py [RINGSIDE] [OUTPUT.csv] [TURNS]

Every line that is a request to be sent has to come, once and in the log's order, and the gaps have
to be right within 2 ms at the 99th percentile beyond the host's own noise: what a thread on the
generator's CPU errs by that does nothing but sleep until the same times, before and after. Exits with
1 if not. Takes Go. Nothing else may run meanwhile."""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from turns import say, write

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "replay")
RINGSIDE = sys.argv[1] if len(sys.argv) > 1 else "target/release/ringside"
OUTPUT = sys.argv[2] if len(sys.argv) > 2 else None
TURNS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
CPUS = sorted(os.sched_getaffinity(0))
ADDRESS = "127.0.0.1:9621"
LINES = 10_000
# Requests of the log are this far apart at least, and so far on average.
LEAST_S, MEAN_S = 0.0005, 0.003
# One line in so many is none, and one has a method that isn't sent.
STRANGE, POSTED = 97, 61
BOUND_US = 2_000


def log(path):
    """Writes the log. Returns when which request has to come, in seconds."""
    draw, at, due = random.Random(1), 1_700_000_000.0, []
    with open(path, "w") as file:
        for line in range(LINES):
            at += LEAST_S + draw.expovariate(1 / (MEAN_S - LEAST_S))
            method = "POST" if line % POSTED == POSTED - 1 else "GET"
            if line % STRANGE == STRANGE - 1:
                file.write("level=info msg=started\n")
                continue
            target = f"/item/{line}"
            one = {"ts": round(at, 6), "method": method, "uri": target}
            file.write(json.dumps(one) + "\n")
            if method == "GET":
                due.append((round(at, 6), target))
    return due


def errors_us(came_s, due_s):
    """By how much each gap was off, in microseconds, in the order of their sizes."""
    gaps = zip(came_s, came_s[1:], due_s, due_s[1:])
    return sorted(abs((b - a) - (d - c)) * 1e6 for a, b, c, d in gaps)


def at(errors, share):
    return errors[min(int(share * len(errors)), len(errors) - 1)]


def noise(due):
    """The same of somebody who only sleeps, for a third of the log."""
    times = [one[0] for one in due[: len(due) // 3]]
    os.sched_setaffinity(0, CPUS[-1:])
    began, woke = time.monotonic() + 0.1, []
    for one in times:
        rest = began + one - times[0] - time.monotonic()
        if rest > 0:
            time.sleep(rest)
        woke.append(time.monotonic())
    os.sched_setaffinity(0, CPUS)
    return at(errors_us(woke, times), 0.99)


def turn(file, due):
    """One replay, and what the server says of it."""
    before = noise(due)
    # One connection, since requests on several may be taken up in another order than they came in.
    words = [RINGSIDE, "run", "--replay", file, "-c", "1", "--pipeline", "64", "-t", "1"]
    words += ["--cpus", str(CPUS[-1])]
    words += ["--format", "json", f"http://{ADDRESS}/"]
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not ran.stdout:
        sys.exit(ran.stderr)
    record = json.loads(ran.stdout)
    after = noise(due)
    with urllib.request.urlopen(f"http://{ADDRESS}/came", timeout=30) as answer:
        came = [line.split(" ", 1) for line in answer.read().decode().splitlines()]
    told = next((line for line in ran.stderr.splitlines() if " skips " in line), "")
    errors = errors_us([int(at) / 1e9 for at, _ in came], [one[0] for one in due])
    return {
        "sent": record["exchanges"]["completed"],
        "came": len(came),
        "in_order": int([target for _, target in came] == [one[1] for one in due]),
        "gap_error_p50_us": round(at(errors, 0.5), 1),
        "gap_error_p99_us": round(at(errors, 0.99), 1),
        "gap_error_max_us": round(errors[-1], 1),
        "noise_p99_us": round(statistics.mean([before, after]), 1),
        "lateness_p99_us": record["lateness_us"]["p99"],
        "valid": int(record["valid"]),
        "told": told.replace(file, os.path.basename(file)),
    }


def main():
    if not shutil.which("go"):
        sys.exit("this takes Go, which isn't installed")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file, server = os.path.join(folder, "requests.ndjson"), os.path.join(folder, "server")
        due = log(file)
        build = ["go", "build", "-o", server, os.path.join(HERE, "server.go")]
        subprocess.run(build, check=True, env={**os.environ, "CGO_ENABLED": "0"})
        alone = {**os.environ, "GOMAXPROCS": "1"}
        served = subprocess.Popen(["taskset", "-c", str(CPUS[0]), server, ADDRESS], env=alone)
        try:
            time.sleep(1)
            for number in range(TURNS):
                rows.append({"turn": number, **turn(file, due)})
                say(rows[-1])
        finally:
            served.terminate()
            served.wait()
    write(OUTPUT, rows)
    wrong = [row for row in rows if row["sent"] != len(due) or row["came"] != len(due)]
    out = [row for row in rows if not row["in_order"]]
    late = [row for row in rows if row["gap_error_p99_us"] > row["noise_p99_us"] + BOUND_US]
    print(f"{LINES} lines, {LINES - len(due)} refused: {len(wrong)} turns with another count, "
          f"{len(out)} out of order, {len(late)} with gaps beyond the bound")
    sys.exit(1 if wrong or out or late else 0)


main()
