"""Random instances of single operations, and modules that contain many of them.

An instance is one operation that a recipe of `hlotool.testing` builds, with its operands. The recipe
determines types, sizes and attributes; this module determines the values of operands, and how much
results may differ from XLA's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from random import Random

import ml_dtypes
import numpy as np

import hlotool
from hlotool import PrintOptions
from hlotool.builder.op import Op
from hlotool.errors import BuilderError
from hlotool.interp.arrays.bits import from_patterns
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.ir.model import Instruction
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import Shape, array_shape
from hlotool.testing.control_recipes import CONTROL
from hlotool.testing.generator import UNARY_METHODS, Generator, Recipe
from hlotool.testing.recipes import VALUES

__all__ = [
    "ALL_TYPES", "COMPLEX", "FAMILIES", "FLOATS", "Instance", "Operations", "Tolerance", "flushed", "instance_of", "module_of",
    "numbers", "random_instance",
]  # fmt: skip

ALL_TYPES = [name for name, row in ELEMENT_TYPES.items() if row.bits and name in NUMBERS]
INTEGERS = [name for name in ALL_TYPES if ELEMENT_TYPES[name].is_integral and name != "pred"]
FLOATS = [name for name in ALL_TYPES if ELEMENT_TYPES[name].kind == "float"]
COMPLEX = ("c64", "c128")
_COMMON = ("f32", "s32", "f32", "bf16", "f16", "f64", "pred", "u8", "s8")
_SHORT = PrintOptions(print_program_shape=False, include_layout_in_shapes=False, print_operand_index_annotation_interval=0)


def _name(recipe: Recipe) -> str:
    return recipe.__name__.strip("_")


# The results of these depend on the position in the module, or on the device.
_LEFT_OUT = {"random_numbers", "devices", "collective", "token", "stochastic_convert"}
_SIZES = ("dynamic_reduce", "get_size", "pad_to_static")
_RECIPES = [*VALUES[""], *VALUES["reducers"], *CONTROL[""], *(recipe for recipe in CONTROL["dynamic"] if _name(recipe) in _SIZES)]
FAMILIES: dict[str, Recipe] = {_name(recipe): recipe for recipe in _RECIPES if _name(recipe) not in _LEFT_OUT}
"""The recipes by name."""
_WEIGHTS = dict.fromkeys(FAMILIES, 1.0) | {
    "unary": 5, "binary": 5, "convert": 6, "compare": 2, "clamp": 2, "dot": 4, "convolution": 7, "gather": 4, "scatter": 5, "reduce": 4,
    "reduce_window": 4, "sort": 3, "while": 4, "call": 2, "conditional": 2, "bitcast_convert": 2, "scaled_dot": 0.3, "ragged_dot": 0.3,
}  # fmt: skip


def _combined(g: Generator) -> Op:
    x = g.array()
    return g.combine_scalars(x, g.like(x))


_BODIES = [_combined, _combined, *(recipe for recipe in VALUES[""] if _name(recipe) in ("unary", "select", "compare", "clamp"))]
"""The recipes for the bodies of called computations."""

# ---- instances --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tolerance:
    """The tolerance for a float: `absolute + relative * |expected|`.

    `flushes` is true if XLA:CPU computes the value and thus treats subnormal operands and results
    as zeros. `signs` is true if the sign of a zero is defined.
    """

    relative: float = 0.0
    absolute: float = 0.0
    flushes: bool = True
    signs: bool = True


EXACT = Tolerance()
_MOVED = Tolerance(flushes=False)


@dataclass
class Instance:
    """An operation with its operands; the names of the results are in `results`, in `text`."""

    family: str
    text: str
    results: dict[str, Shape]
    arrays: list[Array]
    instructions: list[Instruction]

    @property
    def label(self) -> str:
        """The opcode of the operation."""
        return next((x.opcode for x in reversed(self.instructions) if x.opcode != "get-tuple-element"), "parameter")

    @property
    def size(self) -> int:
        """A measure of the amount of data that a reader of a finding has to look at."""
        return sum(x.size + 3 for x in self.arrays) + len(self.text)

    @property
    def types(self) -> list[str]:
        return sorted({leaf.element_type for x in self.instructions for y in (x, *x.operands) for leaf in y.shape.leaves()})

    @property
    def leaves(self) -> int:
        return len(self.results)

    def tolerance(self, leaf: int) -> Tolerance:
        return tolerance_of({x.opcode for x in self.instructions}, list(self.results.values())[leaf].element_type)


def module_of(instances: Sequence[Instance]) -> str:
    """Returns a module that computes all instances and returns a tuple of their results."""
    computations, parameters, body, roots = list[str](), list[str](), list[str](), list[str]()
    for k, x in enumerate(instances):
        _, *called, entry = x.text.strip().replace("%", f"i{k}_").split("\n\n")
        computations += called
        for line in entry.splitlines()[1:-1]:
            if " parameter(" in line:
                parameters.append(re.sub(r"parameter\(\d+\)", f"parameter({len(parameters)})", line).replace("ROOT ", ""))
            else:
                body.append(line.replace("ROOT ", ""))
        roots += [f"i{k}_{name}" for name in x.results]
    shapes = [shape.text_without_layout for x in instances for shape in x.results.values()]
    root = f"  ROOT result = ({', '.join(shapes)}) tuple({', '.join(roots)})"
    return "\n".join(["HloModule instances", "", *computations, "ENTRY e {", *parameters, *body, root, "}", ""])


# ---- drawing ----------------------------------------------------------------------------------------------------------


class Operations(Generator):
    """Draws operations whose operands are parameters with at most `most` elements."""

    def __init__(self, random: Random, types: Sequence[str], most: int) -> None:
        super().__init__(0, types, (), _BODIES)
        self.random = random
        self.most = most
        self.of_indices: set[Instruction] = set()

    def element_type(self, *kinds: str) -> str:
        """Draws a type; half of the time, one that is common in programs."""
        found = [name for name in self.types if not kinds or ELEMENT_TYPES[name].kind in kinds]
        common = [name for name in _COMMON if name in found]
        return self.choice(common) if common and self.chance(0.5) else self.choice(found) if found else super().element_type(*kinds)

    def sizes(self, rank: int | None = None) -> tuple[int, ...]:
        """Draws dimensions, some of them 1 or 0, with at most `most` elements in total."""
        rank = self.choice((0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 5)) if rank is None else rank
        if rank and self.chance(0.04):
            return tuple(self.shuffled([self.choice((33, 65, 100)), *(self.choice((1, 2)) for _ in range(rank - 1))]))
        made = list[int]()
        for _ in range(rank):
            size = min(self.choice((1, 2, 2, 3, 3, 4, 5, 7)), max(1, self.most // max(prod(made), 1)))
            made.append(0 if self.chance(0.03) else size)
        return tuple(self.shuffled(made))

    def array(self, *kinds: str, rank: int | None = None, min_rank: int = 0) -> Op:
        if self.depth:
            return super().array(*kinds, rank=rank, min_rank=min_rank)
        return self.new(self.element_type(*kinds), self.sizes(rank if rank is not None else max(min_rank, len(self.sizes()))))

    def new(self, element_type: str, sizes: Sequence[int]) -> Op:
        return super().new(element_type, sizes) if self.depth else self.parameter(array_shape(element_type, tuple(sizes)))

    def like(self, x: Op, element_type: str | None = None) -> Op:
        return super().like(x, element_type) if self.depth else self.new(element_type or x.shape.element_type, x.shape.dimensions)

    def scalar(self, element_type: str) -> Op:
        return super().scalar(element_type) if self.depth else self.new(element_type, ())

    def indices(self, sizes: Sequence[int]) -> Op:
        x = super().indices(sizes)
        self.of_indices.add(x.instruction)
        return x

    def index(self, limit: int, element_type: str = "s32") -> Op:
        x = self.new(element_type, ())
        self.of_indices.add(x.instruction)
        return x

    def without_nans(self, x: Op) -> Op:
        return x

    def unary(self, x: Op) -> Op:
        """Applies a random operation; in bodies, one whose result is exact."""
        exact = ("abs", "neg", "ceil", "floor", "not_", "sign", "clz")
        names = [name for name in UNARY_METHODS[self.kind(x)] if not self.depth or name in exact]
        result: Op = getattr(self.builder, self.choice(names))(x)
        return result

    def reducer(self, element_type: str) -> Callable[[Op, Op], Op]:
        """Returns a function that folds numbers, possibly one whose result depends on the order."""
        b, kind = self.builder, ELEMENT_TYPES[element_type].kind
        folds: list[Callable[[Op, Op], Op]] = [b.add, b.mul, lambda x, y: y]
        if kind != "complex":
            folds += [b.max, b.min]
        if kind in ("pred", "signed", "unsigned"):
            folds += [b.and_, b.or_, b.xor]
        if kind not in ("pred", "complex"):
            folds += [b.sub, lambda x, y: b.add(b.add(x, x), y)]
        return self.choice(folds)

    def combine_scalars(self, x: Op, y: Op) -> Op:
        kind = self.kind(x)
        names = ("and_", "or_", "xor") if kind == "pred" else ("add", "sub", "mul", *(() if kind == "complex" else ("max", "min", "div", "rem")))
        result: Op = getattr(self.builder, self.choice(names))(x, y)
        return result


@np.errstate(all="ignore")
def random_instance(random: Random, only: Sequence[str] = (), most: int = 40, types: Sequence[str] = ALL_TYPES) -> Instance:
    """Returns an instance of any family, or of one of the families in `only`."""
    names = list(only) or list(FAMILIES)
    name = random.choices(names, [_WEIGHTS[n] for n in names])[0]
    while True:
        g = Operations(random, types, most)
        try:
            made = FAMILIES[name](g)
        except BuilderError:
            continue
        results = [x for x in (made if isinstance(made, list | tuple) else [made]) if isinstance(x, Op)]
        if results and all(prod(shape.dimensions) <= 10 * max(most, 40) for x in g.builder._computation.instructions for shape in x.shape.leaves()):
            return instance_of(name, g, results)


def instance_of(family: str, g: Operations, results: Sequence[Op]) -> Instance:
    module = g.builder.build(g.builder.tuple(results), check=False)
    instructions = [x for x in module.all_instructions() if x.opcode not in ("parameter", "constant") and x is not module.entry.root]
    source = np.random.default_rng(g.random.getrandbits(64))
    arrays = [_values(g, x, instructions, source) for x in module.entry.parameters]
    text = hlotool.to_text(module, _SHORT)
    # The tuple of the results is the last line.
    text = re.sub(r"\n  ROOT [^\n]*\n}\s*$", "\n}\n", text)
    return Instance(family, text, {x.instruction.name: x.shape for x in results}, arrays, instructions)


# ---- values -----------------------------------------------------------------------------------------------------------

_MOVES = frozenset({
    "bitcast", "bitcast-convert", "broadcast", "concatenate", "copy", "copy-done", "copy-start", "dynamic-slice", "dynamic-update-slice", "gather",
    "get-tuple-element", "opt-barrier", "pad", "reduce-precision", "reshape", "reverse", "select", "slice", "sort", "topk", "transpose", "tuple",
})  # fmt: skip
_LINEAR = frozenset({"fft", "cholesky", "triangular-solve", "batch-norm-training", "batch-norm-inference", "batch-norm-grad"})
_PRODUCTS = frozenset({"dot", "convolution", "ragged-dot", "scaled-dot"})
_FOLDS = frozenset({"reduce", "reduce-window", "scatter", "select-and-scatter", "scan"})
_SUM = frozenset({"reduce", "add"})
_SUMMED = frozenset({"f32", "f64", "c64"})
"""Types whose sums are also compared if they are rounded differently in each order."""
_CALLS = frozenset({"map", "fusion", "call", "while", "conditional", "async-start"})
APPROXIMATE = frozenset({
    "exponential", "exponential-minus-one", "log", "log-plus-one", "sqrt", "rsqrt", "tanh", "sine", "cosine", "tan", "logistic", "cbrt", "erf",
    "power", "atan2", "acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh",
})  # fmt: skip


def _style(opcodes: set[str], types: set[str], source: np.random.Generator) -> str:
    """Returns a style of numbers with which results do not depend on the order of operations.

    `types` are the types of the numbers and of all results.
    """
    is_float = any(ELEMENT_TYPES[name].kind in ("float", "complex") for name in types)
    if not opcodes.isdisjoint(_LINEAR):
        return "mild"
    if opcodes == _SUM and types <= _SUMMED and source.random() < 0.4:
        return "mild"
    is_folded = not opcodes.isdisjoint(_FOLDS) and not opcodes <= _FOLDS | {"maximum", "minimum"}
    if is_float and (is_folded or not opcodes.isdisjoint(_PRODUCTS | _CALLS)):
        return "whole"
    if opcodes <= _MOVES:
        return "raw"
    return "wild" if types.isdisjoint(COMPLEX) and source.random() < 0.7 else "mild"


def _values(g: Operations, parameter: Instruction, instructions: Sequence[Instruction], source: np.random.Generator) -> Array:
    element_type, sizes = parameter.shape.element_type, parameter.shape.dimensions
    if parameter in g.of_indices:
        return numbers(source, element_type, sizes, "wild" if g.chance(0.25) else "whole")
    types = {element_type} | {leaf.element_type for x in instructions for leaf in x.shape.leaves() if leaf.is_array}
    style = _style({x.opcode for x in instructions} - {"get-tuple-element", "tuple"}, types, source)
    # Each thread of a sort with NaNs that are not ordered may end with another result.
    if any(x.opcode == "sort" for x in instructions) and any(
        x.opcode == "compare" and x.attributes.get("type") != "TOTALORDER" for x in instructions
    ):
        style = "whole"
    made = numbers(source, element_type, sizes, style)
    for x in instructions:
        change = _SPECIAL.get((x.opcode, x.operands.index(parameter))) if parameter in x.operands else None
        if x.opcode == "reduce" and any(x.operands[0].shape.dynamic) and x.operands[1] is parameter:
            made = np.zeros_like(made)
        elif change is not None:
            made = change(made, x).astype(made.dtype)
        elif x.opcode == "sort" and ELEMENT_TYPES[element_type].kind == "float":
            # XLA:CPU sorts narrow floats as f32 and loses the payloads of NaNs.
            wide = made.astype(np.float64)
            made = np.where(np.isnan(wide), np.copysign(np.float64(np.nan), wide).astype(made.dtype), made)
    return made


def _positive(root: Array, x: Instruction) -> Array:
    """Returns matrices that can mostly be factored; the triangle that is not read stays as it is."""
    rows = root.shape[-1]
    eye = np.eye(rows, dtype=root.dtype)
    matrix = root @ np.conjugate(np.swapaxes(root, -1, -2)) + (4 if root.size % 5 else -4) * eye
    unread = np.triu(np.ones((rows, rows), bool), 1) if x.attributes.get("lower") else np.tril(np.ones((rows, rows), bool), -1)
    return np.where(unread, root, matrix)


def _convertible(values: Array, x: Instruction) -> Array:
    """Returns numbers that every processor converts in the same way.

    XLA:CPU treats the smallest number of f8e8m0fnu as zero, since it is subnormal in f32. On
    processors without an instruction for f64 to f16, it rounds twice, via f32, as hlotool does.
    """
    if x.operands[0].shape.element_type == "f8e8m0fnu":
        return np.where(values.view(np.uint8) == 0, np.ones_like(values), values)
    is_rounded_twice = values.dtype == np.float64 and x.shape.element_type == "f16"
    return values.astype(np.float32).astype(np.float64) if is_rounded_twice else values


def _triangular(matrix: Array, x: Instruction) -> Array:
    """Returns matrices for which rounding errors stay small."""
    rows = matrix.shape[-1]
    return matrix / 4 + (0 if x.attributes.get("unit_diagonal") else 3) * np.eye(rows, dtype=matrix.dtype)


_SPECIAL: dict[tuple[str, int], Callable[[Array, Instruction], Array]] = {
    ("cholesky", 0): _positive,
    ("convert", 0): _convertible,
    ("triangular-solve", 0): _triangular,
    ("batch-norm-inference", 4): lambda variance, _: np.abs(variance.astype(np.float64)),
    ("batch-norm-grad", 3): lambda variance, _: np.abs(variance.astype(np.float64)),
}
"""Functions that make operands suitable, by opcode and operand number."""


@np.errstate(all="ignore")
def numbers(source: np.random.Generator, element_type: str, sizes: Sequence[int], style: str = "wild") -> Array:
    """Draws an array in a style.

    "wild" arrays contain any numbers except subnormals that XLA:CPU flushes; "raw" arrays may also
    contain these. "mild" numbers are small enough for sums. "whole" numbers are small integers,
    whose sums and products are exact in any order.
    """
    number = NUMBERS[element_type]
    if number.kind == "pred":
        return source.integers(0, 2, sizes).astype(bool)
    if number.kind == "complex":
        made = np.empty(sizes, number.held)
        made.real, made.imag = (numbers(source, "f32" if element_type == "c64" else "f64", sizes, style) for _ in range(2))
        return made
    form = number.element.float_format
    if form is None:
        return _integers(source, element_type, sizes, style)
    if style == "whole":
        return source.integers(-3 if form.signed else 1, 4, sizes).astype(np.float32).astype(number.held)
    if style == "mild":
        return source.normal(0, 1.5, sizes).astype(np.float32).astype(number.held)
    if number.bits <= 8:
        return from_patterns(np.asarray(source.integers(0, 1 << number.bits, sizes, dtype=np.uint8)), number)
    # Numbers of all magnitudes, half of them near one, and special numbers.
    exponent = np.where(source.random(sizes) < 0.5, source.uniform(-3, 3, sizes), source.normal(0, 0.5, sizes))
    spread = np.asarray(source.normal(0, 1, sizes) * 10.0**exponent)
    limits = ml_dtypes.finfo(number.held)
    special = [
        np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e3, 255.5, -128.5, 2.0**31, -(2.0**31),
        float(limits.max), -float(limits.max), float(limits.tiny), float(limits.tiny) / 4, 1 / 3,
    ]  # fmt: skip
    held = np.asarray(np.where(source.random(sizes) < 0.3, source.choice(np.array(special), sizes), spread)).astype(number.held)
    return held if style == "raw" else np.where(flushed(held, element_type), number.held.type(0), held)


def _integers(source: np.random.Generator, element_type: str, sizes: Sequence[int], style: str) -> Array:
    number = NUMBERS[element_type]
    least, greatest = number.element.minimum, number.element.maximum
    if style in ("whole", "mild"):
        return source.integers(max(least, -3), min(greatest, 3) + 1, sizes).astype(number.computed).astype(number.held)
    any_number = source.integers(least, greatest, sizes, dtype=number.computed, endpoint=True)
    small = source.integers(max(least, -9), min(greatest, 70), sizes, endpoint=True).astype(number.computed)
    special = source.choice(np.array([least, least + 1, greatest, greatest - 1, 0, 1, least], number.computed), sizes)
    return np.asarray(np.choose(source.integers(0, 3, sizes), [any_number, small, special])).astype(number.held)


@np.errstate(all="ignore")
def flushed(array: Array, element_type: str) -> Array:
    """Returns a mask of the elements that XLA:CPU treats as zeros.

    These are subnormals of the types in which XLA:CPU computes, and of bf16, which has the same
    exponents as f32.
    """
    if element_type not in ("f32", "f64", "bf16"):
        return np.zeros(array.shape, bool)
    return np.asarray(np.abs(array.astype(np.float64)) < float(ml_dtypes.finfo(array.dtype).tiny))


# ---- tolerances -------------------------------------------------------------------------------------------------------


def tolerance_of(opcodes: set[str], element_type: str) -> Tolerance:
    """Returns the tolerance of a result of XLA:CPU.

    Over 60,000 numbers each, its polynomials differ from the C library by at most 7 steps of f32 and
    f64, and by 1 step of narrower results. The exception is log-plus-one of f64, which is 127 steps
    off at -0.414. Complex functions consist of several real ones.
    """
    is_complex, is_wide = element_type in COMPLEX, element_type in ("f32", "f64")
    if not opcodes.isdisjoint({"batch-norm-training", "batch-norm-inference", "batch-norm-grad"}):
        # Differences from the mean lose all digits if a feature has one element, and sums of narrow
        # floats are rounded at every step.
        return _rounding(element_type, *(2 * [4096 if is_wide else 64]))
    if not opcodes.isdisjoint(_LINEAR):
        return _rounding(element_type, 512, 512)
    if not opcodes.isdisjoint(APPROXIMATE):
        steps = 256 if "log-plus-one" in opcodes and element_type == "f64" else 8 if is_wide else 1
        return _rounding(element_type, 64, 16) if is_complex else _rounding(element_type, steps)
    if not opcodes.isdisjoint(_PRODUCTS | _CALLS):
        return _rounding(element_type, 8, 8) if is_complex else Tolerance(signs=False)
    if opcodes == _SUM and element_type in _SUMMED:
        return _rounding(element_type, 64, 64)
    if is_complex and not opcodes <= _MOVES | {"add", "subtract", "negate", "compare", "complex", "convert"}:
        return _rounding(element_type, 8, 8)
    return _MOVED if opcodes <= _MOVES else EXACT


def _rounding(element_type: str, steps: float, absolute: float = 0.0) -> Tolerance:
    """Returns a tolerance of `steps` steps of a float type, or of the parts of a complex type."""
    form = NUMBERS[{"c64": "f32", "c128": "f64"}.get(element_type, element_type)].element.float_format
    if form is None:
        return EXACT
    step = 0.5**form.mantissa_bits
    return Tolerance(steps * step, absolute * step, signs=False)
