#!/usr/bin/env python3
"""Draws stored lines of `skipattn bench --json`: time against padding, and share of peak."""

import argparse
import dataclasses
import json
import pathlib
import statistics
import sys

DESCRIPTION = """\
Draws lines that `skipattn bench --json` has written, as NAME.png and NAME.svg.

  padding  time against the share of padding, beside the ideal: (1 - share)^2 of the work is left
  peak     share of the fma peak without padding, by sequence length and head width"""

EPILOG = """\
examples (./dev plot does both):
  ./dev cli bench padding --threads 1 --json > padding.json
  bench/plot.py padding padding.json --out padding
  for d in 64 128; do ./dev cli bench padding --ratios 0 --dim $d --json; done > peak.json
  bench/plot.py peak peak.json --out peak"""


class PlotError(Exception):
    """Lines that cannot be drawn; the message says why."""


# ------------------------------------------------------------------------------------------ reading


# Lines that differ in one of these belong to different curves, or tables.
SERIES_KEYS = (
    "cpu", "compiler", "version", "target", "config", "threads", "batch", "heads", "kv_heads", "seq",
    "dim", "v_dim", "layout", "empty_rows")
TABLE_KEYS = ("cpu", "compiler", "version", "target", "threads")


@dataclasses.dataclass
class Series:
    """A sweep of padding shares under one setting."""
    setting: dict  # of its first line
    shares: list[float]
    times: list[float]  # ms

    @property
    def relative(self) -> list[float]:
        """Times over that without padding."""
        return [time / self.times[0] for time in self.times]


@dataclasses.dataclass
class Table:
    """Shares of the fma peak of one setting."""
    setting: dict
    cells: dict[tuple[int, int], float]  # by (sequence length, head width)

    @property
    def lengths(self) -> list[int]:
        return sorted({length for length, _ in self.cells})

    @property
    def dims(self) -> list[int]:
        return sorted({dim for _, dim in self.cells})


def parse_lines(text: str) -> list[dict]:
    try:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    except json.JSONDecodeError as error:
        raise PlotError(f"not lines of JSON: {error}") from None
    for line in lines:
        if not isinstance(line, dict) or "case" not in line or "ms" not in line:
            raise PlotError("not a line of skipattn bench --json")
        if not line.get("err_bound_ok", True):
            raise PlotError("has a line whose result was wrong")
    return lines


def read_lines(paths: list[str]) -> list[dict]:
    lines = []
    for path in paths:
        try:
            lines += parse_lines(pathlib.Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, PlotError) as error:
            raise PlotError(f"{path}: {error}") from None
    return lines


def _grouped(lines: list[dict], keys: tuple[str, ...]) -> list[list[dict]]:
    groups: dict[tuple, list[dict]] = {}
    for line in lines:
        groups.setdefault(tuple(line.get(key) for key in keys), []).append(line)
    return list(groups.values())


def padding_series(lines: list[dict]) -> list[Series]:
    """A series for each setting that was measured without padding and with some."""
    all_series = []
    for group in _grouped([line for line in lines if line["case"] == "padding"], SERIES_KEYS):
        times: dict[float, list[float]] = {}
        for line in group:
            times.setdefault(line["ratio"], []).append(line["ms"])
        shares = sorted(times)
        if len(shares) > 1 and shares[0] == 0:
            medians = [statistics.median(times[share]) for share in shares]
            all_series.append(Series(group[0], shares, medians))
    if not all_series:
        raise PlotError("no case padding with a ratio of 0 and another one")
    return all_series


def peak_tables(lines: list[dict]) -> list[Table]:
    """A table for each machine, target and number of threads, of lines without any mask."""
    tables = []
    unmasked = [line for line in lines if line["live_share"] == 1 and line["peak_share"] > 0
                and line["dim"] == line["v_dim"] and line["seq"] == line["kv_seq"]]
    for group in _grouped(unmasked, TABLE_KEYS):
        shares: dict[tuple[int, int], list[float]] = {}
        for line in group:
            shares.setdefault((line["seq"], line["dim"]), []).append(line["peak_share"])
        cells = {key: statistics.median(values) for key, values in shares.items()}
        tables.append(Table(group[0], cells))
    if not tables:
        raise PlotError("no line without a mask (ratio 0 of the case padding)")
    return tables


