"""The calling convention of kernels, and the decorator that registers them.

A kernel is a function that computes the value of an instruction from the values of its operands. It knows neither the instruction
nor the executor that calls it; every executor keeps to this convention:

* **Operands** are positional. Their values are NumPy arrays of the exact element type (`interp.dtypes`; scalars have rank 0), tuples
  of values, and Tokens. Array dimensions are the actual ones, which in a dynamic dimension may be smaller than the shape's.
* **Facts** are keyword-only parameters: attributes of the op by name, with their defaults filled in, and the names in FACTS. A kernel
  receives the facts that its signature names and no others. Those in PER_CALL_FACTS may differ from call to call.
* **The result** has the element type and the dimensions of the instruction's shape. It may be an operand or a view of one.
* **Memory.** Operands may be views with gaps, in any order of dimensions, and with elements that share memory, but none runs backwards or is
  unaligned. A kernel whose result would depend on this declares `in_layout`, and receives arrays as the operands' layouts say, without gaps.
* **Operands are read-only**, as are the arrays in attributes. A kernel that asks for `can_alias` may overwrite operand 0, and return
  it, when that fact is true.
* **Suspension.** A kernel that has a computation run or waits for other devices is a generator function. It yields `Invoke` and is
  sent the computation's value, or yields `Wait` and is resumed once `ready()` is true; its return value is the result. It never runs
  a computation itself, so nested calls need no Python stack. `yield from` delegates to other generators of this kind.
* **Batches.** A computation of scalars is run once on arrays with an element for each instance: the dimensions of these arrays are
  the batch. `kernel(..., batch=...)` says which function computes the opcode then. It follows the same convention, except that
  operands which are the same for all instances may still have rank 0, and so may a result made of them alone.
* **Errors.** A kernel raises `Violation`, which names the attribute or operand to blame; any other exception is reported as
  "cannot be computed" with its text. The executor adds the instruction and its place in the source.

`docs/kernels.md` shows each of these with an example.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from typing import Any, Literal, TypeAlias, TypeVar

from hlotool.interp.devices import Wait
from hlotool.interp.values import Value
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.base import REQUIRED
from hlotool.opdefs.table import OPS
from hlotool.record import Record

__all__ = ["FACTS", "PER_CALL_FACTS", "Invoke", "Kernel", "Run", "default_of", "kernel", "unchanged"]

Function = TypeVar("Function", bound=Callable[..., Any])

PER_CALL_FACTS = frozenset({"batch", "device", "can_alias"})
"""Facts that may differ from one execution of an instruction to the next.

`batch` is the tuple of the batch dimensions, `device` the Device that runs. `can_alias` is true if nobody else reads the array of
operand 0 or a part of it any more, so that the kernel may write into it and return it.
"""

FACTS = PER_CALL_FACTS | {"result", "operand_shapes", "options", "site", "group_mode", "frontend_attributes", "shardings", "target"}
"""Keyword parameters of kernels that are not attributes of the op alone.

`result` is the Shape of the result, `operand_shapes` a tuple of Shapes, `options` the RunOptions. `site` is a hashable that stands for
the instruction: devices meet there, and per-device state is kept under it. `group_mode` is what the ids of a collective number
(`analysis.collectives`); `frontend_attributes` is a dict of strings. `shardings` are those of the instruction and of its operands, None
where there is none. `target` is what is known about the target of a custom call (`interp.custom_calls.table`).
"""


class Invoke:
    """What a kernel yields to have a computation run; it is sent the computation's value.

    With `batch`, the dimensions of a common shape, the computation is one of scalars and is run for every element of the arguments at
    once: arrays take the place of its scalar parameters, and the result has arrays of these dimensions. With `root`, the value is
    that of another instruction of the computation, and only what it depends on is computed.

    The executor takes the arguments out of the request. A kernel that drops its own references before it yields allows the
    computation to overwrite them in place.
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
"""What a kernel that suspends returns: a generator of requests whose return value is the result."""


When: TypeAlias = "bool | Callable[[Instruction], bool]"
"""Whether something holds for all instructions of an opcode, or the function that says for which."""


class Kernel(Record):
    """How one opcode is computed.

    `function(*operands, **facts)` gives the value; if it `suspends`, it is a generator function and gives a Run. `facts` are the names
    of its keyword parameters. `batch_function`, `batch_suspends` and `batch_facts` are the same for batches; the function is None if
    the opcode cannot be computed for a batch. `in_layout` says whether arrays must be in memory as the layouts say, and `may_refuse`
    whether the kernel may raise Violation for instructions that keep the rules of the op; or for which instructions.
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
        """Returns whether the operands of this instruction have to be in memory as their layouts say."""
        return self.in_layout if isinstance(self.in_layout, bool) else self.in_layout(x)

    def refuses(self, x: Instruction) -> bool:
        """Returns whether this instruction may be refused when it runs, so that it must run even if nothing needs its value."""
        return self.may_refuse if isinstance(self.may_refuse, bool) else self.may_refuse(x)


def unchanged(operand: Value) -> Value:
    """The operand itself: the kernel of opcodes that compute nothing, and of rearrangements in a batch of scalars."""
    return operand


def _facts_of(opcode: str, function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    unknown = [name for name in names if name not in FACTS and name not in OPS[opcode].attributes]
    if unknown:
        raise ValueError(f"the kernel of {opcode} asks for {unknown}, which the op does not have")
    return names


def kernel(
    *opcodes: str, batch: Callable[..., Any] | Literal["same"] | None = None, in_layout: When = False, may_refuse: When = False
) -> Callable[[Function], Function]:
    """Makes the decorated function the kernel of these opcodes.

    `batch` is the function that computes them for batches; `"same"` says that it is the decorated one. `in_layout` says that the result
    depends on where operands are in memory, or for which instructions it does; executors then pass arrays as the layouts of the operands say.
    `may_refuse` says in the same way whether it may raise Violation for instructions that keep the rules of the op; executors run these always.
    Raises ValueError if a keyword parameter is neither an attribute of the op nor one of FACTS.
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
    """The value of an attribute that the text leaves out; None if the definition has no default."""
    default = OPS[opcode].attributes[attribute].default
    return None if default is REQUIRED else default
