"""The cases of tests/cases/cases.jsonl, whose README.md tells the format, as arrays and masks."""

import functools
import json
import operator
from pathlib import Path

import numpy as np
from evaluator import allows, numbers

import skipattn as sa

FILE = Path(__file__).parents[2] / "tests/cases/cases.jsonl"


def load():
    return [json.loads(line) for line in FILE.read_text().splitlines() if line]


def expand(case):
    """The case itself, or one for each entry of its sweep, with all sizes filled in."""
    for change in case.get("sweep", [{}]):
        one = {key: value for key, value in case.items() if key != "sweep"} | change
        if change:
            plain = (f"{k}={v}" for k, v in change.items() if not isinstance(v, (list, dict)))
            one["id"] += "@" + change.get("as", ",".join(plain))
        for short, names in {"T": ("Tq", "Tk"), "DD": ("D", "Dv")}.items():
            if short in one:
                one.update(dict.fromkeys(names, one[short]))
        yield {"Hkv": one["Hq"], "Dv": one["D"]} | one


def why_missing(fields):
    """Why the package cannot run a case, or a variation; "" if it can."""
    return "" if fields.get("dtype", "f32") == "f32" else "no 16-bit types"


def literal(json_list):
    return np.array(json_list, dtype=object).astype(np.float64)  # "nan" and "inf" too


def fill(spec, shape):
    count, kind = int(np.prod(shape)), spec["fill"]
    rng = np.random.default_rng(spec.get("seed", 0))
    if kind in ("pow2", "eye"):
        *_, j, d = np.indices(shape)
        return 2.0**j if kind == "pow2" else (j % shape[3] == d).astype(float)
    flat = {
        "zeros": lambda: np.zeros(count),
        "ones": lambda: np.ones(count),
        "arange": lambda: np.arange(count, dtype=float),
        "normal": lambda: rng.standard_normal(count, dtype=np.float32).astype(float),
        "random": lambda: (rng.random(count) < spec["p"]).astype(float),
    }
    return flat[kind]().reshape(shape)


def read_array(spec, shape):
    if not isinstance(spec, dict):
        return literal(spec)
    array = fill(spec, shape) if "fill" in spec else literal(spec["data"])
    if "scale" in spec:
        array = (array.astype(np.float32) * np.float32(spec["scale"])).astype(float)
    for *index, value in spec.get("set", []):
        array[tuple(map(read_index, index))] = float(value)
    return array


def read_index(index):
    if isinstance(index, str):
        return slice(*map(int, index.split(":")))
    return slice(None) if index is None else index


def lay_out(operands, layout):
    """q, k, v as they lie in memory; between their elements there is NaN."""
    if layout == "packed_qkv":
        B, H, T, D = operands[0].shape
        packed = np.stack([x.swapaxes(1, 2) for x in operands], axis=2)
        assert packed.shape == (B, T, 3, H, D)
        return [packed[:, :, n].swapaxes(1, 2) for n in range(3)]
    return [lay_out_one(x, layout, is_q=n == 0) for n, x in enumerate(operands)]


def lay_out_one(x, layout, is_q):
    if layout == "bthd":
        return np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)
    if layout == "row_pad":
        wide = np.full((*x.shape[:3], x.shape[3] + 5), np.nan, x.dtype)
        wide[..., : x.shape[3]] = x
        return wide[..., : x.shape[3]]
    if layout == "expanded_kv" and not is_q:
        return np.broadcast_to(np.ascontiguousarray(x[:, :1]), x.shape)
    if layout == "odd_strides":
        strides = [999 * x.itemsize if n == 1 else s for n, s in zip(x.shape, x.strides)]
        return np.lib.stride_tricks.as_strided(x, x.shape, strides)
    if layout == "strided_last":
        wide = np.full((*x.shape[:3], 2 * x.shape[3]), np.nan, x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    return np.ascontiguousarray(x)


def operands_of(case):
    sizes = {
        "q": (case["B"], case["Hq"], case["Tq"], case["D"]),
        "k": (case["B"], case["Hkv"], case["Tk"], case["D"]),
        "v": (case["B"], case["Hkv"], case["Tk"], case["Dv"]),
    }
    types = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16}  # those that are wrong on purpose
    operands = []
    for name, shape in sizes.items():
        shape = drawn = tuple(case.get("shapes", {}).get(name, shape))
        if case.get("layout") == "expanded_kv" and name != "q":
            drawn = (shape[0], 1, *shape[2:])
        array = np.broadcast_to(read_array(case.get(name) or {"fill": "zeros"}, drawn), shape)
        operands.append(array.astype(types[case.get("dtypes", {}).get(name, "f32")]))
    return operands


