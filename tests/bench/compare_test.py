"""bench/compare.py on small made-up runs."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import compare  # pylint: disable=wrong-import-position


def line(**changes):
    """A line of `skipattn bench --json`."""
    one = {
        "case": "padding", "ratio": 0.5, "ms": 10.0, "peak_share": 0.8, "threads": 1,
        "target": "AVX2", "config": "4x3-6x2", "bits_equal": True, "hash": "0123456789abcdef",
        "batch": 8, "heads": 12, "kv_heads": 12, "seq": 512, "kv_seq": 512, "dim": 64, "v_dim": 64,
        "layout": "bhtd", "empty_rows": "zero", "seed": 1, "cpu": "A CPU", "compiler": "gcc 12",
        "version": "0.1.0"}
    one.update(changes)
    return one


def lines(*all_changes):
    return "".join(json.dumps(line(**changes)) + "\n" for changes in all_changes)


def google(*benchmarks, **context):
    facts = {"cpu": "A CPU", "compiler": "gcc 12"}
    facts.update(context)
    return json.dumps({"context": facts, "benchmarks": list(benchmarks)}, indent=2)


def benchmark(name, time, **changes):
    one = {"name": name, "run_name": name, "run_type": "iteration", "real_time": time,
           "cpu_time": time, "time_unit": "ns"}
    one.update(changes)
    return one


class CompareTest(unittest.TestCase):

    def run_main(self, a, b, *arguments):
        """Exit code, stdout and stderr of a comparison of two files of these contents."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, text in (("a.json", a), ("b.json", b)):
                paths.append(str(pathlib.Path(folder) / name))
                pathlib.Path(paths[-1]).write_text(text, encoding="utf-8")
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = compare.main(paths + list(arguments))
        return code, out.getvalue(), err.getvalue()

    def test_ratios_and_geometric_mean(self):
        code, out, err = self.run_main(
            lines({"ratio": 0.0}, {"ratio": 0.5}),
            lines({"ratio": 0.0, "ms": 20.0}, {"ratio": 0.5, "ms": 5.0}))
        self.assertEqual(code, 0)
        self.assertEqual(err, "")
        rows = out.splitlines()
        self.assertEqual(len(rows), 4)
        self.assertIn("2.000  SLOWER", rows[1])
        self.assertIn("0.500  faster", rows[2])
        self.assertRegex(rows[3], r"geometric mean +1\.000$")

    def test_small_differences_are_not_marked(self):
        _, out, _ = self.run_main(lines({}), lines({"ms": 10.4}))
        self.assertNotIn("SLOWER", out)
        _, out, _ = self.run_main(lines({}), lines({"ms": 10.4}), "--threshold", "3")
        self.assertIn("SLOWER", out)

    def test_fail_above(self):
        a, b = lines({}), lines({"ms": 11.0})
        self.assertEqual(self.run_main(a, b, "--fail-above", "11")[0], 0)
        self.assertEqual(self.run_main(a, b, "--fail-above", "9")[0], 3)
        self.assertEqual(self.run_main(b, a, "--fail-above", "9")[0], 0)

    def test_repetitions_are_their_median(self):
        run = compare.parse_run(lines({"ms": 1.0}, {"ms": 9.0}, {"ms": 2.0}))
        self.assertEqual([entry.time for entry in run.entries.values()], [2.0])

    def test_by_peak_ignores_the_clock(self):
        a, b = lines({}), lines({"ms": 20.0, "peak_share": 0.8})
        _, out, _ = self.run_main(a, b, "--by", "peak")
        self.assertRegex(out, r"80\.0 % +80\.0 % +1\.000\n")
        code, _, err = self.run_main(a, lines({"peak_share": 0}), "--by", "peak")
        self.assertEqual(code, 1)
        self.assertIn("no name in common with a share of peak", err)

    def test_other_machine_and_target_are_warned_of(self):
        code, out, err = self.run_main(lines({}), lines({"cpu": "B CPU", "target": "AVX3"}))
        self.assertEqual(code, 0)
        self.assertIn("warning: cpu: A CPU | B CPU", err)
        self.assertIn("warning: target: AVX2 | AVX3", err)
        self.assertNotIn("AVX", out)

    def test_targets_of_one_run_are_names(self):
        run = compare.parse_run(lines({"target": "AVX2"}, {"target": "AVX3"}))
        self.assertEqual(len(run.entries), 2)
        self.assertTrue(all("AVX" in name for name in run.entries))

    def test_outputs_that_differ_are_refused(self):
        a, b = lines({}), lines({"hash": "f" * 16})
        code, out, err = self.run_main(a, b)
        self.assertEqual(code, 4)
        self.assertEqual(out, "")
        self.assertIn("outputs differ: padding 0.5", err)
        self.assertEqual(self.run_main(a, b, "--allow-different-outputs")[0], 0)

    def test_outputs_of_inexact_targets_may_differ(self):
        b = lines({"hash": "f" * 16, "target": "SSE2", "bits_equal": False})
        self.assertEqual(self.run_main(lines({}), b)[0], 0)

    def test_google_benchmark(self):
        a = google(
            benchmark("exp2/AVX2", 100.0), benchmark("exp2/AVX2", 300.0),
            benchmark("exp2/AVX2", 120.0),
            benchmark("exp2/AVX2_mean", 999.0, run_name="exp2/AVX2", run_type="aggregate"),
            benchmark("tile/AVX2", 2.0, time_unit="us", real_time=9.0, of_peak=0.5,
                      label="tiles=1 hash=0123456789abcdef"),
            benchmark("run/2_threads/real_time", 4.0, time_unit="ms", cpu_time=1.0))
        run = compare.parse_run(a)
        self.assertEqual(run.kind, "Google Benchmark")
        times = {name: entry.time for name, entry in run.entries.items()}
        self.assertAlmostEqual(times["exp2/AVX2"], 120e-6)
        self.assertAlmostEqual(times["tile/AVX2"], 2e-3)
        self.assertEqual(times["run/2_threads/real_time"], 4.0)
        self.assertEqual(run.entries["tile/AVX2"].share, 0.5)
        self.assertEqual(run.entries["tile/AVX2"].hashes, {"0123456789abcdef"})
        b = google(benchmark("exp2/AVX2", 60.0), benchmark("new/AVX2", 1.0), cpu="B CPU")
        code, out, err = self.run_main(a, b)
        self.assertEqual(code, 0)
        self.assertIn("0.500  faster", out)
        self.assertIn("warning: cpu: A CPU | B CPU", err)
        self.assertIn("only in A: tile/AVX2", err)
        self.assertIn("only in B: new/AVX2", err)

    def test_google_benchmark_that_failed(self):
        a = google(benchmark("x", 1.0, error_occurred=True, error_message="bits differ"))
        code, _, err = self.run_main(a, a)
        self.assertEqual(code, 1)
        self.assertIn("a.json: x failed: bits differ", err)

    def test_filter(self):
        a = lines({"ratio": 0.0}, {"ratio": 0.5})
        _, out, _ = self.run_main(a, a, "--filter", r"padding 0\.5")
        self.assertEqual(len(out.splitlines()), 3)

    def test_what_cannot_be_compared(self):
        good = lines({})
        for bad, why in (("", "no results"), ("hello", "not JSON"), ("[1]", "neither"),
                         ('{"benchmarks": []}', "no results"), ('{"case": "padding"}', "without"),
                         (lines({"err_bound_ok": False}), "result was wrong"),
                         (google(benchmark("x", 1.0)), "A is of skipattn bench"),
                         (lines({"seq": 64}), "no name in common")):
            code, _, err = self.run_main(good, bad)
            self.assertEqual(code, 1, bad)
            self.assertIn(why, err)
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(compare.main(["/nowhere/a.json", "/nowhere/b.json"]), 1)
        self.assertIn("/nowhere/a.json", err.getvalue())


if __name__ == "__main__":
    unittest.main()