def threads_text(setting: dict) -> str:
    return "1 thread" if setting["threads"] == 1 else f"{setting['threads']} threads"


def common_text(settings: list[dict], keys: tuple[str, ...]) -> str:
    """What all settings share of `keys`, for a subtitle."""
    parts = []
    for key in keys:
        values = {setting.get(key) for setting in settings}
        if len(values) == 1:
            parts.append(threads_text(settings[0]) if key == "threads" else str(values.pop()))
    return ", ".join(parts)


def labels(settings: list[dict], keys: tuple[str, ...]) -> list[str]:
    """What tells the settings apart, of `keys`."""
    texts = {"threads": threads_text}
    for key, before, after in (("dim", "dim ", ""), ("seq", "length ", ""), ("batch", "batch ", ""),
                               ("heads", "", " heads"), ("empty_rows", "empty rows ", "")):
        texts[key] = lambda setting, key=key, before=before, after=after: (
            f"{before}{setting[key]}{after}")
    different = [key for key in keys if len({setting.get(key) for setting in settings}) > 1]
    return [
        ", ".join(texts[key](setting) if key in texts else str(setting.get(key))
                  for key in different) or "measured" for setting in settings]


# ------------------------------------------------------------------------------------------ drawing

# Okabe and Ito's colours, which colour-blind people can tell apart; and shapes beside them.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vP"
WIDTH = 8  # inches, of 100 pixels where a README shows it


def _pyplot():
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise PlotError("no matplotlib (Debian: apt install python3-matplotlib)") from None
    matplotlib.use("Agg")
    matplotlib.rcParams.update({
        "font.size": 12, "axes.spines.top": False, "axes.spines.right": False,
        "svg.hashsalt": "skipattn"})
    import matplotlib.pyplot as plt  # pylint: disable=import-outside-toplevel
    return plt


def _title(figure, title: str, subtitle: str) -> None:
    left = 0.015
    top = 1 - 0.10 / figure.get_figheight()
    figure.text(left, top, title, fontsize=15, fontweight="bold", va="top")
    figure.text(left, top - 0.32 / figure.get_figheight(), subtitle, fontsize=10.5,
                color="#444444", va="top", linespacing=1.4)


def _save(figure, out: str) -> list[str]:
    pathlib.Path(out).parent.mkdir(parents=True, exist_ok=True)
    names = []
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        names.append(f"{out}.{kind}")
        # Twice the pixels, for screens that have them.
        figure.savefig(names[-1], dpi=200, metadata=metadata, facecolor="white")
    return names


def _three_digits(value: float) -> str:
    return f"{value:#.3g}".rstrip(".")


