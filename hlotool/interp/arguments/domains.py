"""Finds the domains of parameters: limits and other properties that their uses imply.

Unrecognized uses imply nothing. `interp.drawing` draws random values from the domains.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from heapq import merge

from hlotool.analysis.simplify import constant_value
from hlotool.interp.arrays.dtypes import NUMBERS
from hlotool.interp.arrays.random_arrays import Domain
from hlotool.interp.failures import broken_rule
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.traits import CONVERTS, MOVES, REARRANGES, RETURNS, STRUCTURAL
from hlotool.shapes.shape import indexed_leaves

__all__ = ["domains"]

Leaf = tuple[int, ...]
"""The indices that lead to a leaf of a tuple, from the outermost tuple inward; () for an array."""


class _Use:
    """A use of a value that equals `factor * x + offset` for a leaf `x` of a parameter."""

    __slots__ = ("factor", "leaf", "offset", "operand", "user")

    def __init__(self, user: Instruction, operand: int, leaf: Leaf, factor: float, offset: float) -> None:
        self.user = user
        self.operand = operand
        self.leaf = leaf
        self.factor = factor
        self.offset = offset


_MAX_USES = 1_000
"""The maximum number of uses examined per leaf of a parameter, starting with the nearest uses."""
_SAME_NUMBERS = (MOVES, CONVERTS, RETURNS, STRUCTURAL)
"""Traits of opcodes whose results contain the same numbers as their operands."""


def domains(module: Module) -> dict[tuple[int, int], Domain]:
    """Returns the domain of each leaf of the entry parameters, by parameter and leaf number.

    >>> import hlotool
    >>> module = hlotool.parse('''ENTRY e { x = f32[9] parameter(0) i = s32[] parameter(1) r = f32[9] log(x)
    ...   ROOT s = f32[2] dynamic-slice(r, i), dynamic_slice_sizes={2} }''')
    >>> [domain.text for domain in domains(module).values()]
    ["positive: operand of 'log' r", "0 to 7: start index of 'dynamic-slice' s"]
    """
    walk = _Walk(module)
    by_leaf = {}
    for number, parameter in enumerate(module.entry.parameters):
        for k, (leaf, shape) in enumerate(indexed_leaves(parameter.shape)):
            by_leaf[number, k] = walk.domain_of(parameter, leaf) if shape.is_array else Domain()
    return by_leaf


def _apply(rule: Rule, domain: Domain, use: _Use) -> None:
    try:
        rule(domain, use)
    except (LookupError, TypeError, ValueError):
        # The module may be unverified. An instruction that breaks a rule of its op implies nothing
        # about its operands.
        if broken_rule(use.user) is None:
            raise


class _Walk:
    """A walk from parameters through calls, and through instructions that move or scale numbers."""

    def __init__(self, module: Module) -> None:
        self.users: dict[Instruction, list[tuple[int, Instruction, int]]] = {}
        # The get-tuple-element users of each element. An element of a large tuple has only a few.
        self.takers: dict[tuple[Instruction, int], list[tuple[int, Instruction, int]]] = {}
        self.parameters: dict[Computation, list[Instruction]] = {}
        self.callers: dict[Computation, list[Instruction]] = {}
        self.home: dict[Instruction, Computation] = {}
        for computation in module.computations:
            for x in computation.instructions:
                self.home[x] = computation
                for k, operand in enumerate(x.operands):
                    if x.opcode == "get-tuple-element":
                        self.takers.setdefault((operand, x.attributes["index"]), []).append((len(self.home), x, k))
                    else:
                        self.users.setdefault(operand, []).append((len(self.home), x, k))
                for called in x.called:
                    self.callers.setdefault(called, []).append(x)

    def domain_of(self, parameter: Instruction, leaf: Leaf) -> Domain:
        domain = Domain()
        queue = deque([(parameter, leaf, 1.0, 0.0)])
        seen = {(parameter, leaf)}
        left = _MAX_USES
        while queue and left:
            value, leaf, factor, offset = queue.popleft()
            for user, operand in self._users(value, leaf):
                left -= 1
                if left < 0:
                    break
                use = _Use(user, operand, leaf, factor, offset)
                rule = _RULES.get(user.opcode)
                if rule is not None:
                    _apply(rule, domain, use)
                for step in self._next(use):
                    if step[:2] not in seen:
                        seen.add(step[:2])
                        queue.append(step)
            if value is self.home[value].root:
                for caller in self.callers.get(self.home[value], ()):
                    if RETURNS in caller.op.traits and caller.opcode != "while" and (caller, leaf) not in seen:
                        seen.add((caller, leaf))
                        queue.append((caller, leaf, factor, offset))
            if left <= 0:
                break
        return domain

    def _users(self, value: Instruction, leaf: Leaf) -> Iterator[tuple[Instruction, int]]:
        """Returns the users of a leaf in textual order, each with the operand number."""
        takers = self.takers.get((value, leaf[0]), ()) if leaf else ()
        return ((x, k) for _, x, k in merge(self.users.get(value, ()), takers))

    def _parameters_for(self, x: Instruction, operand: int) -> Iterator[Instruction]:
        """Yields the parameters of called computations that receive an operand."""
        if x.opcode == "conditional":
            branches = [called for name in ("true_computation", "false_computation") if (called := x.attributes.get(name)) is not None]
            branches = branches or list(x.attributes.get("branch_computations", ()))
            if 0 < operand <= len(branches):
                yield from branches[operand - 1].parameters
            return
        for called in x.called:
            parameters = self.parameters.get(called)
            if parameters is None:
                parameters = self.parameters[called] = list(called.parameters)
            if operand < len(parameters):
                yield parameters[operand]

    def _next(self, use: _Use) -> Iterator[tuple[Instruction, Leaf, float, float]]:
        """Yields the values to which a use passes its numbers on.

        Each comes with the leaf that contains the numbers, their factor and their offset.
        """
        x, leaf, factor, offset = use.user, use.leaf, use.factor, use.offset
        changed = _affine(use)
        if changed is not None:
            yield x, leaf, *changed
        if x.op.traits.isdisjoint(_SAME_NUMBERS):
            return
        if x.opcode == "tuple":
            yield x, (use.operand, *leaf), factor, offset
        elif x.opcode == "get-tuple-element":
            if leaf[:1] == (x.attributes["index"],):
                yield x, leaf[1:], factor, offset
        elif RETURNS in x.op.traits:
            yield from ((p, leaf, factor, offset) for p in self._parameters_for(x, use.operand))
        elif _is_data(x, use.operand):
            yield x, leaf, factor, offset


_DATA_OPERANDS: dict[str, tuple[int, ...]] = {"clamp": (1,), "select": (1, 2), "sort": (0,)}


def _is_data(x: Instruction, operand: int) -> bool:
    positions = (0,) if REARRANGES in x.op.traits else _DATA_OPERANDS.get(x.opcode)
    return (positions is None or operand in positions) and not x.shape.is_tuple


def _constant(x: Instruction) -> float | None:
    """Returns the value of all elements of a constant, or None if it is unknown or not uniform."""
    value = constant_value(x)
    return None if value is None else float(value)


def _affine(use: _Use) -> tuple[float, float] | None:
    """Returns the factor and offset after a sum or product with a constant, or after a negation.

    Returns None for other uses.
    """
    x, factor, offset = use.user, use.factor, use.offset
    if x.opcode == "negate":
        return -factor, -offset
    if x.opcode not in ("add", "subtract", "multiply") or x.operands[0] is x.operands[1]:
        return None
    constant = _constant(x.operands[1 - use.operand])
    if constant is None or not math.isfinite(constant):
        return None
    if x.opcode == "multiply":
        return (factor * constant, offset * constant) if constant else None
    if x.opcode == "add":
        return factor, offset + constant
    return (factor, offset - constant) if use.operand == 0 else (-factor, constant - offset)


# ---- rules -------------------------------------------------------------------------------------

Rule = Callable[[Domain, _Use], None]

_CLAMP_MARGIN = 6


def _limit(domain: Domain, use: _Use, least: float | None, greatest: float | None, reason: str) -> None:
    """Converts the limits of the used value to limits of the parameter."""
    low, high = (None if bound is None else (bound - use.offset) / use.factor for bound in (least, greatest))
    domain.narrow(*((low, high) if use.factor > 0 else (high, low)), reason)


def _describe_use(use: _Use, what: str) -> str:
    return f"{what} '{use.user.opcode}' {use.user.name}"


def _bounds(least: float | None, greatest: float | None, operand: int = 0) -> Rule:
    def rule(domain: Domain, use: _Use) -> None:
        if use.operand == operand and NUMBERS[use.user.shape.element_type].kind == "float":
            _limit(domain, use, least, greatest, _describe_use(use, "operand of"))

    return rule


def _clamp(domain: Domain, use: _Use) -> None:
    """Keeps the lower limit of a clamp below the upper limit.

    If the limits cross, every result is the upper limit, regardless of the operand.
    """
    if use.operand == 1:
        return
    other = _constant(use.user.operands[2 - use.operand])
    other = other if other is not None and math.isfinite(other) else 0
    if use.operand == 0:
        _limit(domain, use, other - _CLAMP_MARGIN, other - 1, _describe_use(use, "lower limit of"))
    else:
        _limit(domain, use, other + 1, other + _CLAMP_MARGIN, _describe_use(use, "upper limit of"))


def _variance(domain: Domain, use: _Use) -> None:
    if use.operand == (4 if use.user.opcode == "batch-norm-inference" else 3):
        _limit(domain, use, 0, None, _describe_use(use, "variance of"))


def _divisor(domain: Domain, use: _Use) -> None:
    if use.operand == 1 and use.offset == 0:
        domain.mark("nonzero", _describe_use(use, "divisor of"))


def _shift(domain: Domain, use: _Use) -> None:
    if use.operand == 1:
        _limit(domain, use, 0, NUMBERS[use.user.shape.element_type].bits - 1, _describe_use(use, "shift amount of"))


def _dynamic_slice(domain: Domain, use: _Use) -> None:
    x = use.user
    first = 2 if x.opcode == "dynamic-update-slice" else 1
    sizes = x.operands[1].shape.dimensions if first == 2 else x.attributes["dynamic_slice_sizes"]
    limits = [bound - size for bound, size in zip(x.operands[0].shape.dimensions, sizes, strict=True)]
    if use.operand < first or not limits:
        return
    at = x.operands[use.operand].shape
    _limit(domain, use, 0, min(limits) if at.rank else limits[use.operand - first], _describe_use(use, "start index of"))


def _gather(domain: Domain, use: _Use) -> None:
    x = use.user
    if use.operand != 1:
        return
    sizes = x.attributes["slice_sizes"]
    limits = [x.operands[0].shape.dimensions[k] - sizes[k] for k in x.attributes["start_index_map"]]
    _indices(domain, use, limits)


def _scatter(domain: Domain, use: _Use) -> None:
    x = use.user
    count = len(x.operands) // 2
    if use.operand != count:
        return
    operand, update = x.operands[0].shape, x.operands[count + 1].shape
    attributes = x.attributes
    hidden = (*attributes.get("inserted_window_dims", ()), *attributes.get("input_batching_dims", ()))
    window = [k for k in range(operand.rank) if k not in hidden]
    # In an unverified module, the two lists may have different lengths.
    lengths = dict(zip(window, (update.dimensions[k] for k in attributes.get("update_window_dims", ())), strict=False))
    limits = [operand.dimensions[k] - lengths.get(k, 1) for k in attributes["scatter_dims_to_operand_dims"]]
    _indices(domain, use, limits)


def _indices(domain: Domain, use: _Use, limits: list[int]) -> None:
    """Applies the smallest limit of the indexed dimensions to all indices."""
    if not limits:
        return
    _limit(domain, use, 0, max(0, min(limits)), _describe_use(use, "index of"))
    for flag, attribute in (("is_sorted", "indices_are_sorted"), ("is_unique", "unique_indices")):
        if use.user.attributes.get(attribute):
            domain.mark(flag, f"{attribute} of '{use.user.opcode}' {use.user.name}")


def _one_hot(domain: Domain, use: _Use) -> None:
    """Limits numbers that are compared with 0, 1, 2, ..., as in a one-hot encoding."""
    other = use.user.operands[1 - use.operand]
    for _ in range(8):
        if REARRANGES not in other.op.traits and CONVERTS not in other.op.traits:
            break
        other = other.operands[0]
    if other.opcode == "iota" and use.user.attributes.get("direction") == "EQ":
        size = other.shape.dimensions[other.attributes["iota_dimension"]]
        _limit(domain, use, 0, max(0, size - 1), _describe_use(use, "compared with 0, 1, 2, ... by"))


def _weights(domain: Domain, use: _Use) -> None:
    """Scales weights so that sums of products are about as large as the other factors."""
    x = use.user
    weights = x.operands[1].shape
    if use.operand != 1 or not weights.is_array or NUMBERS[weights.element_type].kind != "float":
        return
    if x.opcode == "convolution":
        terms = math.prod(weights.dimensions) // max(1, weights.dimensions[x.attributes["dim_labels"].kernel_output_feature])
    else:
        terms = math.prod(weights.dimensions[k] for k in x.attributes.get("rhs_contracting_dims", ()))
    if terms > 1 and use.offset == 0:
        domain.shrink(1 / math.sqrt(terms), f"{_describe_use(use, 'weights of')}, which adds {terms} products per element")


_RULES: dict[str, Rule] = {
    "acos": _bounds(-1, 1), "acosh": _bounds(1, None), "asin": _bounds(-1, 1), "atanh": _bounds(-1, 1),
    "cosh": _bounds(-4, 4), "exponential": _bounds(-4, 4), "exponential-minus-one": _bounds(-4, 4), "sinh": _bounds(-4, 4),
    "log": _bounds(0, None), "log-plus-one": _bounds(-1, None), "rsqrt": _bounds(0, None), "sqrt": _bounds(0, None), "power": _bounds(0, None),
    "batch-norm-inference": _variance, "batch-norm-grad": _variance, "divide": _divisor, "remainder": _divisor,
    "shift-left": _shift, "shift-right-arithmetic": _shift, "shift-right-logical": _shift,
    "dynamic-slice": _dynamic_slice, "dynamic-update-slice": _dynamic_slice, "gather": _gather, "scatter": _scatter,
    "clamp": _clamp, "compare": _one_hot, "convolution": _weights, "dot": _weights,
}  # fmt: skip
"""The rules, by the opcode of the user."""
