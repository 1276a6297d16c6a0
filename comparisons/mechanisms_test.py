"""Tests of mechanisms.py, with a program in ringside's place that leaves a report made here:

    python3 comparisons/mechanisms_test.py"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mechanisms.py")
METRIC = "requests_per_second"


def row(name, kind, centre=None, low=None, high=None, processes=1.0):
    """A row of a report, with its verdict on requests per second."""
    ratio = centre and {"centre": centre, "low": low, "high": high}
    role = "again" if kind == "noise" else "subject"
    return {
        "name": name,
        "role": role,
        "ratio": ratio,
        "verdict": {"kind": kind, "sentence": f"a verdict on {name}"},
        "figures": {METRIC: {"median": 100.0}, "memory_peak_bytes": {"median": 2.0**21}},
        "resources": {"processes": {"highest": processes}},
    }


def report(*rows):
    return {
        "setup": {"metric": METRIC, "baseline": rows[0]["name"], "equal_rate": None},
        "noise_floors": [{"metric": METRIC, "share": 0.448}],
        "subjects": rows,
    }


class Mechanisms(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.output = self.at("output")

    def at(self, name):
        return os.path.join(self.folder.name, name)

    def run_with(self, found, *words):
        """Runs the script, whose every comparison finds the same."""
        with open(self.at("report.json"), "w") as text:
            json.dump(found, text)
        program = self.at("ringside")
        with open(program, "w") as text:
            text.write(f'#!/bin/sh\nmkdir "$4" && cp {self.at("report")}.* "$4"\n')
        os.chmod(program, 0o755)
        words = [sys.executable, SCRIPT, program, self.output, *words]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def lines(self):
        with open(os.path.join(self.output, "mechanisms.csv"), newline="") as text:
            return list(csv.DictReader(text))

    def page(self):
        with open(os.path.join(self.output, "mechanisms.md")) as text:
            return text.read()

    def test_verdicts_and_noise_floors_are_kept(self):
        found = report(
            row("base", "baseline"),
            row("open", "undecided", 1.1579, 0.6502, 2.0619),
            row("more", "at_least", 2.5, 2.25, 3.0),
            row("less", "at_most", 0.5, 0.4, 0.625),
            row("again", "noise", 0.9881, 0.9807, 0.9955),
        )
        self.assertEqual(self.run_with(found, "php-jit").returncode, 0)
        lines = {line["row"]: line for line in self.lines()}
        kinds = [lines[name]["rate_kind"] for name in ["open", "more", "less", "again"]]
        self.assertEqual(kinds, ["undecided", "at_least", "at_most", "noise"])
        self.assertEqual(lines["open"]["rate_floor"], "0.448")
        self.assertEqual(lines["open"]["reason"], "a verdict on open")
        for cell in [
            "| ? 1.16 (0.65–2.06) |", "| ≥ 2.25 (2.25–3.00) |", "| ≤ 0.62 (0.40–0.62) |",
            "| 0.988 (0.981–0.996) |", "Noise floor: rate 44.8 %.", "`≥`:", "`?`:",
        ]:
            self.assertIn(cell, self.page())

    def test_a_fallback_is_compared_with_what_it_falls_back_from(self):
        with open(self.at("report.csv"), "w") as text:
            text.write("row,round,counts,requests_per_second\n")
            for round_, rates in enumerate([(200, 100), (210, 100), (190, 100)]):
                for name, rate in zip(["no-defer-taskrun", "no-coop-taskrun"], rates):
                    text.write(f"{name},{round_},true,{rate}\n")
        base = row("everything", "baseline")
        found = report(base, row("no-defer-taskrun", "no_difference", 1.0, 0.9, 1.1))
        self.assertEqual(self.run_with(found, "features").returncode, 0)
        line = self.lines()[1]
        self.assertEqual((line["row"], line["step_ratio"]), ("no-defer-taskrun", "1.9983"))
        # One pair: Student's t with two degrees of freedom, for 95 % and not for a share of it.
        self.assertEqual((line["step_low"], line["step_high"]), ("1.7647", "2.2629"))

    def test_the_baseline_has_the_p99_that_others_are_judged_by(self):
        found = report(row("base", "baseline"), row("other", "lower", 0.5, 0.4, 0.6))
        found["setup"]["metric"] = "response_time_p99"
        for one, p99 in zip(found["subjects"], [800.0, 400.0]):
            one["figures"]["p99_us"] = {"median": p99}
        self.assertEqual(self.run_with(found, "congestion").returncode, 0)
        self.assertIn("| base | 100 | 800 |", self.page())
        self.assertIn("| other | 100 | 400 | 0.50 (0.40–0.60) |", self.page())

    def test_memory_of_several_processes_is_a_bound_and_has_no_ratio(self):
        found = report(row("base", "baseline"), row("cluster", "higher", 2.8, 2.7, 2.9, 3.0))
        found["setup"]["metric"] = "memory_peak"
        self.assertEqual(self.run_with(found, "php-jit").returncode, 0)
        self.assertIn("| cluster | 100 | ≤ 2 |", self.page())
        self.assertNotIn("memory × baseline", self.page())

    def test_a_folder_that_exists_is_refused(self):
        found = report(row("base", "baseline"))
        self.assertEqual(self.run_with(found, "php-jit").returncode, 0)
        again = self.run_with(found, "php-jit")
        self.assertEqual(again.returncode, 2)
        self.assertIn("exists", again.stderr)

    def test_an_unknown_name_is_refused(self):
        refused = self.run_with(report(row("base", "baseline")), "nonesuch")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no comparison is called `nonesuch`", refused.stderr)
        self.assertFalse(os.path.exists(self.output))

    def test_an_older_record_is_merged_though_it_lacks_verdicts(self):
        with open(self.at("old.csv"), "w") as text:
            text.write("comparison,point,row,baseline,requests_per_second,rate_ratio,rate_low,")
            text.write("rate_high,reason\nphp-jit,,old,base,7.0,0.5,0.4,0.6,\n")
            text.write("zero-copy,16.0,kept,base,8.0,0.5,0.4,0.6,\n")
        merge = ["--merge", self.at("old.csv"), "php-jit"]
        self.assertEqual(self.run_with(report(row("base", "baseline")), *merge).returncode, 0)
        self.assertEqual([line["row"] for line in self.lines()], ["base", "kept"])
        self.assertEqual(self.lines()[1]["rate_kind"], "")
        self.assertIn("| 16 | kept | 8 | 0.50 (0.40–0.60) |", self.page())


if __name__ == "__main__":
    unittest.main()
