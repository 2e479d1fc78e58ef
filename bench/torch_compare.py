#!/usr/bin/env python3
"""skipattn against PyTorch's scaled_dot_product_attention and compiled FlexAttention, in turns in one process."""

import argparse
import dataclasses
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import skipattn
import skipattn.torch

DESCRIPTION = """\
Times skipattn beside its peers on the CPU, in f32. Peers have what helps them: SDPA runs in every form that can express
the case (no mask, is_causal, a bool mask, a loop that slices each sequence) and the fastest counts; FlexAttention is
compiled and its block mask made beforehand. skipattn is called as an operator with its mask, its plan kept from the
call before. Results are compared with each other before anything is timed. Ratios are skipattn's time over the peer's:
0.5 means half the time."""

Call = Callable[[], torch.Tensor]


@dataclasses.dataclass
class Case:
    """Calls to compare, and the rows of the result (bool, [B, T]) that every call defines."""
    name: str
    ours: Call
    sdpa: dict[str, Call]
    flex_mask: Callable | None  # (b, h, q, k) -> bool; None = everything is attended
    inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    rows: torch.Tensor


# ----------------------------------------------------------------------------------------------- cases


def inputs(batch: int, heads: int, length: int, dim: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k, v [B, H, T, D], each in memory as [B, T, H, D], as projections leave them."""
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(batch, length, heads, dim, generator=generator).transpose(1, 2) for _ in range(3))
    return q, k, v


def padding(share: float, threads: int) -> Case:
    """Eight sequences of 512, the given share of each padded on the right."""
    q, k, v = inputs(8, 12, 512, 64)
    batch, length = q.size(0), q.size(2)
    live = round((1 - share) * length)
    valid = (torch.arange(length) < live).expand(batch, length).contiguous()
    rows_and_keys = (valid[:, :, None] & valid[:, None, :])[:, None]
    mask = skipattn.mask.padding(valid) if share else None
    lengths = [live] * batch

    def loop() -> torch.Tensor:
        out = torch.zeros_like(q)
        for b, n in enumerate(lengths):
            part = (slice(b, b + 1), slice(None), slice(n))
            out[part] = F.scaled_dot_product_attention(q[part], k[part], v[part])
        return out

    forms = {"loop": loop}
    if share:
        forms["bool mask"] = lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=rows_and_keys)
        forms["bool mask of keys"] = lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=valid[:, None, None])
    else:
        forms["no mask"] = lambda: F.scaled_dot_product_attention(q, k, v)
    return Case(f"padding {share:g}", lambda: skipattn.torch.attention(q, k, v, mask, threads=threads), forms,
                (lambda b, h, i, j: valid[b, i] & valid[b, j]) if share else None, (q, k, v), valid)


def causal(threads: int) -> Case:
    q, k, v = inputs(1, 16, 2048, 64)
    mask = skipattn.mask.causal()
    allowed = torch.ones(q.size(2), q.size(2), dtype=torch.bool).tril()
    forms = {"is_causal": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
             "bool mask": lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)}
    return Case("causal", lambda: skipattn.torch.attention(q, k, v, mask, threads=threads), forms,
                lambda b, h, i, j: j <= i, (q, k, v), all_rows(q))


def window(threads: int) -> Case:
    """Each query attends the last 256 keys, itself included."""
    q, k, v = inputs(1, 8, 4096, 64)
    width = 256
    mask = skipattn.mask.window(width - 1, 0)
    position = torch.arange(q.size(2))
    distance = position[:, None] - position
    allowed = (distance >= 0) & (distance < width)
    forms = {"bool mask": lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)}
    return Case("window", lambda: skipattn.torch.attention(q, k, v, mask, threads=threads), forms,
                lambda b, h, i, j: (j <= i) & (i - j < width), (q, k, v), all_rows(q))


def documents(threads: int) -> Case:
    """Eight causal documents of lengths 1 : 2 : 3 : 1 : 2 : 3 : 1 : 2 in one sequence of 4096."""
    q, k, v = inputs(1, 8, 4096, 64)
    length, count = q.size(2), 8
    before = [sum(1 + m % 3 for m in range(n)) for n in range(count + 1)]
    ends = [length * w // before[-1] for w in before]
    ids = torch.repeat_interleave(torch.arange(count), torch.tensor(ends).diff())
    mask = skipattn.mask.documents(ids[None], ids[None]) & skipattn.mask.causal()
    allowed = (ids[:, None] == ids) & torch.ones(length, length, dtype=torch.bool).tril()

    def loop() -> torch.Tensor:
        out = torch.empty_like(q)
        for begin, end in zip(ends, ends[1:]):
            part = slice(begin, end)
            out[:, :, part] = F.scaled_dot_product_attention(q[:, :, part], k[:, :, part], v[:, :, part],
                                                             is_causal=True)
        return out

    forms = {"loop": loop, "bool mask": lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)}
    return Case("documents", lambda: skipattn.torch.attention(q, k, v, mask, threads=threads), forms,
                lambda b, h, i, j: (ids[i] == ids[j]) & (j <= i), (q, k, v), all_rows(q))


def all_rows(q: torch.Tensor) -> torch.Tensor:
    return torch.ones(q.size(0), q.size(2), dtype=torch.bool)


CASES: dict[str, Callable[[int], Case]] = {
    **{f"padding {share:g}": lambda threads, share=share: padding(share, threads) for share in (0, .25, .5, .75, .9)},
    "causal": causal, "window": window, "documents": documents}


# ------------------------------------------------------------------------------------------- measuring


def flex_call(case: Case) -> tuple[Call | None, str]:
    """Compiled FlexAttention on the case and "", or None and why it cannot be."""
    q, k, v = case.inputs
    try:
        torch._dynamo.reset()  # compiled code is for one number of threads
        block_mask = None
        if case.flex_mask is not None:
            block_mask = create_block_mask(case.flex_mask, q.size(0), None, q.size(2), k.size(2), device="cpu")
        compiled = torch.compile(flex_attention, dynamic=False)

        def call() -> torch.Tensor:
            return compiled(q, k, v, block_mask=block_mask)

        with torch.no_grad():
            call()
    except Exception as error:  # whatever a compiler may say, the others can still be measured
        lines = str(error).strip().splitlines() or [""]
        return None, f"{type(error).__name__}: {lines[0][:200]}"
    return call, ""


def check(case: Case, calls: dict[str, Call]) -> None:
    """Every result against skipattn's on the rows that all define."""
    rows = case.rows[:, None, :, None]
    expected = torch.where(rows, calls["skipattn"](), 0)
    bound = 2e-5 * float(case.inputs[2].abs().max())
    for name, call in calls.items():
        difference = float((torch.where(rows, call(), 0) - expected).abs().max())
        if not difference <= bound:
            sys.exit(f"torch_compare: {case.name}: {name} differs from skipattn by {difference:g}, at most {bound:g} "
                     "is rounding")


def sample(call: Call, min_time: float) -> float:
    """Milliseconds of a call: the mean over `min_time` seconds, after a call that does not count."""
    time.sleep(.003)  # threads of the one before stop spinning
    call()
    begin, count = time.perf_counter(), 0
    while True:
        call()
        count += 1
        elapsed = time.perf_counter() - begin
        if elapsed >= min_time:
            return elapsed / count * 1e3


def measure(calls: dict[str, Call], rounds: int, min_time: float) -> dict[str, list[float]]:
    """Samples of each call, taken in turns, so that what else the machine does meets all alike."""
    samples = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            samples[name].append(sample(call, min_time))
    return samples


def run(case: Case, threads: int, options: argparse.Namespace) -> dict:
    """One line of the result."""
    calls = {"skipattn": case.ours, **{f"SDPA, {form}": call for form, call in case.sdpa.items()}}
    flex, why_not = (None, "not asked for") if options.no_flex else flex_call(case)
    if flex is not None:
        calls["FlexAttention"] = flex
    with torch.no_grad():
        check(case, calls)
        samples = measure(calls, options.rounds, options.min_time)
    median = {name: statistics.median(times) for name, times in samples.items()}
    best = min((name for name in calls if name.startswith("SDPA")), key=median.get)
    line = {"case": case.name, "threads": threads, "skipattn_ms": median["skipattn"],
            "skipattn_min_ms": min(samples["skipattn"]), "sdpa_form": best.removeprefix("SDPA, "),
            "sdpa_ms": median[best], "sdpa_min_ms": min(samples[best]), "over_sdpa": median["skipattn"] / median[best],
            "sdpa_all_ms": {name.removeprefix("SDPA, "): value for name, value in median.items() if "SDPA" in name}}
    if flex is None:
        line["flex_missing"] = why_not
    else:
        line |= {"flex_ms": median["FlexAttention"], "flex_min_ms": min(samples["FlexAttention"]),
                 "over_flex": median["skipattn"] / median["FlexAttention"]}
    return line


# ---------------------------------------------------------------------------------------------- output


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if value < 100 else f"{value:.1f}"


def print_line(line: dict) -> None:
    cells = [line["case"], str(line["threads"])]
    for peer in ("skipattn", "sdpa", "flex"):
        cells += [number(line.get(f"{peer}_ms")), number(line.get(f"{peer}_min_ms"))]
    cells += [number(line["over_sdpa"]), number(line.get("over_flex")), line["sdpa_form"]]
    print(ROW.format(*cells), flush=True)


ROW = "{:<13} {:>7}  {:>9} {:>8}  {:>9} {:>8}  {:>9} {:>8}  {:>6} {:>6}  {}"


def main() -> None:
    parser = argparse.ArgumentParser(description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="all", help="comma-separated, of: " + ", ".join(CASES) + " (default all)")
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers of threads (default 1,2)")
    parser.add_argument("--rounds", type=int, default=7, help="samples of each call (default 7)")
    parser.add_argument("--min-time", type=float, default=.1, help="seconds of a sample (default 0.1)")
    parser.add_argument("--no-flex", action="store_true", help="leave out FlexAttention, which compiles for minutes")
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of a table")
    options = parser.parse_args()
    names = list(CASES) if options.cases == "all" else [name.strip() for name in options.cases.split(",")]
    for name in names:
        if name not in CASES:
            parser.error(f"--cases has {name!r}, expected of: {', '.join(CASES)}")
    threads_asked = [int(text) if text.strip().isdigit() else 0 for text in options.threads.split(",")]
    if min(threads_asked) < 1:
        parser.error(f"--threads is {options.threads!r}, expected numbers above 0 with commas between them")
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}, expected at least 1")

    facts = {"machine": platform.processor() or platform.machine(), "torch": torch.__version__,
             "skipattn": skipattn.__version__}
    if not options.json:
        print("  ".join(f"{key} {value}" for key, value in facts.items()), "  (milliseconds; ratios of medians)\n")
        print(ROW.format("case", "threads", "skipattn", "min", "SDPA", "min", "Flex", "min", "/SDPA", "/Flex",
                         "SDPA's best form"))
    missing = set()
    for threads in threads_asked:
        torch.set_num_threads(threads)
        for name in names:
            line = run(CASES[name](threads), threads, options)
            if options.json:
                print(json.dumps(facts | line), flush=True)
                continue
            print_line(line)
            missing |= {line["flex_missing"]} if "flex_missing" in line else set()
    for why in sorted(missing):
        print(f"\nFlexAttention was left out: {why}")


if __name__ == "__main__":
    main()
