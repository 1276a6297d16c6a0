#!/usr/bin/env python3
"""Times streams of events whose pace is known, and holds what comes back against it: `ringside
serve` on the first CPU, `ringside run --events` on the last one.

    python3 comparisons/streams.py [RINGSIDE] [STREAMS]

With 1,000 STREAMS of 100 events a second each: no event may be lost, the gaps have to be right
within 1 ms in the middle and 10 ms at the 99th percentile, and the law of first events has to come
back as that law. Exits with 1 if not. Nothing else may run meanwhile."""

import json
import math
import os
import subprocess
import sys

RINGSIDE = sys.argv[1] if len(sys.argv) > 1 else "target/release/ringside"
STREAMS = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
CPUS = sorted(os.sched_getaffinity(0))
EVERY_US = 10_000
EVENTS = 1_000
MEAN_US = 200_000
# How exactly a quantile of a law is known from so many streams, in standard deviations.
SIGMAS = 4


def serve():
    """A server, and its address."""
    server = subprocess.Popen(
        [RINGSIDE, "serve", "--threads", "1", "--addr", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, CPUS[:1]),
    )
    for line in server.stderr:
        if "listening on " in line:
            return server, line.split("listening on ", 1)[1].split()[0].rstrip("/")
    raise SystemExit("the server didn't start")


def run(url, *words):
    """The record of a run."""
    command = [RINGSIDE, "run", "--events", "--format", "json", "--cpus", str(CPUS[-1])]
    ended = subprocess.run([*command, *words, url], stdout=subprocess.PIPE, text=True)
    return json.loads(ended.stdout)


failed = []


def check(what, measured, least, most):
    """Says what was measured, and whether it is where it should be."""
    good = measured is not None and least <= measured <= most
    print(f"{'ok  ' if good else 'FAIL'} {what}: {measured} (from {least:g} to {most:g})")
    if not good:
        failed.append(what)


def told(record):
    """What a reader of the figures must know."""
    for warning in record["warnings"]:
        print(f"     {warning}")
    check("figures are valid", int(record["valid"]), 1, 1)


def paced(base):
    """As many streams at once, from the first event to the last."""
    record = run(f"{base}/events/{EVENTS}/10ms", "-c", str(STREAMS), "-n", str(STREAMS), "-T", "5s")
    streams = record["streams"]
    told(record)
    check("streams", streams["streams"], STREAMS, STREAMS)
    check("events", streams["events"], STREAMS * EVENTS, STREAMS * EVENTS)
    check("events/s", streams["events_per_second"], 0.9 * STREAMS * 1e6 / EVERY_US, math.inf)
    gaps = streams["event_gap_us"]
    check("gaps", gaps["count"], STREAMS * (EVENTS - 1), STREAMS * (EVENTS - 1))
    check("gap p50 (µs)", gaps["p50"], EVERY_US - 1_000, EVERY_US + 1_000)
    check("gap p99 (µs)", gaps["p99"], EVERY_US - 10_000, EVERY_US + 10_000)
    mean = streams["time_per_event_us"]["mean"]
    check("time per event, mean (µs)", mean, EVERY_US - 100, EVERY_US + 100)
    cpu = record["generator"]["cpu_seconds"]
    print(f"     CPU of the generator: {cpu / streams['events'] * 1e6:.2f} µs for each event")


def lawful(base):
    """Streams whose first events come by an exponential law."""
    url = f"{base}/events/100/10ms?first=exp:200ms"
    record = run(url, "-c", str(STREAMS), "-d", "20s", "-T", "10s")
    told(record)
    first = record["streams"]["first_event_us"]
    for name, share in [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)]:
        law = -math.log(1 - share) * MEAN_US
        # The deviation of a quantile is √(q(1 − q)/n) by the density there.
        density = (1 - share) / MEAN_US
        error = SIGMAS * math.sqrt(share * (1 - share) / first["count"]) / density + 1_000
        check(f"first event {name} (µs)", first[name], law - error, law + error)


def main():
    server, base = serve()
    try:
        paced(base)
        lawful(base)
    finally:
        server.terminate()
        server.wait()
    raise SystemExit(1 if failed else 0)


main()
