"""bench/torch_compare.py: cases agree with PyTorch, lines are complete, wrong usage is said. No time is judged."""

import json
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")

SCRIPT = pathlib.Path(__file__).parents[2] / "bench" / "torch_compare.py"
QUICK = ["--rounds", "1", "--min-time", "0.001", "--no-flex"]


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("case", ["padding 0", "padding 0.9", "causal", "documents"])
def test_a_line(case):
    done = run("--cases", case, "--threads", "2", "--json", *QUICK)
    assert done.returncode == 0, done.stderr
    line = json.loads(done.stdout)
    assert line["case"] == case and line["threads"] == 2 and line["torch"]
    assert 0 < line["skipattn_min_ms"] <= line["skipattn_ms"]
    assert line["sdpa_ms"] == min(line["sdpa_all_ms"].values()) == line["sdpa_all_ms"][line["sdpa_form"]]
    assert line["over_sdpa"] == pytest.approx(line["skipattn_ms"] / line["sdpa_ms"])
    assert "flex_ms" not in line and line["flex_missing"] == "not asked for"


def test_the_table():
    done = run("--cases", "padding 0.9", "--threads", "1", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "SDPA's best form" in done.stdout and "padding 0.9" in done.stdout
    assert "FlexAttention was left out: not asked for" in done.stdout


@pytest.mark.parametrize("arguments,word", [(["--cases", "nonesuch"], "nonesuch"), (["--threads", "two"], "--threads"),
                                            (["--rounds", "0"], "--rounds"), (["--threads", "0"], "--threads")])
def test_wrong_usage(arguments, word):
    done = run(*arguments)
    assert done.returncode == 2 and word in done.stderr


def test_help():
    done = run("--help")
    assert done.returncode == 0 and "FlexAttention" in done.stdout
