"""Cases made from public bug reports: values, stated numbers, and the same bits in every variation."""

import functools
import warnings

import cases
import numpy as np
import pytest
from evaluator import attended, compare, evaluate, lse_bound

import skipattn as sa

ALL = cases.load()
CONFIGS = next(t for t in sa.info()["targets"] if t["name"] == sa.info()["target"])["configs"]
WAYS = {"auto": {}, "config": {"config": CONFIGS[-1]}, "reference": {"backend": "reference"}}
UNWRITTEN = np.float32(-54321)


class Problem:
    """What a case, or a variation of it, gives to the package."""

    def __init__(self, case):
        self.operands = cases.operands_of(case)
        self.sizes = case["B"], case["Hq"], case["Tq"], case["Tk"]
        self.set_mask(case.get("mask"))
        self.set_bias(case.get("bias"))
        self.layout = case.get("layout", "bhtd")
        names = ("scale", "softcap", "threads", "key_origin", "empty_rows")
        self.options = {name: case[name] for name in names if name in case}
        if case.get("sinks") is not None:
            self.options["sinks"] = cases.literal(case["sinks"]).astype(np.float32)
        # Which rows of the case these are, and which of them are compared.
        self.rows = (slice(None), slice(None), slice(None))
        self.compared = np.ones(self.sizes[:3], bool)

    def set_mask(self, tree):
        self.mask, self.find_allowed = cases.mask_of(tree, self.sizes)

    def set_bias(self, tree):
        self.bias, self.find_numbers = cases.bias_of(tree, self.sizes)

    @functools.cached_property
    def allowed(self):
        return self.find_allowed()

    @functools.cached_property
    def numbers(self):
        return self.find_numbers()

    def set_numbers(self, numbers):
        self.numbers = numbers
        self.bias = np.ascontiguousarray(numbers, np.float32)

    def run(self, way):
        q, k, v = cases.lay_out(self.operands, self.layout)
        out = np.full((*q.shape[:3], v.shape[-1]), UNWRITTEN)
        self.out = out = cases.lay_out_one(out, self.layout if self.layout == "bthd" else "", True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # masks that leave most rows empty
            _, lse = sa.attention(q, k, v, self.mask, out=out, bias=self.bias, return_lse=True,
                                  **self.options, **way)
        return np.ascontiguousarray(out), lse

    @functools.cached_property
    def attended(self):
        """What mask and bias leave of the pairs."""
        return attended(self.allowed, self.numbers)

    def attended_keys(self):
        """Which keys of each key head any row attends, bool [B, Hkv, Tk]."""
        B, H, _, Tk = self.sizes
        Hkv = self.operands[1].shape[1]
        return self.attended.reshape(B, Hkv, -1, Tk).any(axis=2)

    def move_into_bias(self, hard):
        """-inf, or the least number there is, where the mask is false. A soft mask does not empty a row."""
        if not hard:
            self.compared &= self.attended.any(axis=-1)
        self.set_numbers(np.where(self.allowed, self.numbers, -np.inf if hard else np.finfo(np.float32).min))
        self.mask = None


def varied(case, change):
    """The problem of a case after one of the changes that keep its bits."""
    y = Problem(case | {key: value for key, value in change.items() if key not in ("mask", "bias")})
    for name, arg in change.items():
        if name == "slice":
            b, q, k = (slice(*arg[axis]) if axis in arg else slice(None) for axis in "bqk")
            y.rows = (b, slice(None), q)
            y.operands = [y.operands[0][b, :, q], y.operands[1][b, :, k], y.operands[2][b, :, k]]
            y.mask = y.allowed = y.allowed[b, :, q, k]
            y.sizes, y.compared = y.allowed.shape, y.compared[y.rows]
            if y.bias is not None:
                y.set_numbers(y.numbers[b, :, q, k])
        elif name == "mask_as" and arg in ("bias", "soft_bias"):
            y.move_into_bias(arg == "bias")
        elif name == "mask_as":
            y.mask = cases.as_form(arg, y.mask, y.allowed)
        elif name == "set_masked_to":
            for operand in y.operands[1:]:
                operand[~y.attended_keys()] = float(arg)
            if "dense" in (case.get("bias") or {}):
                y.set_numbers(np.where(y.allowed, y.numbers, float(arg)))
        elif name == "set_keys_to":
            group = y.sizes[1] // y.operands[1].shape[1]
            for b, head, j in arg["keys"]:
                heads = slice(head * group, (head + 1) * group)
                y.compared[b, heads] &= ~y.attended[b, heads, :, j]
                for operand in y.operands[1:]:
                    operand[b, head, j] = float(arg["to"])
        else:
            assert name in ("mask", "bias", "layout", "threads", "key_origin"), name
    if "mask" in change:
        y.set_mask(change["mask"])
    if "bias" in change:
        y.set_bias(change["bias"])
    return y


def check_error(case, way):
    problem = None
    with pytest.raises((TypeError, ValueError)) as raised:
        problem = Problem(case)
        problem.run(way)
    words = case["expect"]["error"]
    for word in words if isinstance(words, list) else [words]:
        assert any(w.lower() in str(raised.value).lower() for w in word.split("|")), raised.value
    assert not hasattr(problem, "out") or (problem.out == UNWRITTEN).all()


def check_values(case, problem, out, lse):
    q, k, v = problem.operands
    scores = {name: value for name, value in problem.options.items() if name not in ("threads", "key_origin")}
    exact = evaluate(q, k, v, problem.allowed, bias=problem.numbers, **scores)
    cases.state(case["expect"], exact, v)
    compare("out", out, exact.out, exact.v * case["tol"] if "tol" in case else exact.bound)
    compare("lse", lse, exact.lse, lse_bound(exact, case.get("lse_tol", 1e-5)))
    for values in (out, lse):
        assert (values.view(np.uint32)[np.isnan(values)] == 0x7FC00000).all(), "a NaN is not canonical"


def check_case(case):
    if "error" in case["expect"]:
        for way in WAYS.values():
            check_error(case, way)
        return
    problem = Problem(case)
    out, lse = problem.run({})
    check_values(case, problem, out, lse)
    for change in [{}, *case["expect"].get("same_bits_as", [])]:
        if cases.why_missing(change):
            continue
        y = varied(case, change)
        want_out, want_lse = out[y.rows][y.compared], lse[y.rows][y.compared]
        for name, way in WAYS.items():
            got_out, got_lse = y.run(way)
            assert got_out[y.compared].tobytes() == want_out.tobytes(), f"out by {name}, {change}"
            assert got_lse[y.compared].tobytes() == want_lse.tobytes(), f"lse by {name}, {change}"


@pytest.mark.parametrize("case", ALL, ids=lambda case: case["id"])
def test_case(case):
    whys = {}
    run = 0
    for one in cases.expand(case):
        why = cases.why_missing(one)
        if why:
            whys[one["id"]] = why
            continue
        run += 1
        try:
            check_case(one)
        except Exception as error:
            raise AssertionError(f"{one['id']}: {error}") from error
    if run == 0:
        pytest.skip("; ".join(sorted(set(whys.values()))))


def test_census():
    """Nothing is dropped in silence: with a feature of the package these numbers rise."""
    everything = [one for case in ALL for one in cases.expand(case)]
    run = [one for one in everything if not cases.why_missing(one)]
    variations = [change for one in run for change in one["expect"].get("same_bits_as", [])]
    assert len(everything) == 349
    assert len(run) == 321
    assert sum(not cases.why_missing(change) for change in variations) == 669
