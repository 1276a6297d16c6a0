#!/usr/bin/env python3
"""Asks `ringside gate` many times about a server that is 5 % slower than its base, and as often about
one that isn't, in turns, and says how often each was called slower and how long that took.

    python3 comparisons/gates.py [RINGSIDE] [OUTPUT] [TIMES]

The server is a repository made here: Go's net/http, which answers after a loop whose every turn
needs the result of the one before. One revision takes 5 % more turns, the other adds a comment.
Everything that a request costs besides is 1 to 3 % of it, so the truth is from 1.0485 to 1.0495.

OUTPUT gets `gates.ndjson`, one gate a line, and each gate's gate.json. A series that was ended early
goes on where it stopped. Takes git and Go."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

TURNS = 300_000
SERVER = """package main

import (
	"fmt"
	"net/http"
	"os"
)

const turns = %d

func burn(w http.ResponseWriter, r *http.Request) {
	value := uint64(r.ContentLength + 2)
	for range turns {
		value = value*6364136223846793005 + 1442695040888963407
	}
	if value == 0 {
		w.WriteHeader(http.StatusInternalServerError)
	}
	fmt.Fprint(w, "done\\n")
}

func main() {
	http.HandleFunc("/", burn)
	if err := http.ListenAndServe(os.Args[1], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
"""
FILES = {
    "go.mod": "module burn\n\ngo 1.24\n",
    "subject.toml": """description = "a loop for each request, on Go's net/http"
kind = "server"

[build]
commands = [["go", "build", "-trimpath", "-o", "{build}/server", "."]]
environment = { GOTOOLCHAIN = "local", GOPROXY = "off", GOFLAGS = "-buildvcs=false", CGO_ENABLED = "0" }

[start]
command = ["{build}/server", "127.0.0.1:{port}"]
environment = { GOMAXPROCS = "1" }

[[answer]]
path = "/"
status = 200
body = "done\\n"
""",
}


def git(folder, *words):
    who = ["-c", "user.name=gates", "-c", "user.email=gates@localhost"]
    done = subprocess.run(["git", "-C", folder, *who, *words], check=True, stdout=subprocess.PIPE)
    return done.stdout.decode().strip()


def commit(folder, server):
    with open(os.path.join(folder, "main.go"), "w") as file:
        file.write(server)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "a revision")
    return git(folder, "rev-parse", "HEAD")


def revisions(folder):
    """The base's commit, and that of each head."""
    git(folder, "init", "-q")
    for name, text in FILES.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    base = commit(folder, SERVER % TURNS)
    equal = commit(folder, SERVER % TURNS + "\n// Nothing else.\n")
    slower = commit(folder, SERVER % (TURNS * 105 // 100))
    return base, {"slower": slower, "equal": equal}


def gate(ringside, folder, output, base, head):
    command = [ringside, "gate", ".", "--base", base, "--head", head, "-o", output]
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seconds = time.monotonic() - start
    try:
        with open(os.path.join(output, "gate.json")) as file:
            said = json.load(file)
    except OSError:
        sys.exit(f"the gate ended with {done.returncode}:\n{done.stdout.decode()}")
    return {
        "exit": done.returncode,
        "seconds": round(seconds, 1),
        "verdict": said["verdict"],
        "figures": said["figures"],
    }


def done_before(path):
    """The gates of a series that was ended early."""
    try:
        with open(path) as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def say(head, gates):
    ends = {}
    for one in gates:
        ends[one["verdict"]] = ends.get(one["verdict"], 0) + 1
    slower = sum(one["exit"] == 99 for one in gates)
    seconds = [one["seconds"] for one in gates]
    middle = statistics.median(seconds)
    print(f"{head}: called slower in {slower} of {len(gates)}; {middle:.0f} s in the middle, ", end="")
    print(f"{max(seconds):.0f} s at most; {ends}", flush=True)


def main():
    ringside = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/release/ringside")
    output = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else "ringside-out/gates")
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    os.makedirs(output, exist_ok=True)
    path = os.path.join(output, "gates.ndjson")
    series = {"slower": [], "equal": []}
    for one in done_before(path):
        series[one["head"]].append(one)
    with tempfile.TemporaryDirectory() as folder:
        base, heads = revisions(folder)
        with open(path, "a") as lines:
            for turn in range(1, times + 1):
                for head, revision in heads.items():
                    if len(series[head]) >= turn:
                        continue
                    own = os.path.join(output, f"{head}-{turn:02}")
                    found = gate(ringside, folder, own, base, revision)
                    series[head].append(found)
                    lines.write(json.dumps({"head": head, "turn": turn, **found}) + "\n")
                    lines.flush()
                    print(f"{head} {turn}: {found['verdict']}, {found['seconds']} s", flush=True)
    for head, gates in series.items():
        say(head, gates)


if __name__ == "__main__":
    main()
