#!/usr/bin/env python3
"""Holds a fleet to what it promises: real agents behind networks and clocks of their own, and a
thousand simulated ones, over a real NATS server.

    python3 comparisons/fleet.py [RINGSIDE_FLEET] [OUTPUT] [CROWD] [PART...]

- Eight agents in eight networks with eight monotonic clocks begin within 10 ms, as the server saw it,
  and `stop` ends their load within 2 s.
- What they count is what the server counted, and the merged histograms are the sum of what each
  agent kept, bucket by bucket.
- Merging what 1,000 agents count in 60 s takes at most 0.3 of a core and 500 MB; nothing is lost.
- 100,000 messages, 1 % of them twice, and a broker that is killed meanwhile: all of it is proven.
- A search for a capacity and a gate over a fleet of three find what one process finds, within their
  intervals.

Writes OUTPUT (fleet.csv) and exits with 1 if one of that isn't so. CROWD is the program of simulated
agents, which cargo builds as it does tests if none is given or `-`; `ringside` stands beside
RINGSIDE_FLEET. PART is some of it: real, thousand, disturbed, searched, gated. Needs nats-server, ip (iproute2), and user namespaces."""

import csv
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

FLEET = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/release/ringside-fleet")
OUTPUT = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else "fleet.csv")
CARGO = ["cargo", "test", "--quiet", "--workspace", "--locked", "--bench", "crowd", "--"]
GIVEN = sys.argv[3] if len(sys.argv) > 3 else "-"
SIMULATED = CARGO if GIVEN == "-" else [os.path.abspath(GIVEN)]
INSIDE = "FLEET_COMPARISON_INSIDE"
RINGSIDE = os.path.join(os.path.dirname(FLEET), "ringside")
# What sends the loads of a search or a gate: one process, or three agents.
SENDERS = [[], ["--agents", "local:3"]]
# A server that takes so long for each answer, one after the other: what bounds it is itself, and not
# how many connections it's asked on, of which each agent has a third.
WAITS = """
import http.server, sys, threading, time
turn = threading.Lock()
class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_GET(self):
        with turn:
            time.sleep(float(sys.argv[2]))
        self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
    def log_message(*words): pass
http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()
"""
GATE = """
[gate]
figures = ["rate"]
smallest = "10%"
[workload]
connections = 6
window = "1s"
settle = "100ms"
warm_up = "200ms"
"""
AGENTS = 8
# How much further one agent's clock is than that of the one before.
APART_S = 100_000
RATE = 400
CROWD = 1_000
CROWD_S = 60
# Of each simulated agent in each of its seconds: its histogram is about as large as a real one's.
EXCHANGES = 1_000

failed = []
rows = []


def check(what, measured, least, most):
    """Says what was measured, and whether it is where it should be."""
    good = measured is not None and least <= measured <= most
    print(f"{'ok  ' if good else 'FAIL'} {what}: {measured} (from {least:g} to {most:g})", flush=True)
    rows.append([what, measured, least, most])
    if not good:
        failed.append(what)


class Nats:
    """A NATS server, which can be killed and started again at the same port."""

    def __init__(self, host):
        own = os.path.join(os.path.expanduser("~"), "go/bin")
        path = os.environ.get("PATH", "") + os.pathsep + os.environ.get("GOBIN", own) + os.pathsep + own
        self.program = shutil.which("nats-server", path=path) or sys.exit("nats-server is missing")
        self.host, self.port = host, -1
        self.start()

    def start(self):
        """Starts it, and waits until it listens."""
        with tempfile.TemporaryDirectory() as folder:
            words = ["--addr", self.host, "--port", str(self.port), "--ports_file_dir", folder]
            self.process = subprocess.Popen([self.program, *words], stderr=subprocess.DEVNULL)
            for _ in range(500):
                time.sleep(0.02)
                for name in os.listdir(folder):
                    text = open(os.path.join(folder, name), encoding="utf-8").read()
                    if text.endswith("}"):
                        self.port = int(json.loads(text)["nats"][0].rsplit(":", 1)[1])
                        return
        sys.exit("nats-server didn't start")

    def url(self):
        """Where it is."""
        return f"nats://{self.host}:{self.port}"

    def end(self):
        """Ends it as a crash would."""
        self.process.kill()
        self.process.wait()