def draw_padding(lines: list[dict], out: str) -> list[str]:
    all_series = padding_series(lines)
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(WIDTH, 4.8))
    figure.subplots_adjust(left=0.09, right=0.975, bottom=0.125, top=0.8)

    most = max(max(series.shares) for series in all_series)
    ideal = [most * n / 100 for n in range(101)]
    axes.axhline(100, color="#888888", linewidth=1.2, linestyle=":")
    axes.text(100 * most + 14, 101.5, "nothing skipped", color="#666666", ha="right", va="bottom",
              fontsize=11)
    axes.plot([100 * share for share in ideal], [100 * (1 - share)**2 for share in ideal],
              color="black", linewidth=1.5, linestyle="--", label="ideal: (1 \N{MINUS SIGN} share)²")
    names = labels([series.setting for series in all_series], SERIES_KEYS)
    for n, (series, name) in enumerate(zip(all_series, names)):
        axes.plot([100 * share for share in series.shares],
                  [100 * value for value in series.relative], color=COLOURS[n % len(COLOURS)],
                  marker=MARKERS[n % len(MARKERS)], markersize=7, linewidth=2, label=name)
    if len(all_series) == 1:
        for share, time, value in zip(series.shares, series.times, series.relative):
            faster = f"\n{_three_digits(1 / value)}× faster" if share else ""
            axes.annotate(f"{_three_digits(time)} ms{faster}",
                          (100 * share, 100 * value), xytext=(8, 5), textcoords="offset points",
                          fontsize=10, color=COLOURS[0])
    axes.set_xlabel("padding, share of every sequence (%)")
    axes.set_ylabel("time, of that without padding (%)")
    axes.set_xlim(-2, 100 * most + 14)  # with room for a label
    axes.set_xticks(range(0, int(100 * most) + 1, 10))
    axes.set_ylim(0, 110)
    axes.grid(color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(loc="center right", bbox_to_anchor=(1, 0.68), frameon=False)

    settings = [series.setting for series in all_series]
    machine = common_text(settings, ("cpu", "target", "config", "threads", "compiler"))
    first = settings[0]
    sizes = (f"batch {first['batch']}, {first['heads']} heads, {first['seq']} × {first['seq']}, "
             f"dim {first['dim']}, f32")
    keys = ("batch", "heads", "seq", "dim")
    same = all(setting[key] == first[key] for setting in settings for key in keys)
    _title(figure, "Time of a padded batch", f"{machine}\n{sizes}" if same else machine)
    return _save(figure, out)


def _draw_table(axes, table: Table, title: str):
    lengths, dims = table.lengths, table.dims
    values = [[100 * table.cells.get((length, dim), float("nan")) for dim in dims]
              for length in lengths]
    image = axes.imshow(values, cmap="cividis", vmin=0, vmax=100, aspect="auto")
    for row, row_values in enumerate(values):
        for column, value in enumerate(row_values):
            if value == value:  # not measured: NaN
                axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=12,
                          color="black" if value > 55 else "white")
    axes.set_xticks(range(len(dims)), dims)
    axes.set_yticks(range(len(lengths)), lengths)
    axes.set_xlabel("head width D")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title(title, fontsize=12)
    return image


def draw_peak(lines: list[dict], out: str) -> list[str]:
    tables = peak_tables(lines)
    plt = _pyplot()
    rows = max(len(table.lengths) for table in tables)
    height = 1.8 + 0.42 * rows
    figure, all_axes = plt.subplots(1, len(tables), figsize=(WIDTH, height), squeeze=False)
    figure.subplots_adjust(left=0.105, right=0.865, bottom=0.62 / height, top=1 - 0.95 / height,
                           wspace=0.25)
    settings = [table.setting for table in tables]
    titles = labels(settings, TABLE_KEYS)
    for axes, table, title in zip(all_axes[0], tables, titles):
        image = _draw_table(axes, table, title if len(tables) > 1 else "")
    all_axes[0][0].set_ylabel("sequence length T")
    box = all_axes[0][-1].get_position()
    bar = figure.colorbar(image, cax=figure.add_axes((0.89, box.y0, 0.02, box.height)))
    bar.set_label("of the fma peak (%)")
    bar.outline.set_visible(False)
    machine = common_text(settings, ("cpu", "target", "threads", "compiler"))
    _title(figure, "Share of the core's multiply-add peak", f"{machine}; no mask, f32")
    return _save(figure, out)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="bench/plot.py", description=DESCRIPTION, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("padding", "peak"), help="what to draw")
    parser.add_argument("files", nargs="+", metavar="FILE", help="lines of one or more runs")
    parser.add_argument("--out", required=True, metavar="NAME", help="NAME.png and NAME.svg")
    args = parser.parse_args(argv)
    draw = {"padding": draw_padding, "peak": draw_peak}[args.what]
    try:
        lines = read_lines(args.files)
        if any(line.get("peak_share", 0) > 1.02 for line in lines):
            print("plot: warning: shares above the fma peak, so the machine was busy: measure again",
                  file=sys.stderr)
        for name in draw(lines, args.out):
            print(name)
    except (PlotError, OSError) as error:
        print(f"plot: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
