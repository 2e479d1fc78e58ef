"""Bad input from Python: an exception or a right answer, never the end of the interpreter."""

import faulthandler
import os
import random
import subprocess
import sys
import time


SECONDS = 6


def test_bad_input_never_ends_the_interpreter():
    seed = int(os.environ.get("SKIPATTN_FUZZ_SEED") or random.randrange(1 << 30))
    print(f"SKIPATTN_FUZZ_SEED={seed}")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, str(seed), str(SECONDS)],
        capture_output=True, text=True, timeout=SECONDS + 120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"seed {seed}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    calls, well, kinds = done.stdout.split("\n")[-2].split()
    print(f"{calls} calls, {well} of them well, exceptions: {kinds}")
    assert int(calls) > 100 and int(well) > 10 and "ValueError" in kinds and "TypeError" in kinds


class Odd:
    """Claims to be an array, and is not one."""

    shape, ndim, dtype = (2, 2, 3, 4), 4, "float32"

    def __init__(self, answer):
        self.answer = answer

    def __dlpack__(self, *args, **kwargs):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def __dlpack_device__(self):
        return (1, 0)


class Fuzzer:
    def __init__(self, seed):
        import numpy as np

        self.np, self.rng = np, random.Random(seed)

    def one_of(self, *choices):
        return self.rng.choice(choices)

    def junk(self):
        np = self.np
        return self.one_of(
            None, 0, -1, 2**40, 2**70, 0.5, float("nan"), "", "bhtd", "bk", b"abc", [], [1, 2], (3,), {}, object(),
            np.float32(1), np.array(3), np.array([], np.float32), np.zeros((2, 2), object), np.array(["a"]),
            np.zeros((1,) * 12, np.float32), np.zeros(3, "M8[s]"), np.zeros(2, [("a", "f4"), ("b", "i8")]), int, len,
            Odd(None), Odd(3), Odd(ValueError("no")), Odd(KeyError()), Odd("dltensor"),
        )  # fmt: skip

    def strided(self, array):
        """The array at other strides, or another one in its memory."""
        np, way = self.np, self.rng.randrange(28)
        if array.ndim == 0 or way > 6:
            return array
        axis = self.rng.randrange(array.ndim)
        if way == 0:
            return np.flip(array, axis)
        if way == 1:
            return array.swapaxes(axis, self.rng.randrange(array.ndim))
        if way == 2:
            return np.repeat(array, 2, axis=axis)[(slice(None),) * axis + (slice(None, None, 2),)]
        if way == 3:
            return np.broadcast_to(array[(slice(None),) * axis + (slice(0, 1),)], array.shape)
        if way == 4:
            raw = np.zeros(array.nbytes + 1, np.uint8)
            return raw[1:].view(array.dtype).reshape(array.shape)
        if way == 5:
            array.flags.writeable = False
            return array
        # Giant lengths or numbers of heads, or of boundaries, would be in order, and take their time.
        size = self.one_of(0, 1, 3, 2**40) if array.ndim > 1 and axis in (0, 3) else self.one_of(0, 1, 3)
        big = [size if n == axis else s for n, s in enumerate(array.shape)]
        return np.broadcast_to(array.reshape(-1)[:1].reshape((1,) * array.ndim), big) if array.size else array

    def array(self, shape, dtype):
        np = self.np
        shape = list(shape)
        if self.rng.random() < 0.04 and shape:
            shape[self.rng.randrange(len(shape))] = self.one_of(0, 1, 2, 5)
        if self.rng.random() < 0.03:
            shape = shape[1:] if self.rng.random() < 0.5 else [1, *shape]
        if self.rng.random() < 0.04:
            dtype = self.one_of("f2", "f4", "f8", "c8", "i1", "u1", "i2", "i4", "i8", "u8", "?", ">f4", "O", "S3", "V4")
        try:
            array = np.zeros(shape, dtype)
            if array.dtype.kind in "fiu" and array.size:
                array[...] = np.array([self.one_of(0, 1, 1, 2, 3) for _ in range(array.size)]).reshape(shape)
            return self.strided(array)
        except (ValueError, TypeError, OverflowError, IndexError):
            return self.junk()

    def mask(self, B, H, Tq, Tk, deep=0):
        import skipattn as sa

        def ints(*shape):
            return self.maybe(lambda: self.array(shape, self.one_of("i4", "i8")))

        def bools(*shape):
            return self.maybe(lambda: self.array(shape, "?"))

        def diagonal():
            return {k: v for k, v in {
                "align": self.one_of("top_left", "bottom_right", "bottom_right", None, "", 3),
                "offset": self.one_of(0, ints(B), ints(B), -(2**62), 2**63 - 1, 2**64, self.junk()),
            }.items() if self.rng.random() < 0.5}  # fmt: skip

        def spec():
            text, numbers, arrays = (sa.mask.causal() & sa.mask.key_lengths(ints(B))).to_spec()
            cut = self.rng.randrange(len(text))
            text = text[:cut] + self.one_of("", "[", "]", "9", '"') + text[cut + 1 :]
            return sa.mask.from_spec(text, numbers, arrays)

        choices = [
            lambda: sa.mask.key_lengths(ints(B)),
            lambda: sa.mask.key_range(ints(B), ints(B)),
            lambda: sa.mask.key_valid(bools(B, Tk)),
            lambda: sa.mask.query_lengths(ints(B)),
            lambda: sa.mask.query_range(ints(B), ints(B)),
            lambda: sa.mask.query_valid(bools(B, Tq)),
            lambda: sa.mask.padding(bools(B, Tq)),
            lambda: sa.mask.causal(**diagonal()),
            lambda: sa.mask.window(self.one_of(-1, 0, 2, 2**63 - 1, -5), self.one_of(-1, 0, 1, 2**62), **diagonal()),
            lambda: sa.mask.prefix_causal(ints(B), **diagonal()),
            lambda: sa.mask.blocks(bools(B, 1, 1, -(-Tk // 3)), self.one_of("bhqk", "", "bk"), self.one_of(0, 64), 3),
            lambda: sa.mask.function(self.one_of(lambda b, h, i, j: i * j % 3, lambda *at: self.junk(), len, int)),
            lambda: sa.mask.documents(ints(B, Tq), ints(B, Tk)),
            lambda: sa.mask.documents(cu_seqlens_q=ints(3), cu_seqlens_k=ints(3)),
            lambda: sa.mask.dense(bools(B, H, Tq, Tk)),
            lambda: sa.mask.dense(bools(B, Tk), self.one_of("bk", "kb", "", "bhqk", "xx", "b")),
            lambda: bools(self.one_of(1, B), self.one_of(1, H), Tq, Tk),
            self.junk,
            spec,
        ]
        mask = self.rng.choice(choices)()
        if deep < 3 and isinstance(mask, sa.Mask) and self.rng.random() < 0.3:
            other = self.mask(B, H, Tq, Tk, deep + 1)
            return self.one_of(lambda: mask & other, lambda: mask | other, lambda: ~mask)()
        return mask

    def bias(self, B, H, Tq, Tk):
        import skipattn as sa

        def floats(*shape):
            return self.maybe(lambda: self.array(shape, "f4"))

        diagonal = self.one_of({"align": "top_left"}, {"offset": -3}, {"offset": [0] * B}, {"align": 3}, {})
        return self.rng.choice([
            lambda: floats(self.one_of(1, B), self.one_of(1, H), Tq, Tk),
            lambda: sa.bias.dense(floats(H, Tq, Tk), self.one_of("hqk", "", "bhqk", "x")),
            lambda: sa.bias.alibi(floats(H), **diagonal),
            lambda: sa.bias.relative(floats(H, self.one_of(1, 5)), **diagonal),
            self.junk,
        ])()  # fmt: skip

    def maybe(self, make, odds=0.02):
        return self.junk() if self.rng.random() < odds else make()

    def call(self):
        import skipattn as sa

        B, G, Hkv = self.one_of(1, 1, 2, 3), self.one_of(1, 2), self.one_of(1, 2)
        Tq, Tk, D, Dv = (self.one_of(1, 3, 8, 17) for _ in range(4))
        H = G * Hkv
        order = (0, 2, 1, 3) if self.rng.random() < 0.2 else (0, 1, 2, 3)

        def tensor(*shape):
            return self.maybe(lambda: self.array([shape[n] for n in order], "f4"))

        q, k, v = tensor(B, H, Tq, D), tensor(B, Hkv, Tk, D), tensor(B, Hkv, Tk, Dv)
        options = {
            "scale": (0.5, 0, float("inf"), -1),
            "softcap": (None, 0, 30.0, -1),
            "bias": (None, q, True, self.bias(B, H, Tq, Tk)),
            "sinks": (None, q, self.array([H], "f4")),
            "empty_rows": ("zero", "keep", "uniform", "nan", "x"),
            "precision": ("exact", "fast"),
            "backend": ("auto", "reference"),
            "threads": (None, 1, 2, 0, -1, 5000),
            "key_origin": (None, 0, -(2**63), [1] * B, [1, 2], self.np.arange(B)),
            "config": (None, "4x2-4x2", ""),
        }
        given = {}
        if order[1] == 2:
            given["layout"] = "bthd"
        for name, values in options.items():
            if self.rng.random() < 0.05:
                given[name] = self.maybe(lambda values=values: self.rng.choice(values))
        mask = self.mask(B, H, Tq, Tk) if self.rng.random() < 0.8 else None
        if self.rng.random() < 0.3:
            plan = sa.plan(
                self.maybe(lambda: getattr(q, "shape", 3)), getattr(k, "shape", 3), getattr(v, "shape", 3),
                self.maybe(lambda: "float32"), mask, **given,
            )  # fmt: skip
            repr(plan), repr(plan.stats)
            return plan.run(q, k, v, out=self.maybe(lambda: None), return_lse=self.maybe(lambda: True))
        if self.rng.random() < 0.3:
            given["out"] = tensor(B, H, Tq, Dv)
        return sa.attention(q, k, v, mask, return_lse=self.maybe(lambda: False), **given)


def main(seed, seconds):
    faulthandler.enable()
    end, calls, well, kinds = time.monotonic() + seconds, 0, 0, {}
    while time.monotonic() < end:
        fuzzer = Fuzzer((seed << 20) + calls)
        calls += 1
        try:
            fuzzer.call()
            well += 1
        except (TypeError, ValueError, NotImplementedError, MemoryError) as error:
            kinds[type(error).__name__] = kinds.get(type(error).__name__, 0) + 1
        except BaseException:
            print(f"seed {seed}, call {calls}", flush=True)
            raise
    print(calls, well, ",".join(f"{kind}:{n}" for kind, n in sorted(kinds.items())))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