class Server(threading.Thread):
    """Answers requests of HTTP/1.1, and notes when each of an address came."""

    def __init__(self, host):
        super().__init__(daemon=True)
        self.listener = socket.create_server((host, 0), backlog=1000)
        self.port = self.listener.getsockname()[1]
        self.came = {}
        self.lock = threading.Lock()

    def run(self):
        while True:
            connection, (address, _) = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection, address), daemon=True).start()

    def serve(self, connection, address):
        """One connection, to its end."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        rest = b""
        while part := connection.recv(65536):
            now = time.monotonic_ns()
            rest += part
            while b"\r\n\r\n" in rest:
                _, rest = rest.split(b"\r\n\r\n", 1)
                with self.lock:
                    self.came.setdefault(address, []).append(now)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    def count(self):
        """How many requests came."""
        with self.lock:
            return sum(len(times) for times in self.came.values())


def done(*words):
    """Has something done."""
    subprocess.run(words, check=True)


def machine(number):
    """A network of its own that is joined to ours."""
    holder = subprocess.Popen(["unshare", "--net", "sleep", "3600"])
    own, its = os.readlink("/proc/self/ns/net"), None
    while its in (None, own):
        time.sleep(0.02)
        its = os.readlink(f"/proc/{holder.pid}/ns/net")
    port = f"agent{number}"
    pair = ["type", "veth", "peer", "name", "eth0", "netns", str(holder.pid)]
    done("ip", "link", "add", port, *pair)
    done("ip", "link", "set", port, "master", "bridge", "up")
    inside = ["nsenter", "--target", str(holder.pid), "--net", "ip"]
    done(*inside, "address", "add", f"10.77.0.{10 + number}/24", "dev", "eth0")
    done(*inside, "link", "set", "eth0", "up")
    return holder


def agent(number, holder, nats, folder):
    """An agent there, by a clock of its own, which is connected when this returns."""
    clock = ["unshare", "--time", "--monotonic", str(number * APART_S)]
    words = ["agent", "--threads", "1", "--name", f"agent-{number}", "--nats", nats.url()]
    files = ["--policy", f"{folder}/policy.toml", "--keep", f"{folder}/kept"]
    before = ["nsenter", "--target", str(holder.pid), "--net", *clock]
    process = subprocess.Popen([*before, FLEET, *words, *files], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "waits at" in line:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process
    sys.exit(f"agent {number} didn't start")


def run(nats, url, *more):
    """A run of all of them."""
    words = ["run", "--agents", str(AGENTS), "--nats", nats.url(), "-t", "1", "-c", "16"]
    words += ["-R", str(RATE), "-T", "10s", "--format", "json", *more, url]
    return subprocess.Popen([FLEET, *words], stdout=subprocess.PIPE, text=True)


def exact(record, server):
    """What agents counted is what the server did."""
    fleet, exchanges = record["fleet"], record["exchanges"]
    check("complete", int(fleet["complete"]), 1, 1)
    sent = sum(exchanges[name] for name in ["completed", "failed", "unfinished"])
    sent -= exchanges["never_sent"]
    check("requests by the agents' count, and by the server's", sent, server.count(), server.count())


def starts(record, server):
    """How far apart agents began, by the server's clock."""
    began = []
    for number, one in enumerate(sorted(record["fleet"]["agents"], key=lambda one: one["agent"])):
        # Worker n of eight has the n-th request of all.
        due_ns = number * 1e9 / RATE
        began.append(min(server.came[f"10.77.0.{10 + number}"]) - due_ns)
        off_ns = abs(one["clock"]["ahead_ns"] - number * APART_S * 1_000_000_000)
        check(f"{one['agent']}: clock off (µs), of the error that is stated", off_ns / 1000, 0,
              one["clock"]["error_ns"] / 1000)
    check("start spread (ms)", (max(began) - min(began)) / 1e6, 0, 10)


