"""Building blocks for recipes of random modules.

They provide values of the open computation, new values of a given shape, and bodies of
computations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from math import isnan, nan, prod
from random import Random
from typing import Any, TypeVar

from hlotool.builder.builder import Builder
from hlotool.builder.op import Op
from hlotool.errors import BuilderError
from hlotool.literals.data import PART_TYPES, element_bytes
from hlotool.literals.floats import decode_floats, encode_floats
from hlotool.literals.literal import Literal, literal_from_bytes
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["BINARY_METHODS", "TYPES", "UNARY_METHODS", "Generator", "Recipe", "Recipes", "special_values"]

T = TypeVar("T")

TYPES = ("f32", "s32", "pred", "bf16", "f16", "f64", "s8", "u8", "u32", "s64", "u64", "s16", "u16", "c64", "s4", "u4", "f8e4m3fn", "f8e5m2")
"""The element types of values, most frequent first."""
_INDEX_TYPES = ("s32", "s32", "s32", "s64", "u8", "s8", "u32", "u64", "s16")
_MAX_ELEMENTS = 200
_MAX_DEPTH = 3

Recipe = Callable[["Generator"], Any]
"""A function that adds instructions. Later instructions may read the value that it returns."""


class Recipes(dict[str, list[Recipe]]):
    """Recipes by feature; the recipes of the feature "" are for all modules."""

    def add(self, times: int = 1, feature: str = "") -> Callable[[Recipe], Recipe]:
        """Registers a function as a recipe that is drawn with the weight `times`."""

        def register(function: Recipe) -> Recipe:
            self.setdefault(feature, []).extend([function] * times)
            return function

        return register


UNARY_METHODS = {
    "float": "abs acos acosh asin asinh atanh cbrt ceil cos cosh erf exp expm1 floor imag is_finite log log1p logistic neg real round_nearest_afz "
    "round_nearest_even rsqrt sign sin sinh sqrt tan tanh".split(),
    "complex": "abs cos exp expm1 imag log log1p logistic neg real rsqrt sign sin sqrt tan tanh".split(),
    "signed": "abs clz neg not_ population_count sign".split(),
    "unsigned": "clz not_ population_count".split(),
    "pred": ["not_"],
}
"""Builder methods with one operand, by the kind of the operand's element type."""

_INTEGER_METHODS = (
    "add", "sub", "mul", "max", "min", "and_", "or_", "xor", "div", "rem", "pow", "shift_left", "shift_right_arithmetic", "shift_right_logical",
)  # fmt: skip

BINARY_METHODS: dict[str, tuple[str, ...]] = {
    "float": ("add", "sub", "mul", "div", "max", "min", "pow", "rem", "atan2"),
    "complex": ("add", "sub", "mul", "div"),
    "signed": _INTEGER_METHODS,
    "unsigned": _INTEGER_METHODS,
    "pred": ("and_", "or_", "xor", "max", "min", "add", "mul"),
}
"""Builder methods with two operands and a result of the same type, by the kind of this type."""


