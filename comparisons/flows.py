#!/usr/bin/env python3
"""Sends users through one session of five requests with ringside, k6 and hurl, in turns, and says how
many sessions each finished for a second of its processor time; the service counts them, too.

    python3 comparisons/flows.py [RINGSIDE] [OUTPUT.csv] [TURNS]

The sessions are those of flows/session.hurl and session.js: log in, capture a token, look, order,
log out, each answer asserted. The service is Go's net/http on core 0, which answers only requests
that are next in their session; the generator has core 1. Takes Go; of k6 and hurl what is
installed, and says what isn't. Nothing else may run meanwhile."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from turns import say, write

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "flows")
ADDRESS = "127.0.0.1:9611"
BASE = f"http://{ADDRESS}"
USERS, SECONDS, REPEATED = 50, 6, 1500
TIMED = {**os.environ, "BASE": BASE, "USERS": str(USERS), "TIME": f"{SECONDS}s"}


def main():
    ringside = sys.argv[1] if len(sys.argv) > 1 else "ringside"
    output = sys.argv[2] if len(sys.argv) > 2 else None
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    flow, script = os.path.join(HERE, "session.hurl"), os.path.join(HERE, "session.js")
    variable = ["--variable", f"base={BASE}", flow]
    generators = {
        "ringside": [ringside, "run", "-t", "1", "-c", str(USERS), "-d", f"{SECONDS}s",
                     "--format", "json", *variable],
        "k6": ["k6", "run", "--quiet", script],
        "hurl": ["hurl", "--test", "--jobs", "1", "--repeat", str(REPEATED), *variable],
    }
    for name in [name for name in ("k6", "hurl") if not shutil.which(name)]:
        print(f"{name} isn't installed, and is left out")
        del generators[name]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        server = os.path.join(folder, "server")
        build = ["go", "build", "-o", server, os.path.join(HERE, "server.go")]
        subprocess.run(build, check=True, env={**os.environ, "CGO_ENABLED": "0"})
        alone = {**os.environ, "GOMAXPROCS": "1"}
        served = subprocess.Popen(["taskset", "-c", "0", server, ADDRESS], env=alone)
        try:
            time.sleep(1)
            for turn in range(turns):
                for name, command in generators.items():
                    rows.append({"turn": turn, "generator": name, **measure(name, command)})
                    say(rows[-1])
        finally:
            served.terminate()
            served.wait()
    write(output, rows)
    judge(rows, generators)


def judge(rows, generators):
    """Says how many times as many sessions ringside finished for the same processor time."""
    each = {name: [row["per_cpu_s"] for row in rows if row["generator"] == name]
            for name in generators}
    for name, its in each.items():
        ratios = [ours / theirs for ours, theirs in zip(each["ringside"], its)]
        print(f"{name}: {statistics.median(its):.0f} sessions for a second of its processor; "
              f"ringside {statistics.median(ratios):.1f} × ({min(ratios):.1f} to {max(ratios):.1f})")


def measure(name, command):
    """Runs one generator: the service's whole sessions, its own, and its processor time."""
    before = whole()
    with tempfile.TemporaryFile("w+") as told:
        run = subprocess.Popen(["taskset", "-c", "1", *command], stdout=told,
                               stderr=subprocess.DEVNULL, env=TIMED)
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        if run.returncode:
            sys.exit(f"{name} ended with {run.returncode}")
        told.seek(0)
        text = told.read()
    sessions = whole() - before
    cpu_s = used.ru_utime + used.ru_stime
    own = None
    if name == "ringside":
        steps = json.loads(text)["steps"]
        own = next(step["completed"] for step in steps if step["name"] == "(flow)")
    return {"sessions": sessions, "own": own, "cpu_s": round(cpu_s, 3),
            "per_cpu_s": round(sessions / cpu_s, 1)}


def whole():
    with urllib.request.urlopen(f"{BASE}/whole", timeout=5) as answer:
        return int(answer.read())


main()
