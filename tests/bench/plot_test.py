"""The reading part of bench/plot.py, on small made-up lines; nothing is drawn."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import plot  # pylint: disable=wrong-import-position


def line(**changes):
    one = {
        "case": "padding", "ratio": 0.0, "live_share": 1.0, "ms": 10.0, "peak_share": 0.8,
        "threads": 1, "target": "AVX2", "config": "4x3-6x2", "err_bound_ok": True, "batch": 8,
        "heads": 12, "kv_heads": 12, "seq": 512, "kv_seq": 512, "dim": 64, "v_dim": 64,
        "layout": "bhtd", "empty_rows": "zero", "cpu": "A CPU", "compiler": "gcc 12",
        "version": "0.1.0"}
    one.update(changes)
    return one


class PlotTest(unittest.TestCase):

    def test_matplotlib_is_not_needed_to_read(self):
        self.assertNotIn("matplotlib", sys.modules)

    def test_parse_lines(self):
        self.assertEqual(plot.parse_lines(json.dumps(line()) + "\n\n"), [line()])
        wrong = json.dumps(line(err_bound_ok=False))
        for text, why in (("{", "JSON"), ("[1]", "not a line"), ("{}", "not a line"),
                          (wrong, "was wrong")):
            with self.assertRaisesRegex(plot.PlotError, why):
                plot.parse_lines(text)
        with self.assertRaisesRegex(plot.PlotError, "/nowhere"):
            plot.read_lines(["/nowhere"])

    def test_padding_series(self):
        lines = [line(ratio=0.5, ms=3.0), line(ms=8.0), line(ms=12.0),
                 line(ratio=0.5, ms=2.0), line(ratio=0.5, ms=2.5),
                 line(case="causal", ratio=0.9, ms=1.0),
                 line(target="AVX3", ms=6.0), line(target="AVX3", ratio=0.9, ms=0.6),
                 line(threads=2), line(threads=4, ratio=0.5)]
        series = plot.padding_series(lines)
        self.assertEqual([one.setting["target"] for one in series], ["AVX2", "AVX3"])
        self.assertEqual(series[0].shares, [0.0, 0.5])
        self.assertEqual(series[0].relative, [1.0, 0.25])
        self.assertEqual(series[1].times, [6.0, 0.6])
        settings = [one.setting for one in series]
        self.assertEqual(plot.labels(settings, plot.SERIES_KEYS), ["AVX2", "AVX3"])
        self.assertEqual(plot.common_text(settings, ("cpu", "target", "threads")),
                         "A CPU, 1 thread")
        with self.assertRaisesRegex(plot.PlotError, "no case padding"):
            plot.padding_series([line()])

    def test_peak_tables(self):
        lines = [line(peak_share=0.7), line(peak_share=0.9), line(seq=128, kv_seq=128, dim=32,
                                                                  v_dim=32, peak_share=0.5),
                 line(ratio=0.5, live_share=0.25, peak_share=0.1), line(dim=32, peak_share=0.2),
                 line(threads=2, peak_share=0.6)]
        tables = plot.peak_tables(lines)
        self.assertEqual(len(tables), 2)
        self.assertEqual(tables[0].lengths, [128, 512])
        self.assertEqual(tables[0].dims, [32, 64])
        self.assertEqual(tables[0].cells, {(512, 64): 0.8, (128, 32): 0.5})
        self.assertEqual(plot.labels([table.setting for table in tables], plot.TABLE_KEYS),
                         ["1 thread", "2 threads"])
        with self.assertRaisesRegex(plot.PlotError, "without a mask"):
            plot.peak_tables([line(live_share=0.5)])


if __name__ == "__main__":
    unittest.main()
