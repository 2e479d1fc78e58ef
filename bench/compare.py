#!/usr/bin/env python3
"""Compares two stored benchmark runs: time ratios by name, their geometric mean, regressions."""

import argparse
import dataclasses
import json
import math
import pathlib
import re
import statistics
import sys

DESCRIPTION = """\
Compares the times of two stored runs, A (before) and B (after). A run is either
  the JSON of Google Benchmark:  ./dev microbench --benchmark_out=A.json
  lines of the command:          ./dev cli bench padding --json > A.json
and A and B are of the same kind. Repetitions of a name count as their median."""

EPILOG = """\
exit codes:
  0  compared
  1  a file cannot be read, or the runs have no name in common
  2  wrong usage
  3  a name is slower than --fail-above allows
  4  outputs differ: the two runs did not compute the same thing

A ratio of 1.10 means that B takes 10 % longer. Times of different machines, or of one machine on
different days, are better compared with --by peak: each time is then counted in multiply-adds that
its core could have done meanwhile, as measured in the same run.

example:
  bench/compare.py before.json after.json --fail-above 10"""

# What makes two lines of the command the same work.
WORKLOAD_KEYS = (
    "case", "ratio", "batch", "heads", "kv_heads", "seq", "kv_seq", "dim", "v_dim", "layout",
    "empty_rows", "seed")
# What makes them different measurements of it.
SETTING_KEYS = ("threads", "target", "config")
MACHINE_KEYS = ("cpu", "compiler", "version")


class RunError(Exception):
    """A stored run that cannot be used; the message says why."""


@dataclasses.dataclass
class Entry:
    """One name of a run."""
    times: list[float] = dataclasses.field(default_factory=list)  # ms
    shares: list[float] = dataclasses.field(default_factory=list)  # of the fma peak
    hashes: set[str] = dataclasses.field(default_factory=set)
    exact: bool = True  # the hash must be the same on every exact target

    @property
    def time(self) -> float:
        return statistics.median(self.times)

    @property
    def share(self) -> float | None:
        return statistics.median(self.shares) if self.shares else None


@dataclasses.dataclass
class Run:
    """A stored run: entries by name, and the facts of the machine."""
    kind: str
    entries: dict[str, Entry]
    facts: dict[str, str]


# ------------------------------------------------------------------------------------------ reading