class Generator:
    """A generator of the instructions of one random module.

    `values` lists the values of the open computation that may become operands.
    """

    def __init__(self, seed: int, types: Sequence[str], features: Collection[str] = (), recipes: Sequence[Recipe] = ()) -> None:
        self.random = Random(seed)
        self.builder = Builder(f"random_{seed}", source_lines=False)
        self.types = tuple(types)
        self.features = frozenset(features)
        self.recipes = recipes
        self.values: list[Op] = []
        self.depth = 0
        self._parameters = 0
        self._channels = 0

    def choice(self, items: Sequence[T]) -> T:
        return self.random.choice(items)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def kind(self, x: Op | Shape) -> str:
        """Returns "float", "complex", "signed", "unsigned" or "pred", or "" for other shapes."""
        shape = x.shape if isinstance(x, Op) else x
        return ELEMENT_TYPES[shape.element_type].kind if shape.is_array else ""

    # ---- shapes and values ----------------------------------------------------------------------

    def sizes(self, rank: int | None = None) -> tuple[int, ...]:
        """Draws the sizes of an array: mostly 2 to 4, sometimes 0 or 1."""
        count = self.choice((0, 1, 1, 2, 2, 3)) if rank is None else rank
        while True:
            sizes = tuple([self.choice((2, 3, 4, 3, 2, 1 if self.chance(0.7) else 0)) for _ in range(count)])
            if prod(sizes) <= _MAX_ELEMENTS:
                return sizes

    def part(self, size: int) -> int:
        """Draws the size of a part of a dimension, rarely 0."""
        return self.random.randint(0 if self.chance(0.05) else min(1, size), size)

    def element_type(self, *kinds: str) -> str:
        """Draws an element type, which has one of the kinds if any are given.

        Types at the beginning of the list are more likely.
        """
        candidates = [name for name in self.types if not kinds or ELEMENT_TYPES[name].kind in kinds]
        if not candidates:
            return {"float": "f32", "complex": "c64", "signed": "s32", "unsigned": "u32"}.get(kinds[0], kinds[0])
        return candidates[min(int(self.random.expovariate(0.4)), len(candidates) - 1)]

    def array(self, *kinds: str, rank: int | None = None, min_rank: int = 0) -> Op:
        """Returns an existing or a new array, which has one of the kinds if any are given.

        The array has the given rank or, by default, a rank of at least `min_rank`.
        """
        fitting = [
            x
            for x in self.values
            if x.shape.is_array and (not kinds or self.kind(x) in kinds) and (x.shape.rank == rank if rank is not None else x.shape.rank >= min_rank)
        ]
        if fitting and self.chance(0.8):
            return self.choice(fitting)
        return self.new(self.element_type(*kinds), self.sizes(rank if rank is not None else max(min_rank, len(self.sizes()))))

    def new(self, element_type: str, sizes: Sequence[int]) -> Op:
        """Adds an array: a constant, an iota or, in the entry computation, often a parameter."""
        shape = array_shape(element_type, tuple(sizes))
        if not self.depth and self.chance(0.75):
            return self.parameter(shape)
        kind = ELEMENT_TYPES[element_type].kind
        if "special" in self.features and self.chance(0.3):
            return self.keep(self.builder.constant(self.literal(element_type, sizes)))
        if sizes and kind in ("float", "signed", "unsigned") and self.chance(0.3):
            return self.keep(self.builder.iota(shape, self.random.randrange(len(sizes))))
        number = self.scalar(element_type)
        return self.keep(number if not sizes else self.builder.broadcast(number, sizes))

    def parameter(self, shape: Shape) -> Op:
        """Adds a parameter to the entry computation."""
        number = self._parameters
        self._parameters += 1
        return self.keep(self.builder.parameter(number, shape, f"p{number}"))

    def literal(self, element_type: str, sizes: Sequence[int]) -> Literal:
        """Returns an array of special numbers."""
        numbers = special_values(element_type)
        return literal_from_bytes(array_shape(element_type, tuple(sizes)), b"".join(self.random.choices(numbers, k=prod(sizes))))

    def scalar(self, element_type: str) -> Op:
        """Adds a scalar constant."""
        row = ELEMENT_TYPES[element_type]
        if "special" in self.features and self.chance(0.4):
            return self.builder.constant(self.literal(element_type, ()))
        numbers: dict[str, Any] = {
            "pred": self.chance(0.5),
            "float": self.choice((0.0, 1.0, -1.5, 0.25, 2.0, -0.0)),
            "complex": self.choice((1 + 0j, 0.5 - 1j)),
        }
        if row.is_integral:
            return self.builder.constant(min(max(self.choice((0, 1, -1, 2, 3, 5, -4)), row.minimum), row.maximum), element_type)
        return self.builder.constant(numbers[row.kind], element_type)

    def channel(self) -> int:
        """Returns the number of a new channel."""
        self._channels += 1
        return self._channels

    def like(self, x: Op, element_type: str | None = None) -> Op:
        """Returns an array with the sizes of `x`, and with its element type unless one is given."""
        wanted = element_type or x.shape.element_type
        sizes = x.shape.dimensions
        if any(x.shape.dynamic):
            # Another array may have different sizes at run time.
            return x if wanted == x.shape.element_type else self.keep(self.builder.convert_element_type(x, wanted))
        if "shared" in self.features and element_type is None and self.chance(0.2):
            return x
        shape = array_shape(wanted, sizes)
        fitting = [y for y in self.values if y.shape == shape]
        return self.choice(fitting) if fitting and self.chance(0.8) else self.new(wanted, sizes)

    def indices(self, sizes: Sequence[int]) -> Op:
        """Returns an array of integers that serve as indices."""
        return self.new(self.choice(_INDEX_TYPES), sizes)

    def starts(self, x: Op) -> list[Op]:
        """Adds an index for each dimension of an array; most of them are in range."""
        element_type = self.choice(_INDEX_TYPES)
        return [self.index(size, element_type) for size in x.shape.dimensions]

    def index(self, limit: int, element_type: str = "s32") -> Op:
        """Adds a constant that serves as an index and is mostly in range."""
        return self.builder.constant(self.random.randint(max(-1, ELEMENT_TYPES[element_type].minimum), limit), element_type)

    def keep(self, x: Op) -> Op:
        """Adds `x`, or its elements if it is a tuple, to the possible operands. Returns `x`."""
        self.values += list(x) if x.shape.is_tuple else [x]
        return x

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.random.sample(items, len(items))

    def axis(self, x: Op) -> int:
        return self.random.randrange(x.shape.rank)

    def axes(self, x: Op) -> list[int]:
        """Returns some of the dimensions of an array, in random order."""
        return [axis for axis in self.shuffled(range(x.shape.rank)) if self.chance(0.6)]

    def unary(self, x: Op) -> Op:
        """Applies a random operation to an array."""
        result: Op = getattr(self.builder, self.choice(UNARY_METHODS[self.kind(x)]))(x)
        return result

    def without_nans(self, x: Op) -> Op:
        """Replaces NaNs with 1; optimizations may change their bits, which a total order compares."""
        return self.builder.select(self.builder.eq(x, x), x, 1.0)

    def value_of_shape(self, shape: Shape) -> Op:
        """Returns a value of exactly this shape."""
        if shape.is_tuple:
            return self.builder.tuple([self.value_of_shape(element) for element in shape.elements])
        fitting = [x for x in self.values if x.shape == shape]
        if fitting:
            return self.choice(fitting)
        x = self.new(shape.element_type, shape.dimensions)
        for axis in [axis for axis, is_dynamic in enumerate(shape.dynamic) if is_dynamic]:
            x = self.builder.set_dimension_size(x, self.builder.constant(self.random.randint(0, shape.dimensions[axis]), "s32"), axis)
        return x

    def chain(self, x: Op, recipes: Sequence[Recipe]) -> Op:
        """Returns the result of a chain of two to four recipes.

        Each recipe reads the result of the previous one. Some recipes are used repeatedly.
        """
        outer, self.values = self.values, [x]
        recipe = self.choice(recipes)
        try:
            for _ in range(self.random.randint(2, 4)):
                self.add(recipe)
                del self.values[:-2]
                if self.chance(0.6):
                    recipe = self.choice(recipes)
            return self.values[-1]
        finally:
            self.values = outer

    # ---- computations ---------------------------------------------------------------------------

    @property
    def may_nest(self) -> bool:
        return self.depth < _MAX_DEPTH

    def body(self, result: Shape | None = None) -> Callable[..., Op]:
        """Returns a function that takes operations and follows a few random recipes.

        Its result has the given shape. If no shape is given, the result is one of the last values.
        """

        def follow_recipes(*parameters: Op) -> Op:
            for _ in range(self.random.randint(1, 3)):
                self.add(self.choice(self.recipes))
            return self.value_of_shape(result) if result is not None else self.choice(self.values[-3:]) if self.values else self.scalar("s32")

        return self.wrap_body(follow_recipes)

    def wrap_body(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a function that builds a computation.

        At first, only the parameters of the computation are possible operands.
        """

        def build(*parameters: Op) -> Any:
            outer, self.values = self.values, []
            self.depth += 1
            try:
                for parameter in parameters:
                    self.keep(parameter)
                return function(*parameters)
            finally:
                self.values = outer
                self.depth -= 1

        return build

    def reducer(self, element_type: str) -> Callable[[Op, Op], Op]:
        """Returns a function that combines two numbers of a type.

        The function is commutative and associative (up to rounding), unless the features include
        "reducers".
        """
        if "reducers" in self.features and self.chance(0.6):
            return self.choice((self.combine_scalars, self.combine_scalars, self._combine_twice, lambda x, y: x, lambda x, y: y))
        methods = {"pred": ("and_", "or_"), "float": ("add", "max", "min", "mul"), "complex": ("add", "mul")}
        names = methods.get(ELEMENT_TYPES[element_type].kind, ("add", "max", "min", "and_", "or_", "xor"))
        method: Callable[[Op, Op], Op] = getattr(self.builder, self.choice(names))
        return method

    def combine_scalars(self, x: Op, y: Op) -> Op:
        """Applies a random operation to two numbers of a type; the result has the same type."""
        method = self.choice(BINARY_METHODS[self.kind(x)])
        result: Op = getattr(self.builder, method)(x, y)
        return result

    def _combine_twice(self, x: Op, y: Op) -> Op:
        """Applies a random operation to the result of another random operation."""
        first = self.combine_scalars(x, self.choice((x, y, self.scalar(x.shape.element_type))))
        return self.combine_scalars(first, y) if self.chance(0.5) else self.combine_scalars(y, first)

    # ---- instructions ---------------------------------------------------------------------------

    def add(self, recipe: Recipe) -> bool:
        """Follows a recipe, and returns whether its instructions are valid.

        If not, the instructions that the recipe has already added remain, without users.
        """
        try:
            result = recipe(self)
        except BuilderError:
            return False
        for x in result if isinstance(result, list | tuple) else [result]:
            if isinstance(x, Op):
                self.keep(x)
        return True


@cache
def special_values(element_type: str) -> tuple[bytes, ...]:
    """Returns the bytes of special numbers of a type.

    These include zeros, ones, the smallest and the largest numbers, infinities and NaNs.

    >>> [int.from_bytes(data, signed=True) for data in special_values("s4")]
    [-8, -7, -1, 0, 1, 7]
    """
    row = ELEMENT_TYPES[element_type]
    if row.kind == "pred":
        return b"\0", b"\1"
    size = element_bytes(row)
    if row.is_integral:
        numbers = sorted({row.minimum, row.minimum + 1, min(1, row.maximum), 0, max(-1, row.minimum), row.maximum})
        return tuple([number.to_bytes(size, "little", signed=row.kind == "signed") for number in numbers])
    if row.float_format is None:
        part = PART_TYPES[element_type]
        real = [data for data in special_values(part) if not isnan(decode_floats(part, data)[0])]
        # In HLO text, complex numbers have only quiet NaNs, and XLA reads a number whose real part
        # is NaN as a number whose parts are both NaN.
        return tuple([x + y for x in real for y in (*real, encode_floats(part, [nan]))])
    mantissa, largest = row.float_format.mantissa_bits, (1 << row.float_format.exponent_bits) - 1
    codes = {0, 1, (1 << mantissa) - 1, 1 << mantissa, row.float_format.bias << mantissa}
    codes |= {(largest << mantissa) + offset for offset in (-1, 0, 1, 1 << max(mantissa - 1, 0), (1 << mantissa) - 1)}
    signs = (0, 1 << (row.bits - 1)) if row.float_format.signed else (0,)
    return tuple([(code | sign).to_bytes(size, "little") for code in sorted(codes) if code < (1 << row.bits) for sign in signs])