def real(folder):
    """Eight agents, each in a network and a time of its own."""
    done("ip", "link", "set", "lo", "up")
    done("ip", "link", "add", "bridge", "type", "bridge")
    done("ip", "address", "add", "10.77.0.1/24", "dev", "bridge")
    done("ip", "link", "set", "bridge", "up")
    with open(f"{folder}/policy.toml", "w", encoding="utf-8") as policy:
        policy.write('[[allow]]\nnetworks = ["10.77.0.0/24"]\nports = ["1-65535"]\n')
    nats = Nats("10.77.0.1")
    holders = [machine(number) for number in range(AGENTS)]
    agents = [agent(number, holder, nats, folder) for number, holder in enumerate(holders)]
    try:
        totals(nats, folder)
        stops(nats)
    finally:
        for process in [*agents, *holders]:
            process.kill()
            process.wait()
        nats.end()


def totals(nats, folder):
    """A run whose agents keep their files, because its record can't be written where it was to be."""
    server = Server("10.77.0.1")
    server.start()
    url = f"http://10.77.0.1:{server.port}/"
    ended = run(nats, url, "-d", "10s", "-o", "/dev/full")
    record = json.loads(ended.communicate()[0])
    exact(record, server)
    starts(record, server)
    kept = json.loads(crowd("--sum", f"{folder}/kept").communicate()[0])
    same = record["exchanges"]["completed"] == kept["completed"]
    for name in ["response_time", "service_time"]:
        same = same and record["histograms"][name] == kept[name]
    check(f"merged histograms are the sum of {kept['files']} files of agents", int(same), 1, 1)


def stops(nats):
    """An end to all load."""
    time.sleep(21)  # Until agents have given up the run before, which nobody confirmed.
    server = Server("10.77.0.1")
    server.start()
    running = run(nats, f"http://10.77.0.1:{server.port}/", "-d", "10m")
    while server.count() < 5 * RATE:
        time.sleep(0.05)
    asked = time.monotonic_ns()
    ended = subprocess.run([FLEET, "stop", "--nats", nats.url()], stdout=subprocess.DEVNULL)
    check("exit code of stop", ended.returncode, 0, 0)
    record = json.loads(running.communicate()[0])
    exact(record, server)
    last = max(max(times) for times in server.came.values())
    check("last request after stop (s)", max(last - asked, 0) / 1e9, 0, 2)


def crowd(*words):
    """The program of simulated agents."""
    return subprocess.Popen([*SIMULATED, *words], stdout=subprocess.PIPE, text=True)


def simulated(agents, intervals, every_ms, exchanges, double_every, meanwhile):
    """A run of simulated agents: its record, what they say, and what the coordinator took."""
    nats = Nats("127.0.0.1")
    numbers = [agents, intervals, every_ms, exchanges, double_every]
    sim = crowd(nats.url(), *map(str, numbers))
    while line := sim.stdout.readline():
        if line.strip() == "ready":
            break
    seconds = intervals * every_ms // 1000
    words = ["run", "--agents", str(agents), "--nats", nats.url(), "-t", "1", "-c", str(agents)]
    words += ["-R", str(agents), "-d", f"{seconds}s", "--format", "json", "http://127.0.0.1:1/"]
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([FLEET, *words], stdout=out)
        meanwhile(nats)
        _, _, usage = os.wait4(process.pid, 0)
        out.seek(0)
        record = json.load(out)
    told = json.loads(sim.communicate()[0].strip().splitlines()[-1])
    nats.end()
    return record, told, usage, seconds


def proven(record, told, agents):
    """Everything that was counted is in the record, once."""
    check("complete", int(record["fleet"]["complete"]), 1, 1)
    check("agents that heard so", told["confirmed"], agents, agents)
    completed = record["exchanges"]["completed"]
    check("exchanges", completed, told["completed"], told["completed"])
    same = record["histograms"]["response_time"] == told["response_time"]
    check("merged histogram is the sum of the agents'", int(same), 1, 1)


def thousand():
    """What it takes to merge a thousand agents' intervals."""
    record, told, usage, seconds = simulated(CROWD, CROWD_S, 1000, EXCHANGES, 0, lambda _: None)
    proven(record, told, CROWD)
    intervals = sum(one["intervals"] for one in record["fleet"]["agents"])
    check("intervals", intervals, CROWD * CROWD_S, CROWD * CROWD_S)
    check("coordinator, of a core", (usage.ru_utime + usage.ru_stime) / seconds, 0, 0.3)
    check("coordinator, peak memory (MB)", usage.ru_maxrss * 1024 / 1e6, 0, 500)


