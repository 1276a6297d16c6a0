#!/usr/bin/env python3
"""Kills a worker of `ringside serve --processes 2` ten times and says how long it takes until another
serves in its place, by /health of the master, and whether a new connection was refused meanwhile.

    python3 replaced.py RINGSIDE"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

PORT, ADMIN = 9411, 9412


def workers():
    with urllib.request.urlopen(f"http://127.0.0.1:{ADMIN}/health", timeout=2) as answer:
        return {one["pid"]: one["state"] for one in json.load(answer)["workers"]}


def served():
    with socket.create_connection(("127.0.0.1", PORT), timeout=5) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        return connection.recv(100).startswith(b"HTTP/1.1 200")


master = subprocess.Popen(
    [sys.argv[1], "serve", "--addr", f"127.0.0.1:{PORT}", "--processes", "2", "--admin", f"127.0.0.1:{ADMIN}"],
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
)
time.sleep(1.5)
print(workers())
for _ in range(10):
    before = workers()
    victim = next(iter(before))
    os.kill(victim, signal.SIGKILL)
    since, tried, failed = time.monotonic(), 0, 0
    while True:
        tried += 1
        try:
            failed += not served()
        except OSError:
            failed += 1
        now = workers()
        serving = [pid for pid, state in now.items() if state == "serving"]
        if victim not in now and len(serving) == 2:
            break
    print(f"replaced after {1000 * (time.monotonic() - since):.1f} ms; new connections: {tried}, failed: {failed}")
    time.sleep(1.5)
master.terminate()
master.wait()