def dense_of(arg, sizes):
    """The array of a dense mask, or of one of blocks, at its strides, and its axes."""
    axes = arg.get("axes", "") if isinstance(arg, dict) else ""
    full = dict(zip("bhqk", sizes))
    if "block_q" in arg:
        full |= {"q": -(-full["q"] // arg["block_q"]), "k": -(-full["k"] // arg["block_k"])}
    shape = arg.get("shape") or [full[axis] for axis in axes or "bhqk"]
    array = read_array(arg, shape).astype(arg.get("dtype", "bool"))
    strides = arg.get("strides")
    if strides == "zero":
        array = np.broadcast_to(array, [full[axis] for axis in axes or "bhqk"])
    elif strides == "transposed":
        array = np.asfortranarray(array)
    elif strides == "negative":
        array = np.flip(np.flip(array).copy())
    elif strides == "gaps":
        wide = np.zeros([2 * n for n in array.shape], array.dtype)
        every_other = (slice(None, None, 2),) * array.ndim
        wide[every_other] = array
        array = wide[every_other]
    return array, axes


def mask_of(tree, sizes):
    """A mask, and a function that gives what it allows (not for masks that are wrong)."""
    if tree is None:
        return None, lambda: np.ones(sizes, bool)
    ((term, arg),) = tree.items()
    B, _, Tq, Tk = sizes
    if term in ("and", "or"):
        masks, allowed = zip(*(mask_of(part, sizes) for part in arg))
        join, reduce = (operator.and_, np.logical_and) if term == "and" else (operator.or_, np.logical_or)
        return functools.reduce(join, masks), lambda: reduce.reduce([each() for each in allowed])
    if term == "not":
        mask, allowed = mask_of(arg, sizes)
        return ~mask, lambda: ~allowed()
    if term == "function":
        coef, mod, below = arg["coef"], arg["mod"], arg["below"]
        mask = sa.mask.function(lambda *at: np.dot(coef, at) % mod < below)
        return mask, lambda: np.tensordot(coef, np.indices(sizes), 1) % mod < below
    name, args, kwargs = term, (), {}
    if term in ("dense", "blocks"):
        values, axes = dense_of(arg, sizes)
        args = (arg["block_q"], arg["block_k"]) if term == "blocks" else ()
        return getattr(sa.mask, name)(values, axes, *args), lambda: allows(name, sizes, values, axes or "bhqk", *args)
    if term in ("key_valid", "query_valid", "padding"):
        args = (read_array(arg, (B, Tk if term == "key_valid" else Tq)).astype(bool),)
    elif term in ("key_lengths", "query_lengths"):
        args = (arg,)
    elif term in ("key_range", "query_range"):
        args = (arg["begin"], arg["end"])
    elif term in ("causal", "window", "prefix_causal"):
        args = tuple(arg[key] for key in ("left", "right", "n") if key in arg)
        kwargs = {key: arg[key] for key in ("align", "offset") if key in arg}
    elif "q_ids" in arg:
        ids = (read_array(arg["q_ids"], (B, Tq)), read_array(arg["k_ids"], (B, Tk)))
        args = tuple(x.astype(np.int32) for x in ids)
    else:
        name, args = "boundaries", (arg["cu_seqlens_q"], arg["cu_seqlens_k"])
        mask = sa.mask.documents(cu_seqlens_q=args[0], cu_seqlens_k=args[1])
        return mask, lambda: allows(name, sizes, *args)
    return getattr(sa.mask, name)(*args, **kwargs), lambda: allows(name, sizes, *args, **kwargs)


def bias_of(tree, sizes):
    """A bias, and a function that gives its values [B, H, Tq, Tk] (not for biases that are wrong)."""
    if tree is None:
        return None, lambda: np.zeros(sizes)
    ((kind, arg),) = tree.items()
    if kind == "from_mask":
        values = np.where(mask_of(arg["mask"], sizes)[1](), np.float32(0), np.float32(arg["low"]))
        return sa.bias.dense(values), lambda: values.astype(float)
    if kind == "dense":
        values, axes = dense_of({"dtype": "float32"} | arg, sizes)
        return sa.bias.dense(values, axes), lambda: numbers(kind, sizes, values, axes or "bhqk")
    array = literal(arg["slopes" if kind == "alibi" else "table"]).astype(np.float32)
    kwargs = {key: arg[key] for key in ("align", "offset") if key in arg}
    return getattr(sa.bias, kind)(array, **kwargs), lambda: numbers(kind, sizes, array, **kwargs)


def as_form(form, mask, allowed):
    """A mask that allows `allowed` in another form."""
    if form == "not_not":
        return ~(~(mask if isinstance(mask, sa.Mask) else sa.mask.dense(allowed)))
    if form == "function":
        return sa.mask.function(lambda *at: allowed[at])
    return sa.mask.blocks(allowed, "", 1, 1) if form == "blocks" else allowed


def listed(numbers):
    """[3, "5-7"] is 3, 5, 6, 7."""
    found = []
    for item in numbers if isinstance(numbers, list) else [numbers]:
        first, _, last = str(item).partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def state(expect, exact, v):
    """Puts the numbers that a case states in the place of the evaluator's."""
    out, lse = exact.out, exact.lse
    B, H, Tq, _ = out.shape
    if "out" in expect:
        out[...] = literal(expect["out"])
    if "lse" in expect:
        lse[...] = literal(expect["lse"])
    for row in expect.get("rows", []):
        axes = [listed(row[a]) if a in row else range(n) for a, n in zip("bhi", (B, H, Tq))]
        for b in axes[0]:
            for h in axes[1]:
                if "out" in row:
                    out[b, h, axes[2]] = literal(row["out"])
                if "keys" in row:
                    out[b, h, axes[2]] = v[b, h // (H // v.shape[1]), listed(row["keys"])].mean(axis=0)
                if "lse" in row:
                    lse[b, h, axes[2]] = float(row["lse"])
