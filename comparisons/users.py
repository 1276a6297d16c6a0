#!/usr/bin/env python3
"""Has many users at once go through a flow, all of them in the middle of it, and says what one takes
beside its connection: the memory of `ringside run FILE.hurl` over that of a plain run that has as many
connections open.

    python3 comparisons/users.py [RINGSIDE] [USERS] [OUTPUT.json]

The server is `ringside serve`. Every user captures two values, thinks for 20 s, and shows them. A
user may take 4 KiB at most, and all of them have to get through; exits with 1 if not. There is a
thread for every 18,000 users, since the limit on open files holds for each of their rings."""

import json
import os
import subprocess
import sys

RINGSIDE = sys.argv[1] if len(sys.argv) > 1 else "target/release/ringside"
USERS = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
OUTPUT = sys.argv[3] if len(sys.argv) > 3 else None
FLOW = os.path.join(os.path.dirname(os.path.abspath(__file__)), "flows", "users.hurl")
EACH = 18_000
BOUND = 4096


def serve():
    """A server, and its address."""
    server = subprocess.Popen(
        [RINGSIDE, "serve", "--addr", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    )
    for line in server.stderr:
        if "listening on " in line:
            return server, line.split("listening on ", 1)[1].split()[0].rstrip("/")
    raise SystemExit("the server didn't start")


def run(*words):
    """The record of a run over as many connections."""
    threads = str(-(-USERS // EACH))
    command = [RINGSIDE, "run", "-c", str(USERS), "-t", threads, "-T", "60s", "--format", "json"]
    command += ["--source-ip", "127.0.1.0/28", *words]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not ended.stdout:
        raise SystemExit(ended.stderr)
    return json.loads(ended.stdout)


def memory(record):
    return record["generator"]["memory_peak_bytes"]


def main():
    server, base = serve()
    try:
        # Each is asked as often as a user asks, and what it sends is as long.
        body = json.dumps({"token": "0" * 36, "user": "0" * 36})
        plain = run("-n", str(2 * USERS), "-d", "10m", "-b", body, f"{base}/echo")
        flows = run("-n", str(USERS), "-d", "10m", "--variable", f"base={base}", FLOW)
    finally:
        server.terminate()
        server.wait()
    step = next(step for step in flows["steps"] if step["name"] == "(flow)")
    each = (memory(flows) - memory(plain)) / USERS
    found = {
        "users": USERS,
        "through": step["completed"],
        "failed": step["failed"] + step["unfinished"],
        "plain_bytes": memory(plain),
        "flow_bytes": memory(flows),
        "bytes_per_user": round(each),
        "connections": flows["connections"]["opened"],
        "flow_p99_s": (step["response_time_us"]["p99"] or 0) / 1e6,
    }
    print(json.dumps(found, indent=2))
    if OUTPUT:
        with open(OUTPUT, "w") as file:
            json.dump(found, file, indent=2)
            file.write("\n")
    raise SystemExit(0 if each <= BOUND and found["through"] == USERS else 1)


main()
