#!/usr/bin/env python3
"""What a call from Python costs beyond the run itself: of a kept plan, and of skipattn.attention.

The run itself is what the call takes inside the library, measured by the module: the same plan, the
same arrays, in a loop without Python.
"""

import argparse
import json
import timeit

import numpy

import skipattn as sa
from skipattn import _core


def best(call, calls, repeats):
    """Microseconds of a call: the best of several means, since all that disturbs only adds."""
    return min(timeit.repeat(call, number=calls, repeat=repeats)) / calls * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20000, help="calls of one sample")
    parser.add_argument("--repeats", type=int, default=5, help="samples, of which the best counts")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    args = parser.parse_args()

    shape = (1, 1, 16, 64)
    q, k, v = numpy.random.default_rng(1).standard_normal((3, *shape), dtype=numpy.float32)
    out = numpy.empty_like(q)
    causal = sa.mask.causal()
    lengths = numpy.array([12])
    kinds = {"numpy": (q, k, v, out)}
    try:
        import torch

        kinds["torch"] = tuple(torch.from_numpy(array) for array in kinds["numpy"])
    except ImportError:
        pass

    rows = []
    for kind, (q, k, v, out) in kinds.items():
        plan = sa.plan(shape, shape, shape, "float32", causal)
        calls = {
            "plan.run, out given": lambda: plan.run(q, k, v, out),
            "plan.run": lambda: plan.run(q, k, v),
            "attention": lambda: sa.attention(q, k, v),
            "attention, causal": lambda: sa.attention(q, k, v, causal),
            "attention, lengths & causal": lambda: sa.attention(
                q, k, v, sa.mask.key_lengths(lengths) & sa.mask.causal()
            ),
        }
        inside = min(_core.time_runs(plan, q, k, v, out, args.calls) for _ in range(args.repeats))
        for name, call in calls.items():
            total = best(call, args.calls, args.repeats)
            rows.append({"arrays": kind, "call": name, "us": total, "run_us": inside * 1e6,
                         "overhead_us": total - inside * 1e6})
    if args.json:
        for row in rows:
            print(json.dumps(row))
        return
    print(f"B1 H1 T16 D64, {sa.info()['target']}, microseconds")
    print(f"{'arrays':8}{'call':30}{'call':>8}{'run':>8}{'overhead':>10}")
    for row in rows:
        print(f"{row['arrays']:8}{row['call']:30}{row['us']:8.2f}{row['run_us']:8.2f}{row['overhead_us']:10.2f}")


if __name__ == "__main__":
    main()