def disturbed():
    """A hundred thousand messages, some of them twice, over a broker that is killed."""

    def meanwhile(nats):
        time.sleep(15)
        nats.end()
        nats.start()

    record, told, _, _ = simulated(100, 1000, 20, 100, 100, meanwhile)
    proven(record, told, 100)
    agents = record["fleet"]["agents"]
    check("intervals", sum(one["intervals"] for one in agents), 100_000, 100_000)
    check("intervals that were said twice", told["doubled"], 900, 1e6)
    check("intervals that came twice", sum(one["duplicates"] for one in agents), 500, 1e6)
    check("intervals that were asked for again", sum(one["asked_again"] for one in agents), 1, 1e6)


def free_port():
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def reached(host, port):
    """Waits until somebody listens there."""
    for _ in range(500):
        try:
            return socket.create_connection((host, port)).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
    sys.exit(f"nobody listens at port {port}")


def both(what, intervals):
    """Whether two intervals of the same have something in common."""
    (one_from, one_to), (fleet_from, fleet_to) = intervals
    print(f"     {what}: {one_from:g} to {one_to:g} by one process, {fleet_from:g} to {fleet_to:g} by three")
    rows.append([f"{what}: by one process", "", one_from, one_to])
    rows.append([f"{what}: by three agents", "", fleet_from, fleet_to])
    overlap = min(one_to, fleet_to) - max(one_from, fleet_from)
    check(f"{what}: what both intervals have in common", overlap, 0, float("inf"))


def searched():
    """The capacity of a server that needs five milliseconds for an answer."""
    port = str(free_port())
    server = subprocess.Popen([sys.executable, "-c", WAITS, port, "0.005"])
    reached("127.0.0.1", int(port))
    words = ["capacity", "-c", "60", "--slo", "p99<250ms", "--from", "50", "--precision", "5%"]
    found = []
    for sender in SENDERS:
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/found"
            done(FLEET if sender else RINGSIDE, *words, *sender, "-o", out, f"http://127.0.0.1:{port}/")
            with open(f"{out}/capacity.json", encoding="utf-8") as file:
                edge = json.load(file)["rows"][0]["found"]
        found.append((edge["held"]["rate"], edge["failed"]["rate"]))
    server.kill()
    server.wait()
    both("capacity (requests/s)", found)


def gated():
    """A gate on a head that takes half as long again, and by how much it is slower."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in [("server.py", WAITS), ("gate.toml", GATE)]:
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        start = f"{sys.executable} {folder}/server.py {{port}}"
        for sender in SENDERS:
            program = FLEET if sender else RINGSIDE
            words = ["gate", "--base-start", f"{start} 0.004", "--head-start", f"{start} 0.006"]
            words += ["--host-network", "--budget", "5m", "--file", f"{folder}/gate.toml", *sender]
            out = ["--format", "json", "-o", f"{folder}/{len(found)}"]
            ended = subprocess.run([program, *words, *out], stdout=subprocess.PIPE, text=True)
            check(f"exit code of a gate ({' '.join(sender) or 'one process'})", ended.returncode, 99, 99)
            ratio = json.loads(ended.stdout)["figures"][0]["ratio"]
            found.append((ratio["low"], ratio["high"]))
    both("requests/s of the head ÷ those of the base", found)


def joined():
    """Real agents, in a network and with users of its own."""
    own = ["unshare", "--user", "--map-root-user", "--net"]
    inside = [sys.executable, os.path.abspath(__file__), FLEET, OUTPUT, GIVEN]
    ended = subprocess.run([*own, *inside], env={**os.environ, INSIDE: "yes"})
    with open(OUTPUT, encoding="utf-8", newline="") as file:
        rows.extend(list(csv.reader(file))[1:])
    if ended.returncode:
        failed.append("real agents")


PARTS = {
    "real": joined,
    "thousand": thousand,
    "disturbed": disturbed,
    "searched": searched,
    "gated": gated,
}


def main():
    if os.environ.get(INSIDE):
        with tempfile.TemporaryDirectory() as folder:
            real(folder)
    else:
        for part in sys.argv[4:] or PARTS:
            PARTS[part]()
    with open(OUTPUT, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["what", "measured", "least", "most"])
        writer.writerows(rows)
    raise SystemExit(1 if failed else 0)


signal.signal(signal.SIGINT, signal.default_int_handler)
main()
