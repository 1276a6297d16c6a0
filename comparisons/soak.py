#!/usr/bin/env python3
"""Runs soak.toml and reads, each ten seconds, what the gateway has: memory, descriptors, threads,
tasks, connections to its stores. Says whether the last ten minutes have more of it than the ten
before, by medians, and exits with 1 if so.

    python3 comparisons/soak.py [RINGSIDE] [OUTPUT]

Takes root, curl and nsenter, because the gateway is in a network of its own."""

import csv
import os
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EACH_S = 10
# Memory may differ by this share, and is read as the private and shared pages in RAM.
MEMORY_SHARE = 0.02
COLUMNS = ["seconds", "memory_kib", "descriptors", "threads", "tasks", "users", "redis", "database"]


def gateway(of):
    """The process of the gateway that a comparison has started, if it's there."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                parents[int(pid)] = int(stat.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    for pid in parents:
        above = pid
        while above not in (0, 1, of):
            above = parents.get(above, 0)
        try:
            name = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
        except OSError:
            continue
        if above == of and name == "ringside-gateway":
            return pid
    return None


def field(path, name):
    with open(path) as lines:
        for line in lines:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    return 0


def connections(pid, port):
    """Established TCP connections of the gateway's network whose other end is this port."""
    with open(f"/proc/{pid}/net/tcp") as lines:
        rows = [line.split() for line in lines][1:]
    inodes = set()
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            found = re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{entry}"))
        except OSError:
            continue
        if found:
            inodes.add(found[1])
    there = [row for row in rows if row[3] == "01" and int(row[2].split(":")[1], 16) == port]
    return sum(row[9] in inodes for row in there)


def look(pid, since):
    with open(f"/proc/{pid}/cwd/gateway.toml") as file:
        config = file.read()
    port = {}
    for store in ("redis", "database"):
        part = config.split(f"[users.accounts.{store}]")[1]
        port[store] = int(re.search(r':(\d+)"', part)[1])
    admin = re.search(r'\[admin\]\s+address = "([^"]+)"', config)[1]
    asked = subprocess.run(
        ["nsenter", "-t", str(pid), "-n", "curl", "-s", "-m", "2", f"http://{admin}/metrics"],
        capture_output=True, text=True, check=False,
    ).stdout
    state = dict(re.findall(r'users_state\{[^}]*state="(\w+)"[^}]*\} (\d+)', asked))
    return {
        "seconds": round(time.monotonic() - since),
        "memory_kib": field(f"/proc/{pid}/smaps_rollup", "Rss"),
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": len(os.listdir(f"/proc/{pid}/task")),
        "tasks": int(state.get("tasks", -1)),
        "users": int(state.get("entries", -1)),
        "redis": connections(pid, port["redis"]),
        "database": connections(pid, port["database"]),
    }


def judge(rows):
    last = [row for row in rows if row["seconds"] > rows[-1]["seconds"] - 600]
    before = [row for row in rows if -1200 < row["seconds"] - rows[-1]["seconds"] <= -600]
    grew = False
    for column in COLUMNS[1:]:
        old, new = (statistics.median(row[column] for row in part) for part in (before, last))
        more = abs(new - old) > MEMORY_SHARE * old if column == "memory_kib" else new > old
        grew |= more and column != "users"
        print(f"{column}: {old:g} in the ten minutes before the last ten, {new:g} in these")
    return grew


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "ringside"
    output = sys.argv[2] if len(sys.argv) > 2 else "soak"
    compare = subprocess.Popen([program, "compare", f"{HERE}/soak.toml", "--output", output])
    rows, since = [], None
    while compare.poll() is None:
        pid = gateway(compare.pid)
        if pid is not None:
            since = since or time.monotonic()
            try:
                rows.append(look(pid, since))
            except (OSError, AttributeError, IndexError) as error:
                print(f"not read: {error}", file=sys.stderr)
        time.sleep(EACH_S)
    with open(f"{output}/soak.csv", "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    if compare.returncode != 0 or not rows or rows[-1]["seconds"] < 1700:
        print("the soak did not last half an hour", file=sys.stderr)
        return 2
    return 1 if judge(rows) else 0


sys.exit(main())
