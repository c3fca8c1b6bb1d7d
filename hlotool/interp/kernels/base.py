"""The calling convention of kernels, and the decorator that registers them.

A kernel is a function that computes the value of an instruction from the values of its operands. It
knows neither the instruction nor the executor that calls it; every executor keeps to this
convention:

* **Operands** are positional. Each is a NumPy array of the exact element type (see
  `interp.dtypes`; scalars have rank 0), a tuple of values, or a Token. Arrays have their actual
  dimensions: a dynamic dimension may be smaller than in the shape.
* **Facts** are keyword-only parameters: attributes of the op by name, with their defaults filled
  in, and the names in FACTS. A kernel receives only the facts that appear in its signature. The
  facts in PER_CALL_FACTS may differ from call to call.
* **The result** has the element type and the dimensions of the instruction's shape. It may be an
  operand or a view of an operand.
* **Memory.** Operands may be views: they may have gaps, any order of dimensions in memory, and
  elements that share memory, but never negative strides or unaligned elements. A kernel whose
  result would depend on these properties declares `in_layout`, and receives arrays without gaps in
  the memory order of the operands' layouts.
* **Operands are read-only**, as are the arrays in attributes. A kernel that takes `can_alias` may
  overwrite and return operand 0 if that fact is true.
* **Suspension.** A kernel that needs to run a computation or wait for other devices is a generator
  function. It yields `Invoke` and is sent the computation's value, or yields `Wait` and is resumed
  once `ready()` is true; its return value is the result. It never runs a computation itself, so
  nested calls need no Python stack. `yield from` delegates to other generators of this kind.
* **Batches.** Instead of running a computation on scalars many times, an executor runs it once, on
  arrays with one element per instance; the dimensions of these arrays are the batch.
  `kernel(..., batch=...)` specifies the function that computes the opcode in this case. The
  function follows the same convention, except that an operand that is the same for all instances
  may still have rank 0, as may a result that is computed only from operands of rank 0.
* **Errors.** A kernel raises `Violation`, which names the attribute or operand to blame; any other
  exception is reported as "cannot be computed", with its message. The executor adds the instruction
  and its location in the source.

`docs/kernels.md` has an example for each of these points.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from typing import Any, Literal, TypeAlias, TypeVar

from hlotool.interp.arrays.values import Value
from hlotool.interp.devices import Wait
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.base import REQUIRED
from hlotool.opdefs.table import OPS
from hlotool.record import Record

__all__ = ["FACTS", "PER_CALL_FACTS", "Invoke", "Kernel", "Run", "default_of", "kernel", "unchanged"]

Function = TypeVar("Function", bound=Callable[..., Any])

PER_CALL_FACTS = frozenset({"batch", "device", "can_alias"})
"""Facts that may differ from one execution of an instruction to the next.

`batch` is the tuple of the batch dimensions, and `device` the Device that runs. `can_alias` is true
if nothing else will read the array of operand 0 or a part of it, so that the kernel may overwrite
and return the array.
"""

FACTS = PER_CALL_FACTS | {"result", "operand_shapes", "options", "instruction_key", "group_mode", "frontend_attributes", "shardings", "target"}
"""Keyword parameters that kernels may have in addition to the attributes of the op.

