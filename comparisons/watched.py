#!/usr/bin/env python3
"""What a run that is watched spends on its watchers, by thread: a run as fast as it can, alone and with
the live page open, a scrape a second and lines with whole histograms, in turns.

    python3 comparisons/watched.py [RINGSIDE] [OUTPUT.csv] [TURNS]

The threads that load are one thing, all others another: what the others take is read from the
scheduler (proc(5), schedstat), so that a host whose speed drifts by a tenth still shows a thousandth.
What being watched costs the threads that load is counted by `cargo xtask instructions`.

The server is `ringside serve` on core 0, beside who watches; the generator has core 1. Nothing else
may run meanwhile."""

import glob
import json
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

from turns import say, write

SERVED, METRICS = "127.0.0.1:9601", "127.0.0.1:9602"
SECONDS = 20
WATCHED = ["--live=0", "--metrics", METRICS, "--intervals", "/dev/null", "--interval-histograms"]
PAGE = re.compile(r"http://[^\s/]+/\?(token=[0-9a-f]+)")


def main():
    ringside = sys.argv[1] if len(sys.argv) > 1 else "ringside"
    output = sys.argv[2] if len(sys.argv) > 2 else None
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    server = ["taskset", "-c", "0", ringside, "serve", "--addr", SERVED, "-t", "1"]
    server = subprocess.Popen(server, stderr=subprocess.DEVNULL)
    rows = []
    try:
        time.sleep(1)
        for turn in range(turns):
            for name, options in [("alone", []), ("watched", WATCHED)]:
                rows.append({"turn": turn, "run": name, **run(ringside, options)})
                say(rows[-1])
    finally:
        server.terminate()
        server.wait()
    write(output, rows)
    judge(rows)


def judge(rows):
    """Says what the watchers take of the whole, turn by turn, and the middle of it."""
    of = {name: [row for row in rows if row["run"] == name] for name in ("alone", "watched")}
    for name, its in of.items():
        share = [row["other_ms_per_s"] / row["load_ms_per_s"] for row in its]
        cpu = statistics.median(row["cpu_us_per_exchange"] for row in its)
        print(f"{name}: other threads take {100 * statistics.median(share):.2f} % "
              f"({100 * min(share):.2f} to {100 * max(share):.2f}) of what those that load take; "
              f"{cpu:.2f} µs an exchange, all threads")
    more = [
        (watched["other_ms_per_s"] - alone["other_ms_per_s"]) / watched["load_ms_per_s"]
        for alone, watched in zip(of["alone"], of["watched"])
    ]
    print(f"watching: {100 * statistics.median(more):.2f} % more "
          f"({100 * min(more):.2f} to {100 * max(more):.2f})")


def run(ringside, options):
    """One run: milliseconds a second of its threads, and its own figure for an exchange."""
    command = ["taskset", "-c", "1", ringside, "run", "-t", "1", "-c", "200", "-d", f"{SECONDS}s"]
    command += [*options, "--format", "json", f"http://{SERVED}/"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pages = []
    listening = threading.Thread(target=lambda: pages.extend(map(str.strip, run.stderr)))
    listening.start()
    record = []
    reading = threading.Thread(target=lambda: record.append(run.stdout.read()))
    reading.start()
    time.sleep(3)
    told = next((line for line in pages if PAGE.search(line)), None)
    page = PAGE.search(told) if told else None
    if options and not page:
        sys.exit("the run says no address of its page: " + " ".join(pages))
    before, since = threads(run.pid), time.time()
    asked = 0
    while time.time() < since + SECONDS - 5:
        time.sleep(1)
        if page:
            look(page, asked)
            asked += 1
    after, took = threads(run.pid), time.time() - since
    run.wait()
    listening.join()
    reading.join()
    if run.returncode:
        sys.exit(f"the run ended with {run.returncode}: " + " ".join(pages))
    spent = {"load": 0.0, "other": 0.0}
    for thread, (name, ns) in after.items():
        kind = "load" if name.startswith("load-") else "other"
        spent[kind] += (ns - before.get(thread, (name, 0))[1]) / 1e6 / took
    return {
        **{f"{kind}_ms_per_s": round(ms, 3) for kind, ms in spent.items()},
        "cpu_us_per_exchange": round(json.loads(record[0])["generator"]["cpu_us_per_exchange"], 3),
    }


def look(page, asked):
    """What a browser asks for once a second, and what Prometheus does."""
    authority, token = page.group(0).split("/?")[0], page.group(1)
    urls = [f"{authority}/updates?each=1&from={asked}&{token}", f"http://{METRICS}/metrics"]
    for url in urls:
        with urllib.request.urlopen(url, timeout=5) as answer:
            answer.read()


def threads(process):
    """Name and nanoseconds on a processor, by thread."""
    found = {}
    for folder in glob.glob(f"/proc/{process}/task/*"):
        with open(f"{folder}/comm") as name, open(f"{folder}/schedstat") as spent:
            found[folder] = (name.read().strip(), int(spent.read().split()[0]))
    return found


main()
