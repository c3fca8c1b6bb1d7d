"""Random instances of operations that apply scalar functions or look up elements.

These are reductions, windows, sorting, gather and scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from instances import (
    COMPLEX,
    EXACT,
    FLOATS,
    INTEGERS,
    MAIN_FLOATS,
    MOVED,
    NUMERIC,
    Draw,
    Instance,
    Tolerance,
    Undrawable,
    family,
    rounding,
    shape_text,
)

from hlotool.interp.arrays.dtypes import NUMBERS, Array

__all__ = ["folding", "window_attribute"]

# The element types for which each function may be folded. Complex numbers have no order, but can be
# added.
_FOLDS = {
    "add": NUMERIC,
    "multiply": ("pred", *INTEGERS, *MAIN_FLOATS),
    "maximum": ("pred", *INTEGERS, *FLOATS),
    "minimum": ("pred", *INTEGERS, *FLOATS),
    "and": ("pred", *INTEGERS),
    "or": ("pred", *INTEGERS),
    "xor": ("pred", *INTEGERS),
    "subtract": (*INTEGERS, *MAIN_FLOATS),
    "2a+x": (*INTEGERS, *MAIN_FLOATS),
    "second": NUMERIC,
}
_IN_ANY_ORDER = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def folding(x: Instance, name: str, opcode: str, element_type: str) -> str:
    """Returns the name of a new computation f(a, x)."""
    scalar = shape_text(element_type, ())
    body = {
        "2a+x": f"  d = {scalar} add(a, a)\n  ROOT r = {scalar} add(d, x)\n",
        "second": f"  ROOT r = {scalar} copy(x)\n",
    }.get(opcode, f"  ROOT r = {scalar} {opcode}(a, x)\n")
    x.computations.append(f"${name} {{\n  a = {scalar} parameter(0)\n  x = {scalar} parameter(1)\n{body}}}\n")
    return f"to_apply=${name}"


def _fold(d: Draw, among: Sequence[str] = tuple(_FOLDS)) -> tuple[str, str, str]:
    """Returns an opcode, a type, and a style of numbers.

    If XLA may choose the order of folding, the result is the same in any order.
    """
    opcode = d.pick(among)
    element_type = d.type(_FOLDS[opcode])
    is_compared = opcode in ("maximum", "minimum", "second")
    return opcode, element_type, "wild" if is_compared or element_type in INTEGERS else "whole"


def _list(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


@family("reduce", 3)
def reduce(d: Draw) -> Instance:
    (opcode, element_type, style), x = _fold(d), Instance()
    sizes = list(d.sizes())
    dimensions = d.shuffled(d.subset(range(len(sizes))))
    if dimensions and d.chance(0.1):
        sizes = [d.pick((33, 65, 100)) if k == dimensions[0] else min(size, 2) for k, size in enumerate(sizes)]
    # Products soon exceed the range in which the type is exact. Powers of two would not, but signs
    # are enough.
    if opcode == "multiply" and element_type not in INTEGERS:
        style = "mild" if element_type in ("f32", "f64") else "whole"
    if opcode in ("2a+x", "subtract") and element_type not in INTEGERS:
        sizes = [min(size, 3) for size in sizes]
    operand = x.argument(element_type, d.numbers(element_type, sizes, style))
    init = x.argument(element_type, d.numbers(element_type, (), style))
    made = [size for k, size in enumerate(sizes) if k not in dimensions]
    tolerance = rounding(element_type, 64, 8) if style == "mild" else EXACT
    return x.gives(
        shape_text(element_type, made),
        f"reduce({operand}, {init}), dimensions={_list(dimensions)}, {folding(x, 'f', opcode, element_type)}",
        tolerance,
    )


@family("reduce of sums", 1)
def reduce_sums(d: Draw) -> Instance:
    """Draws ordinary numbers, whose sums are rounded differently in each order."""
    element_type, sizes, x = d.pick(("f32", "f64", "c64")), d.sizes(), Instance()
    dimensions = d.subset(range(len(sizes)))
    operand, init = x.argument(element_type, d.numbers(element_type, sizes, "mild")), x.argument(element_type, d.numbers(element_type, (), "mild"))
    made = [size for k, size in enumerate(sizes) if k not in dimensions]
    attributes = f"dimensions={_list(dimensions)}, {folding(x, 'f', 'add', element_type)}"
    return x.gives(shape_text(element_type, made), f"reduce({operand}, {init}), {attributes}", rounding(element_type, 64, 64))


@family("variadic reduce", 1)
def variadic_reduce(d: Draw) -> Instance:
    """Draws a reduction to the greatest element and its index.

    Of equal elements, the one with the smallest index wins.
    """
    element_type, index = d.type([t for t in (*INTEGERS, *MAIN_FLOATS) if t not in ("s2", "u2")]), d.pick(("s32", "u32", "s64"))
    sizes, x = list(d.sizes()), Instance()
    dimensions = d.shuffled(d.subset(range(len(sizes))))
    if dimensions and d.chance(0.1):
        sizes = [d.pick((33, 65, 100)) if k == dimensions[0] else min(size, 2) for k, size in enumerate(sizes)]
    value, position = shape_text(element_type, ()), shape_text(index, ())
    x.computations.append(
        f"$f {{\n  a = {value} parameter(0)\n  i = {position} parameter(1)\n  b = {value} parameter(2)\n  j = {position} parameter(3)\n"
        "  gt = pred[] compare(a, b), direction=GT\n  eq = pred[] compare(a, b), direction=EQ\n  before = pred[] compare(i, j), direction=LT\n"
        "  tie = pred[] and(eq, before)\n  keep = pred[] or(gt, tie)\n"
        f"  v = {value} select(keep, a, b)\n  k = {position} select(keep, i, j)\n  ROOT t = ({value}, {position}) tuple(v, k)\n}}\n"
    )
    made = [size for k, size in enumerate(sizes) if k not in dimensions]
    operands = [
        x.argument(element_type, d.numbers(element_type, sizes, "whole")),
        x.argument(index, d.numbers(index, sizes, "whole")),
        x.argument(element_type, d.numbers(element_type, (), "whole")),
        x.argument(index, d.numbers(index, (), "whole")),
    ]
    shape = f"({shape_text(element_type, made)}, {shape_text(index, made)})"
    return x.gives(shape, f"reduce({', '.join(operands)}), dimensions={_list(dimensions)}, to_apply=$f")


@family("variadic reduce in order", 1)
def variadic_reduce_in_order(d: Draw) -> Instance:
    """Draws reducers whose results depend on the order."""
    # For 2-bit types, XLA:CPU's own passes produce modules that its checks reject.
    first, second, sizes, x = d.type([t for t in INTEGERS if t not in ("s2", "u2")]), d.pick(("s32", "u8", "s64")), list(d.sizes()), Instance()
    dimensions = d.shuffled(d.subset(range(len(sizes))))
    if dimensions and d.chance(0.1):
        sizes = [d.pick((33, 65, 100)) if k == dimensions[0] else min(size, 2) for k, size in enumerate(sizes)]
    one, other = shape_text(first, ()), shape_text(second, ())
    x.computations.append(
        f"$f {{\n  a = {one} parameter(0)\n  i = {other} parameter(1)\n  b = {one} parameter(2)\n  j = {other} parameter(3)\n"
        f"  c = {one} add(a, a)\n  v = {one} subtract(c, b)\n  k = {other} subtract(j, i)\n  ROOT t = ({one}, {other}) tuple(v, k)\n}}\n"
    )
    made = [size for k, size in enumerate(sizes) if k not in dimensions]
    operands = [x.argument(t, d.numbers(t, s)) for s in (sizes, ()) for t in (first, second)]
    shape = f"({shape_text(first, made)}, {shape_text(second, made)})"
    return x.gives(shape, f"reduce({', '.join(operands)}), dimensions={_list(dimensions)}, to_apply=$f")


# ---- windows ----------------------------------------------------------------------------------------------------------


class _Window:
    """A dimension of a window over `base` elements, with its number of positions."""

    def __init__(self, d: Draw, base: int, *, plain: bool = False, padded: bool = True) -> None:
        self.size = d.between(1, 4)
        self.stride = d.pick((1, 1, 2, 3))
        self.low, self.high = d.pick((0, 0, 1, 2, -1)), d.pick((0, 0, 1, 2, -1))
        self.base_dilation = 1 if plain else d.pick((1, 1, 1, 2, 3))
        self.dilation = 1 if plain else d.pick((1, 1, 1, 2, 3))
        if plain:
            self.low, self.high = (max(self.low, 0), max(self.high, 0)) if padded else (0, 0)
        dilated = (base - 1) * self.base_dilation + 1 if base else 0
        padded, reach = self.low + dilated + self.high, (self.size - 1) * self.dilation + 1
        # XLA's shape inference requires that negative padding does not make a size negative.
        if padded < 0:
            raise Undrawable
        self.positions = 0 if padded == 0 or reach > padded else (padded - reach) // self.stride + 1


def window_attribute(window: Sequence[_Window]) -> str:
    """Returns the text of a window, without the fields that have their default value."""
    if not window:
        return ""
    parts = ["size=" + "x".join(str(w.size) for w in window)]
    if any(w.stride != 1 for w in window):
        parts.append("stride=" + "x".join(str(w.stride) for w in window))
    if any(w.low or w.high for w in window):
        parts.append("pad=" + "x".join(f"{w.low}_{w.high}" for w in window))
    if any(w.base_dilation != 1 for w in window):
        parts.append("lhs_dilate=" + "x".join(str(w.base_dilation) for w in window))
    if any(w.dilation != 1 for w in window):
        parts.append("rhs_dilate=" + "x".join(str(w.dilation) for w in window))
    return f"window={{{' '.join(parts)}}}"


@family("reduce-window", 2)
def reduce_window(d: Draw) -> Instance:
    (opcode, element_type, style), x = _fold(d), Instance()
    sizes = d.sizes(d.between(1, 4))
    window = [_Window(d, size) for size in sizes]
    # In windows that reach into padding or holes, XLA:CPU visits the elements in an order of its
    # own, for example column by column.
    if opcode in ("2a+x", "second") and sum(w.size > 1 for w in window) > 1:
        window = [_Window(d, size, plain=True, padded=False) for size in sizes]
    count = d.pick((1, 1, 1, 2))
    positions = [w.positions for w in window]
    if opcode in ("2a+x", "subtract", "multiply") and element_type not in INTEGERS:
        style = "whole" if prod(w.size for w in window) <= 9 else "mild"
        if style == "mild":
            raise Undrawable
    if count == 1:
        operands = [x.argument(element_type, d.numbers(element_type, sizes, style)), x.argument(element_type, d.numbers(element_type, (), style))]
        attributes = f"{window_attribute(window)}, {folding(x, 'f', opcode, element_type)}"
        return x.gives(shape_text(element_type, positions), f"reduce-window({', '.join(operands)}), {attributes}")
    other, scalar = d.pick(("s32", "u8")), shape_text(element_type, ())
    pair = f"({scalar}, {other}[])"
    combined = "xor" if opcode in ("2a+x", "second") else opcode
    if element_type not in _FOLDS.get(combined, ()) or other not in _FOLDS.get(combined, ()):
        combined = "add"
    x.computations.append(
        f"$f {{\n  a = {scalar} parameter(0)\n  i = {other}[] parameter(1)\n  b = {scalar} parameter(2)\n  j = {other}[] parameter(3)\n"
        f"  v = {scalar} {combined}(a, b)\n  k = {other}[] {combined}(i, j)\n  ROOT t = {pair} tuple(v, k)\n}}\n"
    )
    operands = [x.argument(t, d.numbers(t, s, "whole")) for s in (sizes, ()) for t in (element_type, other)]
    shape = f"({shape_text(element_type, positions)}, {shape_text(other, positions)})"
    return x.gives(shape, f"reduce-window({', '.join(operands)}), {window_attribute(window)}, to_apply=$f")


@family("select-and-scatter", 1)
def select_and_scatter(d: Draw) -> Instance:
    element_type, x = d.type((*INTEGERS, *MAIN_FLOATS)), Instance()
    sizes = d.sizes(d.between(1, 4), least=1)
    window = [_Window(d, size, plain=True) for size in sizes]
    # A window that covers only padding selects nothing, and XLA:CPU then writes to an arbitrary
    # element.
    if any(w.low >= w.size or w.high >= w.size for w in window):
        raise Undrawable
    source = [w.positions for w in window]
    scalar, direction, opcode = shape_text(element_type, ()), d.pick(("GE", "GT", "LE", "LT")), d.pick(("add", "maximum", "subtract"))
    x.computations.append(
        f"$s {{\n  a = {scalar} parameter(0)\n  b = {scalar} parameter(1)\n  ROOT r = pred[] compare(a, b), direction={direction}\n}}\n"
    )
    values = d.numbers(element_type, sizes, "whole")
    if any(w.low or w.high for w in window):
        # The order of equal elements is known only without padding: see reduce-window.
        values = (
            d.numpy.permutation(np.arange(-5, values.size - 5) % 127)
            .reshape(sizes)
            .astype(NUMBERS[element_type].computed)
            .astype(NUMBERS[element_type].held)
        )
        if len(np.unique(values)) < values.size:
            raise Undrawable
    names = [x.argument(element_type, values), *(x.argument(element_type, d.numbers(element_type, s, "whole")) for s in (source, ()))]
    attributes = f"{window_attribute(window)}, select=$s, {folding(x, 'f', opcode, element_type).replace('to_apply', 'scatter')}"
    return x.gives(shape_text(element_type, sizes), f"select-and-scatter({', '.join(names)}), {attributes}")


# ---- order ------------------------------------------------------------------------------------------------------------


@family("sort", 2)
def sort(d: Draw) -> Instance:
    x, sizes = Instance(), d.sizes(d.between(1, 4))
    # XLA:CPU cannot sort 2-bit elements: it returns numbers that are not in the input, or
    # reports errors about shapes.
    types = [d.type((*(t for t in INTEGERS if t not in ("s2", "u2")), *FLOATS, "pred")) for _ in range(d.between(1, 3))]
    lines = ["$f {"]
    for k, element_type in enumerate(types):
        lines += [f"  a{k} = {element_type}[] parameter({2 * k})", f"  b{k} = {element_type}[] parameter({2 * k + 1})"]
    keys = d.shuffled(range(len(types)))[: d.between(1, 2)]
    styles = ["wild"] * len(types)

    def compared(name: str, k: int, direction: str) -> str:
        # In float comparisons, NaN is neither before nor after any number. This does not define an
        # order of the elements, so the results would be arbitrary.
        total = NUMBERS[types[k]].kind == "float" and d.chance(0.7)
        if not total and NUMBERS[types[k]].kind == "float":
            styles[k] = "whole"
        return f"{name} = pred[] compare(a{k}, b{k}), direction={direction}" + (", type=TOTALORDER" if total else "")

    direction = d.pick(("LT", "GT"))
    if len(keys) == 1:
        lines.append("  ROOT " + compared("r", keys[0], direction))
    else:
        first, second = keys
        lines += ["  " + compared("lt", first, direction), f"  eq = pred[] compare(a{first}, b{first}), direction=EQ"]
        lines += ["  " + compared("then", second, d.pick(("LT", "GT"))), "  tie = pred[] and(eq, then)", "  ROOT r = pred[] or(lt, tie)"]
        # In total order, a NaN equals itself and -0 differs from +0; in float comparisons, the
        # opposite is true in both cases.
        styles[first] = "whole"
    x.computations.append("\n".join(lines) + "\n}\n")
    # XLA:CPU sorts narrow floats as f32 and loses the payloads of NaNs, which the total order
    # compares.
    operands = [
        x.argument(element_type, _with_one_nan(d.numbers(element_type, sizes, style), element_type))
        for element_type, style in zip(types, styles, strict=True)
    ]
    shapes = [shape_text(element_type, sizes) for element_type in types]
    # The order of equal elements is defined only for stable sorts.
    attributes = f"dimensions={{{d.between(0, len(sizes) - 1)}}}, is_stable=true, to_apply=$f"
    return x.gives(shapes[0] if len(shapes) == 1 else f"({', '.join(shapes)})", f"sort({', '.join(operands)}), {attributes}", MOVED)


def _with_one_nan(array: Array, element_type: str) -> Array:
    """Returns the array with the same bits for all NaNs of the same sign."""
    if NUMBERS[element_type].kind != "float":
        return array
    values = array.astype(np.float64)
    alike = np.copysign(np.float64(np.nan), values).astype(array.dtype)
    return np.where(np.isnan(values), alike, array)


@family("topk", 0.5)
def topk(d: Draw) -> Instance:
    x, element_type = Instance(), d.type(("f32", "s32", "bf16", "f16", "f64", "u8", "s64"))
    sizes = d.sizes(d.between(1, 3), least=1)
    k = d.between(1, sizes[-1])
    made = (*sizes[:-1], k)
    operand = x.argument(element_type, d.numbers(element_type, sizes))
    return x.gives(
        f"({shape_text(element_type, made)}, {shape_text('s32', made)})", f"topk({operand}), k={k}, largest={d.pick(('true', 'false'))}", MOVED
    )


# ---- gather and scatter -----------------------------------------------------------------------------------------------


class _Places:
    """The dimension numbers that gather and scatter have in common.

    They describe slices of an operand at positions that an array of indices contains.
    """

    def __init__(self, d: Draw, *, scalars: bool) -> None:
        self.sizes = d.sizes(d.pick((*((0,) if scalars else ()), 1, 1, 2, 2, 3, 4)))
        batch = list(d.sizes(d.pick((0, 1, 1, 2, 2, 3)), least=0))
        rank = len(self.sizes)
        shared = min(rank, len(batch), d.pick((0, 0, 0, 1, 2)))
        self.operand_batching = sorted(d.random.sample(range(rank), shared))
        batching_positions = d.random.sample(range(len(batch)), shared)
        for dimension, position in zip(self.operand_batching, batching_positions, strict=True):
            batch[position] = self.sizes[dimension]
        others = [k for k in range(rank) if k not in self.operand_batching]
        # Dimensions with slices of size 1 can be dropped from the result, unless their size in the
        # operand is 0.
        self.dropped = d.subset([k for k in others if self.sizes[k] > 0], 0.4)
        self.window = [k for k in others if k not in self.dropped]
        self.slice_sizes = [1 if k in self.dropped else d.between(0 if d.chance(0.1) else 1, size) for k, size in enumerate(self.sizes)]
        self.slice_sizes = [min(1, self.sizes[k]) if k in self.operand_batching else s for k, s in enumerate(self.slice_sizes)]
        if any(size > limit for size, limit in zip(self.slice_sizes, self.sizes, strict=True)):
            raise Undrawable
        self.index_map = d.shuffled(others)[: d.between(0, len(others))]
        self.batch = batch
        self.indices_sizes = list(batch)
        self.vector_dim = d.between(0, len(batch))
        if len(self.index_map) == 1 and d.chance(0.5):
            self.vector_dim = len(batch)
        else:
            self.indices_sizes.insert(self.vector_dim, len(self.index_map))
        self.indices_batching = [position + (position >= self.vector_dim) for position in batching_positions]
        rank_of_slices = len(batch) + len(self.window)
        self.offset_dims = sorted(d.random.sample(range(rank_of_slices), len(self.window)))

    def slices(self) -> list[int]:
        """Returns the dimensions of all slices together."""
        window, batch = [self.slice_sizes[k] for k in self.window], list(self.batch)
        return [window.pop(0) if k in self.offset_dims else batch.pop(0) for k in range(len(self.window) + len(self.batch))]

    def indices(self, d: Draw, x: Instance) -> str:
        element_type = d.pick(("s32", "s32", "s64", "u8", "s8", "u32", "u64", "s16"))
        array = d.numbers(element_type, self.indices_sizes, "wild" if d.chance(0.25) else "whole")
        return x.argument(element_type, array)


@family("gather", 3)
def gather(d: Draw) -> Instance:
    element_type, x, p = d.type(NUMERIC), Instance(), _Places(d, scalars=True)
    # XLA:CPU gathers from scalars by arithmetic, which treats subnormals as zeros.
    operand = x.argument(element_type, d.numbers(element_type, p.sizes, "raw" if p.sizes else "wild"))
    attributes = (
        f"offset_dims={_list(p.offset_dims)}, collapsed_slice_dims={_list(p.dropped)}, start_index_map={_list(p.index_map)}, "
        f"index_vector_dim={p.vector_dim}, slice_sizes={_list(p.slice_sizes)}"
    )
    if p.operand_batching:
        attributes += f", operand_batching_dims={_list(p.operand_batching)}, start_indices_batching_dims={_list(p.indices_batching)}"
    return x.gives(shape_text(element_type, p.slices()), f"gather({operand}, {p.indices(d, x)}), {attributes}", MOVED)


@family("scatter", 3)
def scatter(d: Draw) -> Instance:
    # XLA:CPU cannot scatter into scalars: one of its passes produces a module that its
    # verifier rejects.
    (opcode, element_type, style), x, p = _fold(d), Instance(), _Places(d, scalars=False)
    # If no index distinguishes several updates of an element, XLA:CPU applies only the last update,
    # to the value before all updates.
    if not p.index_map and prod(p.batch) > prod(p.sizes[k] for k in p.operand_batching):
        raise Undrawable
    if element_type in COMPLEX or (opcode in ("2a+x", "multiply") and element_type not in INTEGERS):
        style, opcode = "whole", "add"
    types = [element_type] if d.chance(0.8) else [element_type, d.pick(("s32", "u8", "s64"))]
    operands = [x.argument(t, d.numbers(t, p.sizes, style if t == element_type else "whole")) for t in types]
    indices = p.indices(d, x)
    updates = [x.argument(t, d.numbers(t, p.slices(), style if t == element_type else "whole")) for t in types]
    if len(types) == 1:
        computation = folding(x, "f", opcode, element_type)
    else:
        one, other = (shape_text(t, ()) for t in types)
        computation = "to_apply=$f"
        x.computations.append(
            f"$f {{\n  a = {one} parameter(0)\n  i = {other} parameter(1)\n  b = {one} parameter(2)\n  j = {other} parameter(3)\n"
            f"  v = {one} add(a, b)\n  k = {other} maximum(i, j)\n  ROOT t = ({one}, {other}) tuple(v, k)\n}}\n"
        )
    attributes = (
        f"update_window_dims={_list(p.offset_dims)}, inserted_window_dims={_list(p.dropped)}, scatter_dims_to_operand_dims={_list(p.index_map)}, "
        f"index_vector_dim={p.vector_dim}, {computation}"
    )
    if p.operand_batching:
        attributes += f", input_batching_dims={_list(p.operand_batching)}, scatter_indices_batching_dims={_list(p.indices_batching)}"
    shapes = [shape_text(t, p.sizes) for t in types]
    return x.gives(
        shapes[0] if len(shapes) == 1 else f"({', '.join(shapes)})",
        f"scatter({', '.join([*operands, indices, *updates])}), {attributes}",
        _sums(element_type),
    )


def _sums(element_type: str) -> Tolerance:
    return rounding(element_type, 4, 4) if element_type in COMPLEX else EXACT


@family("set-dimension-size", 0.7)
def set_dimension_size(d: Draw) -> Instance:
    """Draws reductions of dynamic dimensions, which leave out the elements beyond the size."""
    element_type, sizes, x = d.type((*INTEGERS, "f32")), d.sizes(d.between(1, 3), least=1), Instance()
    dimension = d.between(0, len(sizes) - 1)
    size = d.between(0, sizes[dimension])
    # XLA fills the elements beyond the size with the init value. This gives HLO's result only if
    # the init value is neutral.
    operand, init = (
        x.argument(element_type, d.numbers(element_type, sizes, "whole")),
        x.argument(element_type, np.zeros((), NUMBERS[element_type].held)),
    )
    x.shapes.append("s32[]")
    x.arrays.append(np.array(size, np.int32))
    bounded = f"{element_type}[{','.join(f'<={s}' if k == dimension else str(s) for k, s in enumerate(sizes))}]"
    part = x.let("part", bounded, f"set-dimension-size({operand}, $p2), dimensions={{{dimension}}}")
    if d.chance(0.3):
        return x.gives("s32[]", f"get-dimension-size({part}), dimensions={{{dimension}}}")
    return x.gives(
        shape_text(element_type, ()), f"reduce({part}, {init}), dimensions={_list(range(len(sizes)))}, {folding(x, 'f', 'add', element_type)}"
    )