`result` is the Shape of the result, `operand_shapes` a tuple of Shapes, and `options` the
RunOptions. `instruction_key` is a hashable object that identifies the instruction in exchanges
between devices and in the state of each device. `group_mode` determines whether the ids in
the groups of a collective denote replicas, partitions or devices (see `analysis.collectives`).
`frontend_attributes` is a dict of strings. `shardings` is a tuple of the shardings of the
instruction and of its operands, with None for those without a sharding. `target` describes the
target of a custom call (see `interp.kernels.libraries.handlers`).
"""


class Invoke:
    """A request, yielded by a kernel, to run a computation. The computation's value is sent back.

    If `batch` is given, it is a tuple of dimensions, and a computation on scalars is run for all
    elements of the arguments at once: arrays take the place of its scalar parameters, and the
    arrays of the result have these dimensions. If `root` is given, the value of that instruction of
    the computation is sent back instead, and only the instructions that it depends on are computed.

    The executor takes the arguments out of the request. A kernel that drops its own references to
    them before it yields allows the computation to overwrite them in place.
    """

    __slots__ = ("_arguments", "batch", "computation", "root")

    def __init__(
        self, computation: Computation, arguments: tuple[Value, ...], batch: tuple[int, ...] | None = None, *, root: Instruction | None = None
    ) -> None:
        self.computation = computation
        self.batch = batch
        self.root = computation.root if root is None else root
        self._arguments = arguments

    def take_arguments(self) -> tuple[Value, ...]:
        """Returns the arguments and drops them from the request."""
        arguments, self._arguments = self._arguments, ()
        return arguments


Run: TypeAlias = Generator[Invoke | Wait, Any, Value]
"""The generator that a suspending kernel returns: it yields requests and returns the result."""


When: TypeAlias = "bool | Callable[[Instruction], bool]"
"""A bool that applies to all instructions of an opcode, or a predicate on instructions."""


class Kernel(Record):
    """The implementation of one opcode.

    `function(*operands, **facts)` returns the value; if `suspends` is true, it is a generator
    function that returns a Run. `facts` lists the names of its keyword parameters.
    `batch_function`, `batch_suspends` and `batch_facts` are their counterparts for batches;
    `batch_function` is None if the opcode cannot be computed for a batch. `in_layout` determines
    the instructions whose operands must be in the memory order of their layouts. `may_refuse`
    determines the instructions for which the kernel may raise Violation even if they follow the
    rules of the op.
    """

    function: Callable[..., Any]
    suspends: bool
    facts: tuple[str, ...]
    batch_function: Callable[..., Any] | None = None
    batch_suspends: bool = False
    batch_facts: tuple[str, ...] = ()
    in_layout: When = False
    may_refuse: When = False

    def takes_in_layout(self, x: Instruction) -> bool:
        """Returns whether the operands of an instruction must be in their layouts' memory order."""
        return self.in_layout if isinstance(self.in_layout, bool) else self.in_layout(x)

    def refuses(self, x: Instruction) -> bool:
        """Returns whether the kernel may reject this instruction.

        Such an instruction must run even if its value is unused.
        """
        return self.may_refuse if isinstance(self.may_refuse, bool) else self.may_refuse(x)


def unchanged(operand: Value) -> Value:
    """Returns the operand unchanged.

    This is the kernel of no-ops, and the batch function of opcodes that rearrange elements: each
    instance has only one element.
    """
    return operand


def _facts_of(opcode: str, function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    unknown = [name for name in names if name not in FACTS and name not in OPS[opcode].attributes]
    if unknown:
        raise ValueError(f"the kernel of {opcode} takes {unknown}, which the op does not have")
    return names


def kernel(
    *opcodes: str, batch: Callable[..., Any] | Literal["same"] | None = None, in_layout: When = False, may_refuse: When = False
) -> Callable[[Function], Function]:
    """Registers the decorated function as the kernel of these opcodes.

    `batch` is the function that computes them for batches; `"same"` stands for the decorated
    function itself. `in_layout` is true if the result depends on the memory order of the operands,
    or is a predicate that is true for instructions whose results depend on it; executors then pass
    arrays in the memory order of the operands' layouts. In the same way, `may_refuse` determines
    whether the kernel may raise Violation for instructions that follow the rules of the op;
    executors run such instructions even if their values are unused. Raises ValueError if a keyword
    parameter is neither an attribute of the op nor one of FACTS.
    """

    def register(function: Function) -> Function:
        batch_function = function if batch == "same" else batch
        for opcode in opcodes:
            OPS[opcode].kernel = Kernel(
                function,
                inspect.isgeneratorfunction(function),
                _facts_of(opcode, function),
                batch_function,
                inspect.isgeneratorfunction(batch_function),
                _facts_of(opcode, batch_function) if batch_function is not None else (),
                in_layout,
                may_refuse,
            )
        return function

    return register


def default_of(opcode: str, attribute: str) -> Any:
    """Returns the default value of an attribute, or None if it has no default."""
    default = OPS[opcode].attributes[attribute].default
    return None if default is REQUIRED else default
