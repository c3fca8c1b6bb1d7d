"""Random instances of elementwise operations, conversions, data movement and control flow.

Importing this module registers all families.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from random import Random

import numpy as np
import random_linear_algebra
import random_reductions
from instances import (
    COMPLEX,
    EXACT,
    FAMILIES,
    FLOATS,
    INTEGERS,
    MAIN_FLOATS,
    MOVED,
    NUMERIC,
    SIGNED,
    Draw,
    Instance,
    Tolerance,
    Undrawable,
    family,
    rounding,
    shape_text,
)

from hlotool.interp.arrays.dtypes import NUMBERS

__all__ = ["BINARY", "EXACT_UNARY", "FROM_ANY", "TO_ANY", "UNARY", "of_function", "random_instance"]

_OTHER_FILES = (random_linear_algebra, random_reductions)


@np.errstate(all="ignore")
def random_instance(random: Random, only: Sequence[str] = (), most: int = 40) -> Instance:
    """Returns an instance of any family, or of one of the families in `only`."""
    names = list(only) or list(FAMILIES)
    name = random.choices(names, [FAMILIES[n][1] for n in names])[0]
    while True:
        try:
            made = FAMILIES[name][0](Draw(random, most))
        except Undrawable:
            continue
        made.family = name
        return made


# ---- elementwise ------------------------------------------------------------------------------------------------------

_REAL_NUMBERS = (*SIGNED, *FLOATS)
EXACT_UNARY = {
    "abs": (*_REAL_NUMBERS, *COMPLEX),
    "negate": (*INTEGERS, *FLOATS, *COMPLEX),
    "sign": (*_REAL_NUMBERS, *COMPLEX),
    "ceil": FLOATS,
    "floor": FLOATS,
    "round-nearest-afz": FLOATS,
    "round-nearest-even": FLOATS,
    "is-finite": FLOATS,
    "not": ("pred", *INTEGERS),
    # For negative s4, XLA counts the bits after extending the number to 8 bits; for s2, it does
    # not. XLA's evaluator is also wrong for s8.
    "popcnt": tuple(element_type for element_type in INTEGERS if element_type != "s4"),
    "count-leading-zeros": INTEGERS,
    "real": (*MAIN_FLOATS, *COMPLEX),
    "imag": (*MAIN_FLOATS, *COMPLEX),
}
_TRANSCENDENTAL = (*FLOATS, *COMPLEX)
UNARY = {
    **dict.fromkeys(("exponential", "exponential-minus-one", "log", "log-plus-one", "sqrt", "rsqrt", "tanh"), _TRANSCENDENTAL),
    **dict.fromkeys(("sine", "cosine", "tan", "logistic"), _TRANSCENDENTAL),
    "cbrt": FLOATS,
    "erf": FLOATS,
}
_PART = {"c64": "f32", "c128": "f64"}


@family("unary exact", 2)
def unary_exact(d: Draw) -> Instance:
    opcode = d.pick(list(EXACT_UNARY))
    element_type, sizes, x = d.type(EXACT_UNARY[opcode]), d.sizes(), Instance()
    result = "pred" if opcode == "is-finite" else _PART.get(element_type, element_type) if opcode in ("abs", "real", "imag") else element_type
    operand = x.argument(element_type, d.numbers(element_type, sizes))
    tolerance = rounding(element_type, 4) if element_type in COMPLEX and opcode in ("abs", "sign") else EXACT
    return x.gives(shape_text(result, sizes), f"{opcode}({operand})", tolerance)


@family("unary approximate", 2)
def unary_approximate(d: Draw) -> Instance:
    opcode = d.pick(list(UNARY))
    element_type, sizes, x = d.type(UNARY[opcode]), d.sizes(), Instance()
    operand = x.argument(element_type, d.numbers(element_type, sizes, "mild" if element_type in COMPLEX else d.pick(("wild", "mild"))))
    return x.gives(shape_text(element_type, sizes), f"{opcode}({operand})", of_function(opcode, element_type))


def of_function(opcode: str, element_type: str) -> Tolerance:
    """Returns the tolerance of XLA:CPU's polynomials relative to the C library.

    Over 60,000 numbers each, they differ by at most 7 steps of f32 and f64, and by 1 step of
    narrower results. The exception is log-plus-one of f64, which is 127 steps off at -0.414.
    Complex functions consist of several real ones.
    """
    if element_type in COMPLEX:
        return rounding(element_type, 64, 16)
    steps = 256 if (opcode, element_type) == ("log-plus-one", "f64") else 8
    return rounding(element_type, steps if element_type in ("f32", "f64") else 1)


BINARY = {
    "add": NUMERIC,
    "subtract": (*INTEGERS, *FLOATS, *COMPLEX),
    "multiply": NUMERIC,
    "divide": (*INTEGERS, *FLOATS, *COMPLEX),
    "remainder": (*INTEGERS, *FLOATS),
    "maximum": ("pred", *INTEGERS, *FLOATS),
    "minimum": ("pred", *INTEGERS, *FLOATS),
    "power": (*INTEGERS, *FLOATS),
    "atan2": FLOATS,
    "and": ("pred", *INTEGERS),
    "or": ("pred", *INTEGERS),
    "xor": ("pred", *INTEGERS),
    "shift-left": INTEGERS,
    "shift-right-arithmetic": INTEGERS,
    "shift-right-logical": INTEGERS,
    "complex": ("f32", "f64"),
}


@family("binary", 4)
def binary(d: Draw) -> Instance:
    opcode = d.pick(list(BINARY))
    element_type, sizes, x = d.type(BINARY[opcode]), d.sizes(), Instance()
    style = "mild" if element_type in COMPLEX else d.pick(("wild", "wild", "mild"))
    operands = [x.argument(element_type, d.numbers(element_type, sizes, style)) for _ in range(2)]
    result = {"f32": "c64", "f64": "c128"}[element_type] if opcode == "complex" else element_type
    tolerance = (
        rounding(element_type, 8, 8) if element_type in COMPLEX else of_function(opcode, element_type) if opcode in ("power", "atan2") else EXACT
    )
    return x.gives(shape_text(result, sizes), f"{opcode}({', '.join(operands)})", tolerance)


@family("compare", 1.5)
def compare(d: Draw) -> Instance:
    element_type, sizes, x = d.type(NUMERIC), d.sizes(), Instance()
    kind = NUMBERS[element_type].kind
    direction = d.pick(("EQ", "NE") if kind == "complex" else ("EQ", "NE", "LT", "LE", "GT", "GE"))
    lhs = d.numbers(element_type, sizes)
    rhs = np.where(d.numpy.random(sizes) < 0.3, lhs, d.numbers(element_type, sizes))
    order = d.pick(
        {"float": ("", ", type=FLOAT", ", type=TOTALORDER"), "complex": ("", ", type=FLOAT"), "signed": ("", ", type=SIGNED")}.get(kind, ("",))
    )
    operands = f"{x.argument(element_type, lhs)}, {x.argument(element_type, np.asarray(rhs))}"
    return x.gives(shape_text("pred", sizes), f"compare({operands}), direction={direction}{order}")


@family("select")
def select(d: Draw) -> Instance:
    element_type, sizes, x = d.type(NUMERIC), d.sizes(), Instance()
    chosen = x.argument("pred", d.numbers("pred", () if d.chance(0.3) else sizes))
    cases = [x.argument(element_type, d.numbers(element_type, sizes, "raw")) for _ in range(2)]
    return x.gives(shape_text(element_type, sizes), f"select({chosen}, {', '.join(cases)})", MOVED)


@family("clamp")
def clamp(d: Draw) -> Instance:
    element_type, sizes, x = d.type(("pred", *INTEGERS, *FLOATS)), d.sizes(), Instance()
    least, value, most = (() if d.chance(0.3) else sizes, sizes, () if d.chance(0.3) else sizes)
    operands = [x.argument(element_type, d.numbers(element_type, s)) for s in (least, value, most)]
    return x.gives(shape_text(element_type, sizes), f"clamp({', '.join(operands)})")


_EXPRESSIONS = {
    "float": ("add", "subtract", "multiply", "maximum", "minimum", "negate", "abs", "floor", "select"),
    "signed": ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "negate", "abs", "and", "xor", "shift-left", "select"),
    "unsigned": ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "negate", "or", "xor", "shift-right-logical", "select"),
}
_OF_ONE_OPERAND = ("negate", "abs", "floor")


@family("expression", 3)
def expression(d: Draw) -> Instance:
    """Draws a chain of operations, alone or within a fusion, a call or a map.

    Each operation is rounded on its own.
    """
    element_type, sizes, x = d.type((*INTEGERS, *FLOATS)), d.sizes(), Instance()
    kind = NUMBERS[element_type].kind
    position = d.pick(("alone", "fusion", "call", "map"))
    shape = shape_text(element_type, () if position == "map" else sizes)
    # No intermediate result is subnormal; XLA:CPU would treat it as zero.
    style = "whole" if kind == "float" else "wild"
    operands = [x.argument(element_type, d.numbers(element_type, sizes, style)) for _ in range(3)]
    known = operands if position == "alone" else ["a", "b", "c"]
    lines = [] if position == "alone" else [f"{name} = {shape} parameter({k})" for k, name in enumerate(known)]
    prefix = "$" if position == "alone" else ""
    for k in range(d.between(2, 7)):
        opcode = d.pick(_EXPRESSIONS[kind])
        if opcode == "abs" and lines and " multiply(" in lines[-1]:
            # XLA assumes that squares are positive and drops the abs, even of integers, whose
            # squares wrap.
            opcode = "negate"
        # Each value is used by the next operation; unused values would be errors within a fusion.
        a, b = known[-1], d.pick(known)
        if opcode == "select":
            pred = "pred" + shape[len(element_type) :]
            lines.append(f"{prefix}is{k} = {pred} compare({a}, {b}), direction={d.pick(('LT', 'NE', 'GE'))}")
            made = f"select({prefix}is{k}, {b}, {d.pick(known)})"
        else:
            made = f"{opcode}({a})" if opcode in _OF_ONE_OPERAND else f"{opcode}({a}, {b})"
        lines.append(f"{prefix}v{k} = {shape} {made}")
        known = [*known, f"{prefix}v{k}"]
    if position == "fusion" and not all(re.search(rf"[( ]{name}[,)]", "\n".join(lines)) for name in known[:3]):
        # In a fusion, unused parameters would be errors, too.
        position = "call"
    if position == "alone":
        x.lines += lines
        return x.gives(shape, f"copy({known[-1]})")
    lines[-1] = f"ROOT {lines[-1]}"
    x.computations.append("$f {\n" + "".join(f"  {line}\n" for line in lines) + "}\n")
    attributes = {"fusion": "kind=kLoop, calls=$f", "call": "to_apply=$f", "map": f"dimensions={_list(range(len(sizes)))}, to_apply=$f"}[position]
    return x.gives(shape_text(element_type, sizes), f"{position}({', '.join(operands)}), {attributes}")


# ---- conversions ------------------------------------------------------------------------------------------------------


# XLA:CPU considers 6, the largest number of f4e2m1fn, too large for any integer type.
FROM_ANY = (*NUMERIC, "f8e8m0fnu")
TO_ANY = (*NUMERIC, "f4e2m1fn")


@family("convert", 3)
def convert(d: Draw) -> Instance:
    source, target, sizes, x = d.type(FROM_ANY), d.type(TO_ANY), d.sizes(), Instance()
    if source in COMPLEX and target == "pred":
        # XLA:CPU aborts on these conversions.
        raise Undrawable
    operand = d.numbers(source, sizes)
    if (source, target) == ("f64", "f16"):
        # On processors with an instruction for this conversion, XLA:CPU rounds once. On other
        # processors, it rounds twice, via f32, as hlotool does.
        operand = operand.astype(np.float32).astype(np.float64)
    if source == "f8e8m0fnu":
        # The smallest number of f8e8m0fnu is subnormal in f32.
        operand = np.where(operand.view(np.uint8) == 0, np.ones_like(operand), operand)
    return x.gives(shape_text(target, sizes), f"convert({x.argument(source, operand)})")


@family("bitcast-convert")
def bitcast_convert(d: Draw) -> Instance:
    types = (*INTEGERS, *FLOATS)
    source, target, x = d.type(types), d.pick(types), Instance()
    wide, narrow = max(NUMBERS[source].bits, NUMBERS[target].bits), min(NUMBERS[source].bits, NUMBERS[target].bits)
    sizes = d.sizes(least=0)
    ratio = () if wide == narrow else (wide // narrow,)
    given, made = ((*sizes, *ratio), sizes) if NUMBERS[source].bits < NUMBERS[target].bits else (sizes, (*sizes, *ratio))
    operand = x.argument(source, d.numbers(source, given, "raw"))
    return x.gives(shape_text(target, made), f"bitcast-convert({operand})", MOVED)


@family("reduce-precision")
def reduce_precision(d: Draw) -> Instance:
    element_type, sizes, x = d.type(MAIN_FLOATS), d.sizes(), Instance()
    operand = x.argument(element_type, d.numbers(element_type, sizes))
    bits = f"exponent_bits={d.pick((1, 2, 3, 4, 5, 8, 8, 11, 15))}, mantissa_bits={d.pick((0, 1, 2, 3, 7, 10, 23, 30, 52))}"
    return x.gives(shape_text(element_type, sizes), f"reduce-precision({operand}), {bits}", MOVED)


# ---- movement ---------------------------------------------------------------------------------------------------------


_MOVABLE = (*NUMERIC, "f8e8m0fnu", "f4e2m1fn")


def _list(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


@family("broadcast")
def broadcast(d: Draw) -> Instance:
    element_type, sizes, x = d.type(_MOVABLE), d.sizes(), Instance()
    dimensions = d.subset(range(len(sizes)))
    if d.chance(0.3):
        d.random.shuffle(dimensions)
    operand = x.argument(element_type, d.numbers(element_type, [sizes[k] for k in dimensions], "raw"))
    return x.gives(shape_text(element_type, sizes), f"broadcast({operand}), dimensions={_list(dimensions)}", MOVED)


@family("reshape")
def reshape(d: Draw) -> Instance:
    element_type, sizes, x = d.type(_MOVABLE), d.sizes(), Instance()
    count, made = prod(sizes), []
    while count > 1 and d.chance(0.7):
        size = d.pick([k for k in range(1, count + 1) if count % k == 0])
        made.append(size)
        count //= size
    made += [count] if count != 1 or d.chance(0.2) else []
    operand = x.argument(element_type, d.numbers(element_type, sizes, "raw"))
    return x.gives(shape_text(element_type, made), f"reshape({operand})", MOVED)


@family("transpose")
def transpose(d: Draw) -> Instance:
    element_type, sizes, x = d.type(_MOVABLE), d.sizes(), Instance()
    order = d.shuffled(range(len(sizes)))
    operand = x.argument(element_type, d.numbers(element_type, sizes, "raw"))
    return x.gives(shape_text(element_type, [sizes[k] for k in order]), f"transpose({operand}), dimensions={_list(order)}", MOVED)


@family("reverse")
def reverse(d: Draw) -> Instance:
    element_type, sizes, x = d.type(_MOVABLE), d.sizes(), Instance()
    dimensions = d.shuffled(d.subset(range(len(sizes))))
    operand = x.argument(element_type, d.numbers(element_type, sizes, "raw"))
    return x.gives(shape_text(element_type, sizes), f"reverse({operand}), dimensions={_list(dimensions)}", MOVED)


@family("slice")
def slice_(d: Draw) -> Instance:
    element_type, sizes, x, made, ranges = d.type(_MOVABLE), d.sizes(), Instance(), [], []
    for size in sizes:
        start = d.between(0, size)
        limit, stride = d.between(start, size), d.pick((1, 1, 2, 3))
        made.append(-(-(limit - start) // stride))
        ranges.append(f"[{start}:{limit}]" if stride == 1 else f"[{start}:{limit}:{stride}]")
    operand = x.argument(element_type, d.numbers(element_type, sizes, "raw"))
    return x.gives(shape_text(element_type, made), f"slice({operand}), slice={{{', '.join(ranges)}}}", MOVED)


@family("pad", 1.5)
def pad(d: Draw) -> Instance:
    # XLA cannot parse the pad of a scalar: empty padding has no text form.
    element_type, sizes, x, made, config = d.type(_MOVABLE), d.sizes(d.between(1, 5)), Instance(), [], []
    for size in sizes:
        low, high, interior = d.pick((0, 0, 1, 2, -1, -2)), d.pick((0, 0, 1, 3, -1, -3)), d.pick((0, 0, 0, 1, 2))
        made.append(size + low + high + max(size - 1, 0) * interior)
        config.append(f"{low}_{high}" + (f"_{interior}" if interior else ""))
    if any(size < 0 for size in made) or prod(made) > 400:
        raise Undrawable
    operand, value = x.argument(element_type, d.numbers(element_type, sizes, "raw")), x.argument(element_type, d.numbers(element_type, (), "raw"))
    return x.gives(shape_text(element_type, made), f"pad({operand}, {value}), padding={'x'.join(config)}", MOVED)


@family("concatenate")
def concatenate(d: Draw) -> Instance:
    # XLA:CPU aborts on 2-bit elements.
    element_type, sizes, x = d.type([t for t in _MOVABLE if t not in ("s2", "u2")]), list(d.sizes(d.between(1, 4))), Instance()
    dimension, names, total = d.between(0, len(sizes) - 1), [], 0
    for _ in range(d.between(1, 4)):
        sizes[dimension] = d.between(0, 3)
        total += sizes[dimension]
        names.append(x.argument(element_type, d.numbers(element_type, sizes, "raw")))
    sizes[dimension] = total
    return x.gives(shape_text(element_type, sizes), f"concatenate({', '.join(names)}), dimensions={{{dimension}}}", MOVED)


@family("iota")
def iota(d: Draw) -> Instance:
    element_type, sizes, x = d.type((*INTEGERS, *FLOATS, *COMPLEX)), list(d.sizes(d.between(1, 4))), Instance()
    dimension = d.between(0, len(sizes) - 1)
    if d.chance(0.2):
        sizes = [d.pick((300, 2100)) if k == dimension else 1 for k in range(len(sizes))]
    return x.gives(shape_text(element_type, sizes), f"iota(), iota_dimension={dimension}")


@family("dynamic-slice", 1.5)
def dynamic_slice(d: Draw) -> Instance:
    # StableHLO has no dynamic-slice of a scalar.
    element_type, sizes, x = d.type(_MOVABLE), d.sizes(d.between(1, 5)), Instance()
    made = [d.between(0, size) for size in sizes]
    operand = x.argument(element_type, d.numbers(element_type, sizes, "raw"))
    starts = _starts(d, x, sizes)
    return x.gives(shape_text(element_type, made), f"dynamic-slice({', '.join([operand, *starts])}), dynamic_slice_sizes={_list(made)}", MOVED)


@family("dynamic-update-slice", 1.5)
def dynamic_update_slice(d: Draw) -> Instance:
    element_type, sizes, x = d.type(_MOVABLE), d.sizes(), Instance()
    operand = x.argument(element_type, d.numbers(element_type, sizes, "raw"))
    update = x.argument(element_type, d.numbers(element_type, [d.between(0, size) for size in sizes], "raw"))
    return x.gives(shape_text(element_type, sizes), f"dynamic-update-slice({', '.join([operand, update, *_starts(d, x, sizes)])})", MOVED)


def _starts(d: Draw, x: Instance, sizes: Sequence[int]) -> list[str]:
    element_type = d.pick(("s8", "u8", "s16", "s32", "s32", "u32", "s64", "u64"))
    style = d.pick(("wild", "whole"))
    return [x.argument(element_type, d.numbers(element_type, (), style)) for _ in sizes]


# ---- sizes, tuples, control flow --------------------------------------------------------------------------------------


@family("get-dimension-size", 0.5)
def get_dimension_size(d: Draw) -> Instance:
    element_type, sizes, x = d.type(NUMERIC), d.sizes(d.between(1, 4)), Instance()
    operand = x.argument(element_type, d.numbers(element_type, sizes))
    return x.gives("s32[]", f"get-dimension-size({operand}), dimensions={{{d.between(0, len(sizes) - 1)}}}")


@family("tuple", 0.5)
def tuple_(d: Draw) -> Instance:
    x, kinds = Instance(), [(d.type(NUMERIC), d.sizes()) for _ in range(d.between(1, 3))]
    names = [x.argument(element_type, d.numbers(element_type, sizes, "raw")) for element_type, sizes in kinds]
    shapes = [shape_text(element_type, sizes) for element_type, sizes in kinds]
    all_of_them = x.let("t", f"({', '.join(shapes)})", f"tuple({', '.join(names)})")
    if d.chance(0.5):
        all_of_them = x.let("b", f"({', '.join(shapes)})", f"opt-barrier({all_of_them})")
    index = d.between(0, len(names) - 1)
    return x.gives(shapes[index], f"get-tuple-element({all_of_them}), index={index}", MOVED)


@family("call", 0.5)
def call(d: Draw) -> Instance:
    element_type, sizes, x = d.type(INTEGERS), d.sizes(), Instance()
    shape, opcode = shape_text(element_type, sizes), d.pick(("add", "subtract", "xor"))
    x.computations.append(f"$f {{\n  a = {shape} parameter(0)\n  b = {shape} parameter(1)\n  ROOT r = {shape} {opcode}(b, a)\n}}\n")
    operands = [x.argument(element_type, d.numbers(element_type, sizes)) for _ in range(2)]
    return x.gives(shape, f"call({', '.join(operands)}), to_apply=$f")


@family("map", 0.5)
def map_(d: Draw) -> Instance:
    element_type, sizes, x = d.type((*INTEGERS, *MAIN_FLOATS)), d.sizes(), Instance()
    scalar, opcode = shape_text(element_type, ()), d.pick(("add", "subtract", "maximum", "divide"))
    x.computations.append(f"$f {{\n  a = {scalar} parameter(0)\n  b = {scalar} parameter(1)\n  ROOT r = {scalar} {opcode}(b, a)\n}}\n")
    operands = [x.argument(element_type, d.numbers(element_type, sizes)) for _ in range(2)]
    return x.gives(shape_text(element_type, sizes), f"map({', '.join(operands)}), dimensions={_list(range(len(sizes)))}, to_apply=$f")


@family("conditional")
def conditional(d: Draw) -> Instance:
    element_type, sizes, x = d.type((*INTEGERS, *FLOATS)), d.sizes(), Instance()
    shape, count = shape_text(element_type, sizes), d.between(1, 4)
    opcodes = [d.pick(("negate", "copy", "abs" if element_type in _REAL_NUMBERS else "negate")) for _ in range(count)]
    is_pred = count == 2 and d.chance(0.5)
    for k, opcode in enumerate(opcodes):
        x.computations.append(f"$b{k} {{\n  a = {shape} parameter(0)\n  ROOT r = {shape} {opcode}(a)\n}}\n")
    index = x.argument("pred" if is_pred else "s32", d.numbers("pred" if is_pred else "s32", (), d.pick(("wild", "whole"))))
    operands = [x.argument(element_type, d.numbers(element_type, sizes)) for _ in range(count)]
    branches = "true_computation=$b0, false_computation=$b1" if is_pred else f"branch_computations={{{', '.join(f'$b{k}' for k in range(count))}}}"
    return x.gives(shape, f"conditional({', '.join([index, *operands])}), {branches}", EXACT)


@family("while")
def while_(d: Draw) -> Instance:
    element_type, sizes, x = d.type((*INTEGERS, *MAIN_FLOATS)), d.sizes(), Instance()
    counter, shape, opcode = d.pick(("s32", "u8", "s64")), shape_text(element_type, sizes), d.pick(("add", "multiply", "subtract"))
    state = f"({counter}[], {shape}, {shape})"
    limit = d.between(-1 if counter != "u8" else 0, 6)
    x.computations.append(
        f"$until {{\n  s = {state} parameter(0)\n  i = {counter}[] get-tuple-element(s), index=0\n  n = {counter}[] constant({limit})\n"
        "  ROOT more = pred[] compare(i, n), direction=LT\n}\n"
    )
    x.computations.append(
        f"$step {{\n  s = {state} parameter(0)\n  i = {counter}[] get-tuple-element(s), index=0\n  one = {counter}[] constant(1)\n"
        f"  j = {counter}[] add(i, one)\n  a = {shape} get-tuple-element(s), index=1\n  b = {shape} get-tuple-element(s), index=2\n"
        f"  c = {shape} {opcode}(a, b)\n  ROOT t = {state} tuple(j, b, c)\n}}\n"
    )
    names = [
        x.argument(counter, d.numbers(counter, (), "whole")),
        *(x.argument(element_type, d.numbers(element_type, sizes, "whole")) for _ in range(2)),
    ]
    start = x.let("s", state, f"tuple({', '.join(names)})")
    return x.gives(state, f"while({start}), condition=$until, body=$step")
