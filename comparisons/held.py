#!/usr/bin/env python3
"""Holds connections with servers and clients of several kinds and says how many each held and what
one cost in memory: on the whole machine, both ends and the kernel included, and in the process.

    python3 comparisons/held.py [RINGSIDE] [OUTPUT.csv]

Servers are held by `ringside hold`, clients hold `ringside serve`. The memory is that of 15,000
connections, held for a quarter of a minute; how many one holds is asked with 25,000, or more than
the limit on open files where that is above it. Takes iproute2; what isn't installed is skipped and
named. Nothing else may run meanwhile. As root the kernel's memory is read more exactly."""

import csv
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
SUBJECTS = os.path.join(HERE, "..", "subjects")
COMPARED = 15_000
MANY = max(25_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] + 5_000)
PORT = 9400
SERVERS = [
    ("ringside-uring", "http", "/"),
    ("ringside-uring", "ws", "/ws"),
    ("ringside-epoll", "http", "/"),
    ("go-nethttp", "http", "/"),
    ("go-fasthttp", "http", "/"),
    ("go-nbio", "http", "/"),
    ("go-nbio", "ws", "/ws"),
    ("node-http", "http", "/"),
    ("node-ws", "ws", "/ws"),
    ("nginx", "http", "/"),
    ("swoole-http-server", "http", "/json"),
]
K6 = """
import { WebSocket } from 'k6/websockets';
export const options = { scenarios: { hold: {
  executor: 'per-vu-iterations', vus: Number(__ENV.HELD), iterations: 1, maxDuration: '5m' } } };
export default function () {
  const socket = new WebSocket(__ENV.URL);
  socket.onopen = () => { setInterval(() => socket.ping(), 30000); };
  socket.onerror = () => {};
}
"""


def available():
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if "MemAvailable" in line)


def family(pid):
    """The process and all that it has started."""
    children = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as stat:
                parent = int(stat.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(entry))
    found, left = [], [pid]
    while left:
        found.append(left.pop())
        left += children.get(found[-1], [])
    return found


def resident(pid):
    total = 0
    for each in family(pid):
        try:
            with open(f"/proc/{each}/statm") as statm:
                total += int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return total


def established():
    words = ["ss", "-Htn", "state", "established", "sport", "=", f":{PORT}"]
    return subprocess.run(words, capture_output=True, text=True).stdout.count("\n")


def end(child):
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def settle():
    """Until the kernel has taken the sockets of the run before away, and their memory back."""
    for _ in range(60):
        if established() == 0:
            break
        time.sleep(1)
    time.sleep(2)
    for cache in glob.glob("/sys/kernel/slab/*/shrink"):
        try:
            with open(cache, "w") as file:
                file.write("1")
        except OSError:
            pass
    time.sleep(2)


class Subject:
    """A server as its subject.toml says, built in a folder that is removed at the end."""

    def __init__(self, name):
        self.folder = os.path.join(SUBJECTS, name)
        with open(os.path.join(self.folder, "subject.toml"), "rb") as file:
            self.said = tomllib.load(file)
        self.build = tempfile.TemporaryDirectory()

    def why_not(self, ringside):
        for one in self.said.get("requires", []):
            if shutil.which(one["program"]) is None:
                return f"{one['program']} isn't installed"
            if "check" in one and subprocess.run(
                self.filled(one["check"], ringside), capture_output=True
            ).returncode:
                return f"{one['program']} lacks what it needs"
        for command in self.said.get("build", {}).get("commands", []):
            environment = self.said["build"].get("environment", {})
            made = subprocess.run(
                self.filled(command, ringside), cwd=self.folder, env=os.environ | environment
            )
            if made.returncode:
                return "it can't be built"
        return None

    def filled(self, words, ringside):
        places = {
            "{build}": self.build.name,
            "{dir}": self.build.name,
            "{subject}": self.folder,
            "{port}": str(PORT),
            "{ringside}": ringside,
            "{cpus}": "0",
        }
        for place, value in places.items():
            words = [word.replace(place, value) for word in words]
        return words

    def start(self, ringside):
        start = self.said["start"]
        for name in start.get("files", []):
            with open(os.path.join(self.folder, name)) as file:
                text = file.read().replace("{port}", str(PORT)).replace("{dir}", self.build.name)
            with open(os.path.join(self.build.name, name), "w") as file:
                file.write(text)
        words = ["taskset", "-c", "0", *self.filled(start["command"], ringside)]
        environment = os.environ | start.get("environment", {})
        child = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
        ready()
        return child


