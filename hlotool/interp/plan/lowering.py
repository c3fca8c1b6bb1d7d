"""Lowers computations to regions.

Inlines calls and fusions, unpacks tuples, folds constants, and computes repeated operations only
once. Raises CannotPlan for a module that cannot be lowered because its declared shapes are
wrong or it is nested too deeply; the reference executor runs such a module and reports the error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from itertools import accumulate
from math import prod
from typing import Any, TypeAlias

import numpy as np

from hlotool.analysis.loops import invariant_elements
from hlotool.analysis.simplify import same_value
from hlotool.errors import HlotoolError
from hlotool.interp.arrays.literal_values import literal_value
from hlotool.interp.arrays.values import leaves, with_leaves
from hlotool.interp.engine.binding import Binding
from hlotool.interp.engine.program import Programs
from hlotool.interp.failures import is_as_inferred, may_fail
from hlotool.interp.plan.errors import CannotPlan
from hlotool.interp.plan.operations import Branches, Call, Leaves, Loop, Operation, Region, Variable
from hlotool.ir.model import Computation, Instruction
from hlotool.memo import Memo
from hlotool.opdefs.algebra import NO_ALGEBRA
from hlotool.opdefs.traits import IDENTITY
from hlotool.shapes.shape import Shape

__all__ = ["MAX_FOLDED_ELEMENTS", "CallGraph", "Lowering"]

MAX_FOLDED_ELEMENTS = 1 << 16
"""Maximum number of elements of each operand, and of the result, of a folded operation."""
_MAX_FOLDED_TOTAL = 1 << 22
_POWER = "power"
"""An opcode that is never simplified.

For some floats, `x ** 1` in NumPy differs from `x` in the last bit.
"""
_INLINED_SIZE = 64
_INCREASE, _MIN_INCREASE = 16, 10_000
"""Limit on the size of generated code: `_MIN_INCREASE + _INCREASE * instructions of the module`.