def _number_text(value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _google_run(data: dict) -> Run:
    entries: dict[str, Entry] = {}
    milliseconds = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
    for one in data["benchmarks"]:
        if one.get("run_type", "iteration") != "iteration":
            continue  # means and deviations of what is there already
        name = one.get("run_name", one["name"])
        if one.get("error_occurred"):
            raise RunError(f"{name} failed: {one.get('error_message', 'no message')}")
        entry = entries.setdefault(name, Entry())
        # A neighbour on the core lengthens the real time of a single thread; where several worked,
        # the CPU time is that of one of them.
        time = one["real_time"] if name.endswith("/real_time") else one["cpu_time"]
        entry.times.append(time * milliseconds[one.get("time_unit", "ns")])
        if one.get("of_peak"):
            entry.shares.append(one["of_peak"])
        if found := re.search(r"hash=([0-9a-f]{16})", one.get("label", "")):
            entry.hashes.add(found[1])
    context = data.get("context", {})
    facts = {key: str(context[key]) for key in ("cpu", "compiler", "targets", "threads", "skipattn")
             if key in context}
    return Run("Google Benchmark", entries, facts)


def _line_name(line: dict, keys: tuple[str, ...]) -> str:
    sizes = f"{line['batch']}x{line['heads']}/{line['kv_heads']}"
    lengths = f"{line['seq']}x{line['kv_seq']}"
    dims = f"{line['dim']}/{line['v_dim']}"
    parts = [f"{line['case']} {_number_text(line['ratio'])}", f"B{sizes} T{lengths} D{dims}"]
    parts += [str(line[key]) for key in ("layout", "empty_rows") if key in line]
    if line.get("seed", 1) != 1:
        parts.append(f"seed {line['seed']}")
    parts += [f"{line[key]} threads" if key == "threads" else str(line[key])
              for key in keys if key in line]
    return ", ".join(parts)


def _line_run(lines: list[dict]) -> Run:
    # Settings are part of a name only where the run has several of them for one piece of work:
    # else two runs that differ in a setting, as a target, could not be compared.
    settings: dict[tuple, dict[str, set]] = {}
    for line in lines:
        work = tuple(line.get(key) for key in WORKLOAD_KEYS)
        of_work = settings.setdefault(work, {key: set() for key in SETTING_KEYS})
        for key in SETTING_KEYS:
            of_work[key].add(line.get(key))
    several = tuple(
        key for key in SETTING_KEYS if any(len(one[key]) > 1 for one in settings.values()))
    entries: dict[str, Entry] = {}
    for line in lines:
        name = _line_name(line, several)
        if not line.get("err_bound_ok", True):
            raise RunError(f"{name} failed: its result was wrong")
        entry = entries.setdefault(name, Entry())
        entry.times.append(line["ms"])
        if line.get("peak_share"):
            entry.shares.append(line["peak_share"])
        if "hash" in line:
            entry.hashes.add(line["hash"])
        entry.exact &= bool(line.get("bits_equal", True))
    facts = {}
    for key in MACHINE_KEYS + SETTING_KEYS:
        if key not in several:
            facts[key] = ", ".join(sorted({str(line[key]) for line in lines if key in line}))
    return Run("skipattn bench", entries, facts)


def parse_run(text: str) -> Run:
    """A run from the content of its file, of either kind."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        whole = None
    try:
        if isinstance(whole, dict) and "benchmarks" in whole:
            run = _google_run(whole)
        else:
            lines = [json.loads(line) for line in text.splitlines() if line.strip()]
            if not all(isinstance(line, dict) and "case" in line for line in lines):
                raise RunError("neither Google Benchmark JSON nor lines of skipattn bench --json")
            run = _line_run(lines)
    except json.JSONDecodeError as error:
        raise RunError(f"not JSON: {error}") from None
    except KeyError as error:
        raise RunError(f"a result without {error}") from None
    if not run.entries:
        raise RunError("no results")
    return run


def read_run(path: str) -> Run:
    try:
        return parse_run(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RunError) as error:
        raise RunError(f"{path}: {error}") from None


# ---------------------------------------------------------------------------------------- comparing


@dataclasses.dataclass
class Row:
    name: str
    before: float
    after: float
    ratio: float


def different_outputs(a: Run, b: Run) -> list[str]:
    """Names whose outputs have no hash in common though both are of exact arithmetic."""
    return [
        name for name, entry in a.entries.items()
        if name in b.entries and entry.exact and b.entries[name].exact and entry.hashes
        and b.entries[name].hashes and entry.hashes != b.entries[name].hashes]


def different_facts(a: Run, b: Run) -> list[str]:
    keys = list(dict.fromkeys([*a.facts, *b.facts]))
    return [
        f"{key}: {a.facts.get(key, '?')} | {b.facts.get(key, '?')}"
        for key in keys if a.facts.get(key) != b.facts.get(key)]


def compare(a: Run, b: Run, by: str) -> list[Row]:
    """A row for each common name; by peak only where both runs have the share of the fma peak."""
    rows = []
    for name, entry in a.entries.items():
        other = b.entries.get(name)
        if other is None:
            continue
        if by == "peak":
            if not entry.share or not other.share:
                continue
            rows.append(Row(name, entry.share, other.share, entry.share / other.share))
        elif entry.time > 0 and other.time > 0:
            rows.append(Row(name, entry.time, other.time, other.time / entry.time))
    return rows


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


# ----------------------------------------------------------------------------------------- printing


def _value_text(value: float, by: str) -> str:
    if by == "peak":
        return f"{100 * value:.1f} %"
    for factor, unit in ((1, "ms"), (1e3, "us")):
        if value * factor >= 1:
            return f"{value * factor:.3f} {unit}"
    return f"{value * 1e6:.1f} ns"


def print_rows(rows: list[Row], by: str, threshold: float) -> None:
    unit = "of peak" if by == "peak" else "time"
    width = max(len(row.name) for row in rows)
    width = max(width, len("geometric mean"))
    print(f"{'name':{width}}  {'A ' + unit:>12}  {'B ' + unit:>12}  {'B / A':>6}")
    for row in rows:
        mark = ""
        if row.ratio > 1 + threshold / 100:
            mark = "  SLOWER"
        elif row.ratio < 1 / (1 + threshold / 100):
            mark = "  faster"
        print(f"{row.name:{width}}  {_value_text(row.before, by):>12}  "
              f"{_value_text(row.after, by):>12}  {row.ratio:6.3f}{mark}")
    print(f"{'geometric mean':{width}}  {'':12}  {'':12}  "
          f"{geometric_mean([row.ratio for row in rows]):6.3f}")


def _warn(message: str) -> None:
    print(f"compare: {message}", file=sys.stderr)


def _warn_of_missing(a: Run, b: Run) -> None:
    for title, run, other in (("A", a, b), ("B", b, a)):
        only = [name for name in run.entries if name not in other.entries]
        if only:
            more = f" and {len(only) - 3} more" if len(only) > 3 else ""
            _warn(f"only in {title}: {'; '.join(only[:3])}{more}")


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    def percent(text: str) -> float:
        value = float(text)
        if not value >= 0:
            raise ValueError
        return value

    parser = argparse.ArgumentParser(
        prog="bench/compare.py", description=DESCRIPTION, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", metavar="A.json", help="the run before")
    parser.add_argument("b", metavar="B.json", help="the run after")
    parser.add_argument("--by", choices=("time", "peak"), default="time",
                        help="compare times, or shares of the fma peak (default: time)")
    parser.add_argument("--threshold", type=percent, default=5, metavar="PERCENT",
                        help="mark what differs by more than this (default: 5)")
    parser.add_argument("--fail-above", type=percent, metavar="PERCENT",
                        help="exit with 3 if a name is slower by more than this")
    parser.add_argument("--filter", default="", metavar="REGEX", help="only names that match")
    parser.add_argument("--allow-different-outputs", action="store_true",
                        help="compare even where the outputs' hashes differ")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    try:
        a, b = read_run(args.a), read_run(args.b)
        if a.kind != b.kind:
            raise RunError(f"A is of {a.kind}, B of {b.kind}")
        pattern = re.compile(args.filter)
    except (RunError, re.error) as error:
        _warn(str(error))
        return 1
    for run in (a, b):
        run.entries = {name: one for name, one in run.entries.items() if pattern.search(name)}
    for difference in different_facts(a, b):
        _warn(f"warning: {difference}")
    _warn_of_missing(a, b)
    changed = different_outputs(a, b)
    for name in changed:
        _warn(f"outputs differ: {name}")
    if changed and not args.allow_different_outputs:
        _warn("not compared: the runs did not compute the same thing")
        return 4
    rows = compare(a, b, args.by)
    if not rows:
        _warn("the runs have no name in common" + (" with a share of peak" * (args.by == "peak")))
        return 1
    print_rows(rows, args.by, args.threshold)
    if args.fail_above is not None:
        slower = [row for row in rows if row.ratio > 1 + args.fail_above / 100]
        if slower:
            _warn(f"{len(slower)} slower by more than {args.fail_above:g} %")
            return 3
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # the reader, as head, has seen enough
        sys.exit(0)
