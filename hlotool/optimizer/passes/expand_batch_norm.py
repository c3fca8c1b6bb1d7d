"""Expands batch normalization into elementwise operations and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from hlotool.ir.edit import Rewriter
from hlotool.ir.model import Computation, Instruction
from hlotool.optimizer.context import Context
from hlotool.optimizer.dimensions import is_plain
from hlotool.optimizer.passes.expand import expand
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["expand_batch_norms"]

# Sums in narrower types would soon overflow to infinity.
_TYPES = frozenset({"f16", "bf16", "f32", "f64"})


def expand_batch_norms(context: Context) -> bool:
    """batch-norm-inference(a, ...) -> add(multiply(subtract(a, m), multiply(s, rsqrt(v + e))), o)

    Here, `m` is the mean, `s` the scale, `v` the variance, `e` epsilon and `o` the offset. Training
    and gradients are expanded in the same way, with sums for the mean and the variance. The pass
    requires --fast-math=afn, since rounding may change.
    """
    # The computations that add two elements, by element type.
    reducers: dict[str, Computation] = {}
    expansions = {f"batch-norm-{kind}": partial(_expand, reducers, expansion) for kind, expansion in _EXPANSIONS.items()}
    changed = expand(context, "expand-batch-norm", expansions, frozenset({"afn"}))
    for reducer in reducers.values():
        if not context.rewriter.caller_count(reducer):
            context.rewriter.erase_computation(reducer)
    return changed


class _Features:
    """Operations on an array, and on vectors with one number per feature."""

    def __init__(self, reducers: dict[str, Computation], x: Instruction, rewriter: PatternRewriter) -> None:
        self.reducers = reducers
        self.rewriter = rewriter
        self.operand = x.operands[0]
        self.index: int = x.attributes["feature_index"]
        self.epsilon: float = x.attributes["epsilon"]
        shape = self.operand.shape
        self.vector = array_shape(shape.element_type, (shape.dimensions[self.index],))
        self.others = tuple(k for k in range(len(shape.dimensions)) if k != self.index)
        # The number of elements per feature.
        self.count = prod(shape.dimensions[k] for k in self.others)

    def apply(self, opcode: str, *operands: Instruction) -> Instruction:
        return self.rewriter.add(opcode, operands, operands[0].shape)

    def wide(self, vector: Instruction) -> Instruction:
        """Broadcasts a vector, so that each element gets the number of its feature."""
        return self.rewriter.add("broadcast", [vector], self.operand.shape, dimensions=(self.index,))

    def inverse_deviation(self, variance: Instruction) -> Instruction:
        """Returns 1 / sqrt(variance + epsilon)."""
        return self.apply("rsqrt", self.apply("add", variance, self.number(self.epsilon)))

    def number(self, number: float) -> Instruction:
        return self.rewriter.number(self.vector, number)

    def normalized(self, center: Instruction, factor: Instruction, offset: Instruction) -> Instruction:
        centered = self.apply("subtract", self.operand, self.wide(center))
        return self.apply("add", self.apply("multiply", centered, self.wide(factor)), self.wide(offset))

    def sum(self, x: Instruction) -> Instruction:
        """Returns the sum of the elements of each feature."""
        scalar = array_shape(self.vector.element_type)
        reducer = self.reducers.get(scalar.element_type)
        if reducer is None:
            reducer = self.reducers[scalar.element_type] = _addition(self.rewriter.module_rewriter, scalar)
        zero = self.rewriter.number(scalar, 0)
        return self.rewriter.add("reduce", [x, zero], self.vector, dimensions=self.others, to_apply=reducer)

    def mean(self, x: Instruction) -> Instruction:
        return self.apply("divide", self.sum(x), self.number(self.count))


def _addition(rewriter: Rewriter, scalar: Shape) -> Computation:
    computation = rewriter.add_computation("sum")
    parameters = [rewriter.insert("parameter", into=computation, name=name, shape=scalar, immediate=k) for k, name in enumerate(("lhs", "rhs"))]
    rewriter.set_root(rewriter.insert("add", parameters, into=computation, name="total"))
    # Shape inference of callers reads the parameters of the computation.
    rewriter.flush()
    return computation


def _expand(
    reducers: dict[str, Computation], expansion: Callable[[_Features, Sequence[Instruction]], Instruction], x: Instruction, rewriter: PatternRewriter
) -> Instruction | None:
    """Expands an instruction if all operands are static and have the same floating-point type."""
    element_type = x.operands[0].shape.element_type
    if element_type not in _TYPES or not all(is_plain(y.shape) and y.shape.element_type == element_type for y in x.operands):
        return None
    return expansion(_Features(reducers, x, rewriter), x.operands)


def _inference(features: _Features, operands: Sequence[Instruction]) -> Instruction:
    _, scale, offset, mean, variance = operands
    return features.normalized(mean, features.apply("multiply", scale, features.inverse_deviation(variance)), offset)


def _training(features: _Features, operands: Sequence[Instruction]) -> Instruction:
    a, scale, offset = operands
    mean = features.mean(a)
    squares = features.mean(features.apply("multiply", a, a))
    variance = features.apply("subtract", squares, features.apply("multiply", mean, mean))
    normal = features.normalized(mean, features.apply("multiply", scale, features.inverse_deviation(variance)), offset)
    return features.rewriter.add("tuple", [normal, mean, variance])


def _gradient(features: _Features, operands: Sequence[Instruction]) -> Instruction:
    a, scale, mean, variance, slope = operands
    factor = features.inverse_deviation(variance)
    centered = features.apply("subtract", a, features.wide(mean))
    offset_gradient = features.sum(slope)
    products = features.sum(features.apply("multiply", slope, centered))
    scale_gradient = features.apply("multiply", products, factor)
    # The contributions of the mean and the variance, which depend on all elements.
    share = features.apply("divide", features.apply("multiply", scale_gradient, factor), features.number(features.count))
    rest = features.apply("subtract", slope, features.wide(features.apply("divide", offset_gradient, features.number(features.count))))
    rest = features.apply("subtract", rest, features.apply("multiply", centered, features.wide(share)))
    operand_gradient = features.apply("multiply", rest, features.wide(features.apply("multiply", scale, factor)))
    return features.rewriter.add("tuple", [operand_gradient, scale_gradient, offset_gradient])


_EXPANSIONS = {"inference": _inference, "training": _training, "grad": _gradient}