def ready():
    for _ in range(100):
        words = ["ss", "-Htln", "sport", "=", f":{PORT}"]
        if subprocess.run(words, capture_output=True, text=True).stdout:
            return
        time.sleep(0.1)
    sys.exit(f"held.py: nothing listens on port {PORT}")


def least_while(run, seconds=None):
    """The least memory available while a process runs, and its most connections and memory."""
    least, most, size = available(), 0, 0
    begun = time.monotonic()
    while run.poll() is None and (seconds is None or time.monotonic() - begun < seconds):
        least = min(least, available())
        most = max(most, established())
        size = max(size, resident(run.pid))
        time.sleep(1)
    return least, most, size


def of_server(ringside, name, scheme, path, asked):
    """How many survived, and bytes each on the machine and in the server."""
    subject = Subject(name)
    why = subject.why_not(ringside)
    if why:
        return why
    settle()
    server = subject.start(ringside)
    time.sleep(1)
    before, own = available(), resident(server.pid)
    words = ["taskset", "-c", "1", ringside, "hold", "-c", str(asked), "-d", "15s"]
    words += ["--heartbeat", "10s", "--open-rate", "5k", "--format", "json"]
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "record.json")
        words += ["-o", record, f"{scheme}://127.0.0.1:{PORT}{path}"]
        hold = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        least, grown = before, own
        while hold.poll() is None:
            least, grown = min(least, available()), max(grown, resident(server.pid))
            time.sleep(1)
        said = hold.stderr.read().decode()
        alive = server.poll() is None
        end(server)
        if not os.path.exists(record):
            return said.strip().splitlines()[-1]
        with open(record) as file:
            found = json.load(file)["connections"]
    held = found["survived"]
    print(f"{name} {scheme} {asked}: {held} survived, alive: {alive}", file=sys.stderr)
    return held, (before - least) / max(held, 1), (grown - own) / max(held, 1)


def of_client(ringside, words, environment=None):
    """How many were open at once, and bytes each on the machine and in the client."""
    if shutil.which(words[0]) is None:
        return f"{words[0]} isn't installed"
    settle()
    server = subprocess.Popen(
        ["taskset", "-c", "0", ringside, "serve", "--addr", f"127.0.0.1:{PORT}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ready()
    time.sleep(1)
    before = available()
    client = subprocess.Popen(
        ["taskset", "-c", "1", *words],
        env=os.environ | (environment or {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    least, most, size = least_while(client, 45)
    end(client)
    end(server)
    print(f"{words[0]}: {most} open", file=sys.stderr)
    return most, (before - least) / max(most, 1), size / max(most, 1)


def rows(ringside, folder):
    for name, scheme, path in SERVERS:
        few = of_server(ringside, name, scheme, path, COMPARED)
        if isinstance(few, str):
            yield f"server {name}", scheme, few
            continue
        yield f"server {name}", scheme, few, of_server(ringside, name, scheme, path, MANY)
    script = os.path.join(folder, "hold.js")
    with open(script, "w") as file:
        file.write(K6)
    http, ws = f"http://127.0.0.1:{PORT}/", f"ws://127.0.0.1:{PORT}/ws"

    def hold(held, url):
        return [ringside, "hold", "-c", held, "-d", "30s", "--heartbeat", "10s", url]

    clients = [
        ("ringside hold", "http", lambda held: (hold(held, http), None)),
        ("ringside hold", "ws", lambda held: (hold(held, ws), None)),
        ("wrk", "http", lambda held: (["wrk", "-t1", "-c", held, "-d", "40s", http], None)),
        ("k6", "ws", lambda held: (["k6", "run", "--quiet", script], {"HELD": held, "URL": ws})),
    ]
    for name, scheme, made in clients:
        few = of_client(ringside, *made(str(COMPARED)))
        if isinstance(few, str):
            yield f"client {name}", scheme, few
            continue
        yield f"client {name}", scheme, few, of_client(ringside, *made(str(MANY)))


def main():
    ringside = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else shutil.which("ringside"))
    output = open(sys.argv[2], "w") if len(sys.argv) > 2 else sys.stdout
    table = csv.writer(output)
    table.writerow(["who", "over", "held", "machine_bytes_each", "process_bytes_each", "note"])
    with tempfile.TemporaryDirectory() as folder:
        for who, scheme, few, *many in rows(ringside, folder):
            if isinstance(few, str):
                table.writerow([who, scheme, "", "", "", few])
            elif isinstance(many[0], str):
                table.writerow([who, scheme, few[0], round(few[1]), round(few[2]), many[0]])
            else:
                table.writerow([who, scheme, many[0][0], round(few[1]), round(few[2]), ""])
            output.flush()


if __name__ == "__main__":
    main()