If several loops share a body, it is generated for each of them.
"""
_MAX_REGION_DEPTH = 12
"""Maximum depth of nested regions; Python allows 20 nested blocks."""
_MAX_CALL_DEPTH = 60


class CallGraph:
    """The call graph below an entry computation.

    It contains the number of calls to each computation, and the size of each computation including
    all of its callees.
    """

    def __init__(self, entry: Computation) -> None:
        self.calls: Counter[Computation] = Counter()
        self.sizes: dict[Computation, int] = {}
        self.waiting: set[Computation] = set()
        """The computations in which a device may have to wait for other devices or for the host."""
        depths: dict[Computation, int] = {}
        stack: list[tuple[Computation, bool]] = [(entry, False)]
        while stack:
            computation, is_ready = stack.pop()
            if computation in self.sizes:
                continue
            called = [c for x in computation.instructions for c in x.called]
            if not is_ready:
                stack.append((computation, True))
                stack += [(c, False) for c in called]
                continue
            self.calls.update(called)
            if not self.waiting.isdisjoint(called) or any(map(_may_wait, computation.instructions)):
                self.waiting.add(computation)
            self.sizes[computation] = len(computation.instructions) + sum(self.sizes.get(c, 0) for c in called)
            depths[computation] = 1 + max((depths.get(c, 0) for c in called), default=0)
        if depths[entry] > _MAX_CALL_DEPTH:
            raise CannotPlan(f"calls are nested {depths[entry]} deep")

    def is_inlined(self, computation: Computation) -> bool:
        """Returns whether a computation is inlined into its callers.

        Other computations get separate functions.
        """
        return self.calls[computation] <= 1 or self.sizes.get(computation, 0) <= _INLINED_SIZE


def _may_wait(x: Instruction) -> bool:
    kernel = x.op.kernel
    return kernel is not None and kernel.suspends and "device" in kernel.facts


class _Request:
    """A request, yielded by a lowering, to lower a computation into a region.

    The leaves of the result are sent back.
    """

    __slots__ = ("arguments", "computation", "known", "region")

    def __init__(self, computation: Computation, arguments: Sequence[Leaves], region: Region, known: _Known) -> None:
        self.computation = computation
        self.arguments = arguments
        self.region = region
        self.known = known


class _Known:
    """A value table for common subexpressions, with one scope per region."""

    __slots__ = ("depth", "operations", "outer")

    def __init__(self, outer: _Known | None = None) -> None:
        self.outer = outer
        self.operations: dict[Any, Leaves] = {}
        self.depth: int = 0 if outer is None else outer.depth + 1

    def get(self, key: Any) -> Leaves | None:
        level: _Known | None = self
        while level is not None:
            known = level.operations.get(key)
            if known is not None:
                return known
            level = level.outer
        return None


_Run: TypeAlias = Generator[_Request, Leaves, Leaves]
_Handler: TypeAlias = "Callable[[Lowering, _Scope, Instruction, list[Leaves]], _Run]"


class _Scope:
    """The insertion point of operations: a region, and the values known there."""

    __slots__ = ("known", "region")

    def __init__(self, region: Region, known: _Known) -> None:
        self.region = region
        self.known = known


class Lowering:
    """The lowering of a module's computations, for runs with the same options.

    >>> import hlotool
    >>> from hlotool.interp.run_options import RunOptions
    >>> text = "f { a = f32[] parameter(0) ROOT b = f32[] negate(a) } ENTRY e { x = f32[] parameter(0) ROOT r = f32[] call(x), to_apply=f }"
    >>> module = hlotool.parse(text)
    >>> region = Lowering(Programs(RunOptions()), CallGraph(module.entry)).region(module.entry)
    >>> [operation.instruction.opcode for operation in region.operations]
    ['negate']
    """

    def __init__(self, programs: Programs, graph: CallGraph) -> None:
        self.options = programs.options
        self.graph = graph
        self.bindings = programs.bindings
        self._programs = programs
        self._offsets: Memo[Shape, list[int]] = Memo(_offsets_of)
        self._numbers: dict[tuple[str, bytes], Leaves] = {}
        self._foldable = _MAX_FOLDED_TOTAL
        self._most_instructions = _MIN_INCREASE + _INCREASE * sum(len(computation.instructions) for computation in graph.sizes)
        self._left = 0

    def region(self, computation: Computation) -> Region:
        """Returns the region of a computation, with one parameter for each leaf of a parameter."""
        self._left = self._most_instructions
        region = Region()
        arguments = [variables_of(parameter.shape) for parameter in computation.parameters]
        region.parameters = tuple([leaf for argument in arguments for leaf in argument])
        region.results = self._lower(_Request(computation, arguments, region, _Known()))
        return region

    def _lower(self, request: _Request) -> Leaves:
        """Runs a lowering, and the lowerings that it requests, on an explicit stack."""
        stack = [self._computation(request)]
        sent: Any = None
        while stack:
            try:
                wanted = stack[-1].send(sent)
            except StopIteration as end:
                stack.pop()
                sent = end.value
                continue
            stack.append(self._computation(wanted))
            sent = None
        result: Leaves = sent
        return result

    def _computation(self, request: _Request) -> _Run:
        computation, scope = request.computation, _Scope(request.region, request.known)
        self._left -= len(computation.instructions)
        if self._left < 0:
            raise CannotPlan("loops share so many computations that the generated code would be much longer than the module")
        parameters = computation.parameters
        if len(parameters) != len(request.arguments):
            raise CannotPlan(f"'{computation.name}' is called with the wrong number of arguments, {len(request.arguments)}")
        environment: dict[Instruction, Leaves] = {}
        for parameter, argument in zip(parameters, request.arguments, strict=True):
            environment[parameter] = as_declared(argument, parameter.shape)
        for k, x in self._instructions_to_compute(computation):
            if x in environment:
                continue
            if x.literal is not None:
                environment[x] = self._constant(x, k)
                continue
            operands = [environment[operand] for operand in x.operands]
            lower = _LOWERINGS.get(x.opcode)
            if lower is not None:
                environment[x] = as_declared((yield from lower(self, scope, x, operands)), x.shape)
            else:
                environment[x] = self.operation(scope, x, operands)
        return environment[computation.root]

    def _instructions_to_compute(self, computation: Computation) -> list[tuple[int, Instruction]]:
        """Returns the instructions to compute, in a valid order, each with a random-stream number."""
        try:
            return self._programs.order[computation]
        except ValueError:
            raise CannotPlan(f"the instructions of '{computation.name}' depend on each other in a cycle") from None

    def _constant(self, x: Instruction, stream: int) -> Leaves:
        assert x.literal is not None
        try:
            return self._share_scalar(x.shape, constants_of(x.shape, literal_value(x.literal, self.options, stream)))
        except (MemoryError, ValueError, HlotoolError) as error:
            raise CannotPlan(f"the constant '{x.name}' cannot be read") from error

    def _share_scalar(self, shape: Shape, constant_leaves: Leaves) -> Leaves:
        """Returns the variables of a literal; scalars with equal bits share their variables.

        Folded results must not share variables: they have operations as sources, and an operation
        could then become its own source.
        """
        if not shape.is_array or shape.dimensions:
            return constant_leaves
        return self._numbers.setdefault((shape.element_type, constant_leaves[0].constant.tobytes()), constant_leaves)

    def range_of(self, shape: Shape, index: int) -> tuple[int, int]:
        """Returns the index range of the leaves of one element of a tuple."""
        if not 0 <= index < len(shape.elements):
            raise CannotPlan(f"a tuple has no element {index}")
        offsets = self._offsets[shape]
        return offsets[index], offsets[index + 1]

    # ---- operations with kernels ----------------------------------------------------------------

    def operation(self, scope: _Scope, x: Instruction, operands: Sequence[Leaves]) -> Leaves:
        """Returns the results of an instruction's kernel.

        The results belong to a new operation or to an earlier operation that computes the same
        values, or they are constants or the leaves of an operand.
        """
        binding = self.bindings[x]
        if IDENTITY in x.op.traits and len(operands) == 1 and not x.op.kernel.suspends and _has_shape(operands[0], x.shape):
            return operands[0]
        unchanged = _unchanged_operand(x)
        if unchanged is not None and _has_shape(operands[unchanged], x.shape):
            return operands[unchanged]
        is_repeatable = x.op.is_pure and not binding.per_call and "instruction_key" not in binding.keywords
        key = None
        if is_repeatable:
            key = (binding.function, x.opcode, tuple([_identities(operand) for operand in operands]), x.shape, tuple(binding.keywords.items()))
            known = scope.known.get(key)
            if known is not None:
                return known
        results = self._fold(x, binding, operands) if is_repeatable and not binding.suspends else None
        if results is None:
            results = variables_of(x.shape)
            scope.region.operations.append(Operation(x, operands, results))
        if key is not None:
            scope.known.operations[key] = results
        return results

    def _fold(self, x: Instruction, binding: Binding, operands: Sequence[Leaves]) -> Leaves | None:
        """Returns the result as a constant if all operands are small constants, else None."""
        if not x.shape.is_array or any(leaf.constant is None for operand in operands for leaf in operand):
            return None
        # A broadcast takes no memory, regardless of its size.
        if x.opcode != "broadcast":
            sizes = [prod(leaf.dimensions) for y in (x, *x.operands) for leaf in y.shape.leaves()]
            if max(sizes) > MAX_FOLDED_ELEMENTS or sizes[0] > self._foldable:
                return None
            self._foldable -= sizes[0]
        values = [with_leaves(y.shape, [leaf.constant for leaf in operand]) for y, operand in zip(x.operands, operands, strict=True)]
        try:
            with np.errstate(all="ignore"):
                value = binding.check(binding.function(*values, **binding.keywords))
        except Exception:
            # The error is raised again, with the location in the source, when the instruction is
            # executed.
            return None
        value.flags.writeable = False
        results = constants_of(x.shape, value)
        # This operation only records the source of a broadcast; it is not added to the region.
        Operation(x, operands, results)
        return results


def _identities(operand: Leaves) -> tuple[Any, ...]:
    """Returns the key of an operand: its variables, or the bits of constant numbers."""
    return tuple([leaf if leaf.constant is None or not leaf.is_scalar else (leaf.shape.element_type, leaf.constant.tobytes()) for leaf in operand])


def _unchanged_operand(x: Instruction) -> int | None:
    """Returns the index of the operand that equals the result, such as `x` in `x * 1`.

    Returns None if no algebraic identity applies.
    """
    if x.op.algebra is NO_ALGEBRA or len(x.operands) != 2 or x.opcode == _POWER:
        return None
    same = same_value(x)
    unchanged = next((k for k, operand in enumerate(x.operands) if operand is same), None)
    # In all other cases, the kernel must run, since it may report an error.
    return unchanged if unchanged is not None and is_as_inferred(x) and not may_fail(x) else None


def _offsets_of(shape: Shape) -> list[int]:
    """Returns the index of the first leaf of each element of a tuple, then the number of leaves."""
    return list(accumulate((sum(1 for _ in element.leaves()) for element in shape.elements), initial=0))


def variables_of(shape: Shape) -> Leaves:
    """Returns new variables for the leaves of a shape."""
    return tuple([Variable(leaf) for leaf in shape.leaves()])


def constants_of(shape: Shape, value: Any) -> Leaves:
    return tuple([Variable(leaf, item) for leaf, item in zip(shape.leaves(), leaves(value), strict=True)])


def as_declared(variables: Leaves, shape: Shape) -> Leaves:
    """Returns the variables if they match a declared shape, which may be wrong.

    Raises CannotPlan if they do not match.
    """
    if not _has_shape(variables, shape):
        raise CannotPlan(f"a value does not have its declared shape {shape.text_without_layout}")
    return variables


def _has_shape(variables: Leaves, shape: Shape) -> bool:
    return len(variables) == sum(1 for _ in shape.leaves()) and all(
        _is_interchangeable(variable.shape, leaf) for variable, leaf in zip(variables, shape.leaves(), strict=True)
    )


def _is_interchangeable(one: Shape, other: Shape) -> bool:
    return one is other or (
        one.element_type == other.element_type and one.dimensions == other.dimensions and (one.dynamic or None) == (other.dynamic or None)
    )


# ---- instructions that are not lowered to single kernels ---------------------------------------


_LOWERINGS: dict[str, _Handler] = {}
"""Handlers by opcode. All are generators, even those that request nothing."""


def _lowering(*opcodes: str) -> Callable[[_Handler], _Handler]:
    def register(function: _Handler) -> _Handler:
        _LOWERINGS.update(dict.fromkeys(opcodes, function))
        return function

    return register


@_lowering("tuple")
def _tuple(self: Lowering, scope: _Scope, x: Instruction, operands: list[Leaves]) -> _Run:
    yield from ()
    return tuple([leaf for operand in operands for leaf in operand])


@_lowering("get-tuple-element")
def _get_tuple_element(self: Lowering, scope: _Scope, x: Instruction, operands: list[Leaves]) -> _Run:
    yield from ()
    first, last = self.range_of(x.operands[0].shape, x.attributes["index"])
    return operands[0][first:last]


@_lowering("call", "fusion")
def _call(self: Lowering, scope: _Scope, x: Instruction, operands: list[Leaves]) -> _Run:
    (computation,) = x.called
    if self.graph.is_inlined(computation):
        return (yield _Request(computation, operands, scope.region, scope.known))
    for operand, parameter in zip(operands, computation.parameters, strict=False):
        as_declared(operand, parameter.shape)
    results = variables_of(computation.root.shape)
    scope.region.operations.append(Call(x, computation, operands, results))
    return results


@_lowering("conditional")
def _conditional(self: Lowering, scope: _Scope, x: Instruction, operands: list[Leaves]) -> _Run:
    (selector,), *arguments = operands
    if len(x.called) != len(arguments) or not arguments or scope.known.depth >= _MAX_REGION_DEPTH:
        raise CannotPlan("conditionals are nested too deeply, or do not match their branches")
    regions = []
    for computation, argument in zip(x.called, arguments, strict=True):
        region = Region()
        region.results = as_declared((yield _Request(computation, [argument], region, _Known(scope.known))), x.shape)
        regions.append(region)
    results = variables_of(x.shape)
    scope.region.operations.append(Branches(x, selector, regions, results))
    return results


@_lowering("while")
def _while(self: Lowering, scope: _Scope, x: Instruction, operands: list[Leaves]) -> _Run:
    (initial,) = operands
    condition, body = x.attributes["condition"], x.attributes["body"]
    if scope.known.depth >= _MAX_REGION_DEPTH:
        raise CannotPlan("loops are nested too deeply")
    if not (len(condition.parameters) == len(body.parameters) == 1) or not _has_shape(initial, body.parameters[0].shape):
        raise CannotPlan("the initial state of a loop does not match the parameter of its body")
    kept: set[int] = set()
    for index in invariant_elements(body):
        kept.update(range(*self.range_of(body.parameters[0].shape, index)))
    state = tuple([leaf if k in kept else Variable(leaf.shape) for k, leaf in enumerate(initial)])
    regions = []
    for computation in (condition, body):
        region = Region()
        region.results = yield _Request(computation, [state], region, _Known(scope.known))
        regions.append(region)
    continues, following = regions
    as_declared(continues.results, condition.root.shape)
    as_declared(following.results, x.shape)
    changing = [k for k in range(len(state)) if k not in kept]
    following.results = tuple([following.results[k] for k in changing])
    variables = tuple([state[k] for k in changing])
    scope.region.operations.append(Loop(x, tuple([initial[k] for k in changing]), variables, continues, following))
    return state
