"""What recipes of random modules are made of: values of the open computation, new values of a shape, and bodies of computations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random
from typing import Any, TypeVar

from hlotool.builder.builder import Builder
from hlotool.builder.op import Op
from hlotool.errors import BuilderError
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["ELEMENTWISE_OF_TWO", "TYPES", "Generator", "Recipe"]

T = TypeVar("T")

TYPES = ("f32", "s32", "pred", "bf16", "f16", "f64", "s8", "u8", "u32", "s64", "u64", "s16", "u16", "c64", "s4", "u4", "f8e4m3fn", "f8e5m2")
"""The element types of values, the frequent ones first."""
_MOST_ELEMENTS = 200
_DEEPEST = 3

Recipe = Callable[["Generator"], Any]
"""Adds instructions; what it makes becomes a value that later ones may read."""

ELEMENTWISE_OF_TWO = {
    "float": ("add", "sub", "mul", "div", "max", "min", "pow", "rem", "atan2"),
    "complex": ("add", "sub", "mul"),
    "signed": ("add", "sub", "mul", "max", "min", "and_", "or_", "xor", "div", "rem", "shift_left", "shift_right_arithmetic"),
    "unsigned": ("add", "sub", "mul", "max", "min", "and_", "or_", "xor", "div", "rem", "shift_right_logical"),
    "pred": ("and_", "or_", "xor", "max", "min"),
}
"""Methods with two operands and a result of one type, by its kind."""


class Generator:
    """Draws the instructions of one module. `values` are those of the open computation that may be operands."""

    def __init__(self, seed: int, types: Sequence[str]) -> None:
        self.random = Random(seed)
        self.builder = Builder(f"random_{seed}", source_lines=False)
        self.types = tuple(types)
        self.values: list[Op] = []
        self.depth = 0
        self._parameters = 0

    def choice(self, items: Sequence[T]) -> T:
        return self.random.choice(items)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def kind(self, x: Op | Shape) -> str:
        """Whether elements are float, complex, signed, unsigned or pred; empty for what is no array."""
        shape = x.shape if isinstance(x, Op) else x
        return ELEMENT_TYPES[shape.element_type].kind if shape.is_array else ""

    # ---- shapes and values ------------------------------------------------------------------------------------------------

    def sizes(self, rank: int | None = None) -> tuple[int, ...]:
        """The sizes of an array: mostly 2 to 4, sometimes 0 or 1."""
        count = self.choice((0, 1, 1, 2, 2, 3)) if rank is None else rank
        while True:
            sizes = tuple([self.choice((2, 3, 4, 3, 2, 1 if self.chance(0.7) else 0)) for _ in range(count)])
            if prod(sizes) <= _MOST_ELEMENTS:
                return sizes

    def element_type(self, *kinds: str) -> str:
        """An element type, of these kinds if there are any; the frequent ones more often."""
        of_kinds = [name for name in self.types if not kinds or ELEMENT_TYPES[name].kind in kinds]
        if not of_kinds:
            return {"float": "f32", "complex": "c64", "signed": "s32", "unsigned": "u32"}.get(kinds[0], kinds[0])
        return of_kinds[min(int(self.random.expovariate(0.4)), len(of_kinds) - 1)]

    def array(self, *kinds: str, rank: int | None = None, least: int = 0) -> Op:
        """An array of one of the kinds: a value that exists, or a new one; of this rank, or of at least the least."""
        fitting = [
            x
            for x in self.values
            if x.shape.is_array and (not kinds or self.kind(x) in kinds) and (x.shape.rank == rank if rank is not None else x.shape.rank >= least)
        ]
        if fitting and self.chance(0.8):
            return self.choice(fitting)
        return self.new(self.element_type(*kinds), self.sizes(rank if rank is not None else max(least, len(self.sizes()))))

    def new(self, element_type: str, sizes: Sequence[int]) -> Op:
        """A new array: a parameter in the entry computation, else a constant or an iota."""
        shape = array_shape(element_type, tuple(sizes))
        if not self.depth and self.chance(0.5):
            self._parameters += 1
            return self.keep(self.builder.parameter(self._parameters - 1, shape, f"p{self._parameters - 1}"))
        kind = ELEMENT_TYPES[element_type].kind
        if sizes and kind in ("float", "signed", "unsigned") and self.chance(0.3):
            return self.keep(self.builder.iota(shape, self.random.randrange(len(sizes))))
        number = self.scalar(element_type)
        return self.keep(number if not sizes else self.builder.broadcast(number, sizes))

    def scalar(self, element_type: str) -> Op:
        """A constant."""
        kind = ELEMENT_TYPES[element_type].kind
        numbers: dict[str, Any] = {
            "pred": self.chance(0.5),
            "float": self.choice((0.0, 1.0, -1.5, 0.25, 2.0, -0.0)),
            "complex": self.choice((1 + 0j, 0.5 - 1j)),
            "signed": self.choice((0, 1, -1, 2, 3, -4)),
        }
        return self.builder.constant(numbers.get(kind, self.choice((0, 1, 2, 5))), element_type)

    def like(self, x: Op, element_type: str | None = None) -> Op:
        """An array with the sizes of another one, and with its element type unless one is named."""
        wanted = element_type or x.shape.element_type
        sizes = x.shape.dimensions
        fitting = [y for y in self.values if y.shape.is_array and y.shape.element_type == wanted and y.shape.dimensions == sizes]
        return self.choice(fitting) if fitting and self.chance(0.8) else self.new(wanted, sizes)

    def index(self, limit: int) -> Op:
        """A number that is an index, mostly one in range."""
        return self.builder.constant(self.random.randint(-1, limit), "s32")

    def keep(self, x: Op) -> Op:
        """Makes a result an operand of later instructions, with the elements of tuples."""
        self.values += list(x) if x.shape.is_tuple else [x]
        return x

    def axis(self, x: Op) -> int:
        return self.random.randrange(x.shape.rank)

    def of_shape(self, shape: Shape) -> Op:
        """A value of exactly this shape."""
        if shape.is_tuple:
            return self.builder.tuple([self.of_shape(element) for element in shape.elements])
        fitting = [x for x in self.values if x.shape == shape]
        return self.choice(fitting) if fitting else self.new(shape.element_type, shape.dimensions)

    # ---- computations -------------------------------------------------------------------------------------------------------

    @property
    def may_nest(self) -> bool:
        return self.depth < _DEEPEST

    def body(self, recipes: Sequence[Recipe], result: Shape | None = None) -> Callable[..., Op]:
        """A function of handles that adds a few instructions by recipes; its result has this shape, or is the last one."""

        def computed(*parameters: Op) -> Op:
            outer, self.values = self.values, []
            self.depth += 1
            for parameter in parameters:
                self.keep(parameter)
            for _ in range(self.random.randint(1, 3)):
                self.add(self.choice(recipes))
            try:
                return self.of_shape(result) if result is not None else self.choice(self.values[-3:]) if self.values else self.scalar("s32")
            finally:
                self.values = outer
                self.depth -= 1

        return computed

    def reducer(self, element_type: str) -> Callable[[Op, Op], Op]:
        """A method that reduces numbers of a type."""
        of_kind = {"pred": ("and_", "or_"), "float": ("add", "max", "min", "mul"), "complex": ("add", "mul")}
        names = of_kind.get(ELEMENT_TYPES[element_type].kind, ("add", "max", "min", "and_", "or_", "xor"))
        method: Callable[[Op, Op], Op] = getattr(self.builder, self.choice(names))
        return method

    def of_scalars(self, x: Op, y: Op) -> Op:
        """An operation on two numbers of one type, with a result of this type."""
        method = self.choice(ELEMENTWISE_OF_TWO[self.kind(x)])
        result: Op = getattr(self.builder, method)(x, y)
        return result

    # ---- instructions ---------------------------------------------------------------------------------------------------------

    def add(self, recipe: Recipe) -> bool:
        """Follows a recipe; returns whether its instructions are valid. What it has made until then stays, unused."""
        try:
            result = recipe(self)
        except BuilderError:
            return False
        for x in result if isinstance(result, list | tuple) else [result]:
            if isinstance(x, Op):
                self.keep(x)
        return True
