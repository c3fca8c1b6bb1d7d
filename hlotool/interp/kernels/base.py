"""The kernel decorator: a function's signature says what it wants to know of its instruction.

Kernels compute values from values; they know neither instructions nor the engine that calls them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

from hlotool.interp.devices import Wait
from hlotool.interp.values import Value
from hlotool.ir.model import Computation
from hlotool.opdefs.base import REQUIRED
from hlotool.opdefs.table import OPS
from hlotool.record import Record

__all__ = ["FACTS", "LATE_FACTS", "Invoke", "Kernel", "Run", "default_of", "kernel", "unchanged"]

Function = TypeVar("Function", bound=Callable[..., Any])

LATE_FACTS = frozenset({"lanes", "device", "donated"})
"""Facts that differ from one execution of an instruction to another.

`lanes` are the dimensions of lane arrays, `device` is the one that runs; `donated` says that nobody else will read operand 0 or a part of it, so
that the kernel may write into it and return it.
"""

FACTS = LATE_FACTS | {"result", "operand_shapes", "options", "site", "group_mode", "frontend_attributes", "backend_config"}
"""Keyword parameters of kernels that are no attributes of their op alone.

`result` is the Shape of the result, `operand_shapes` a tuple of Shapes, `options` the RunOptions; `site` stands for the instruction, by
which devices find each other; `group_mode` is what a collective's ids number (`analysis.collectives`); `frontend_attributes` is a
dict of texts and `backend_config` a text or None.
"""


class Invoke:
    """What a kernel yields to have a computation run: it is sent the computation's value.

    With `lanes`, the dimensions of a common shape, the computation is one of scalars, and it is run once for every element of the
    arguments at once: arrays stand where its parameters are scalars, and the result has arrays of these dimensions.

    The engine takes the arguments away. A kernel that forgets its own references before it yields lets them be overwritten in place.
    """

    __slots__ = ("_arguments", "computation", "lanes")

    def __init__(self, computation: Computation, arguments: tuple[Value, ...], lanes: tuple[int, ...] | None = None) -> None:
        self.computation = computation
        self.lanes = lanes
        self._arguments = arguments

    def taken(self) -> tuple[Value, ...]:
        """The arguments, which the request has no longer."""
        arguments, self._arguments = self._arguments, ()
        return arguments


Run: TypeAlias = Generator[Invoke | Wait, Any, Value]
"""What a kernel that calls computations or waits for other devices returns: it yields Invoke for each call, so that no engine recurses."""


class Kernel(Record):
    """How one opcode is computed.

    `function(*operands, **wanted)` gives the value; when it `suspends` it is a generator function and gives a Run. `lanes` is the
    function for arrays of scalars, each element an instance of its own, or None where there is none. `wanted` are the attributes and
    FACTS that the signatures name.
    """

    function: Callable[..., Any]
    suspends: bool
    wanted: tuple[str, ...]
    lanes: Callable[..., Any] | None = None
    lanes_suspend: bool = False
    lanes_wanted: tuple[str, ...] = ()


def unchanged(operand: Value) -> Value:
    """The kernel of whatever only renames a value; also what rearranging means for a scalar."""
    return operand


def _wanted(opcode: str, function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    unknown = [name for name in names if name not in FACTS and name not in OPS[opcode].attributes]
    if unknown:
        raise ValueError(f"the kernel of {opcode} wants {unknown}, which the op does not have")
    return names


def kernel(*opcodes: str, lanes: Callable[..., Any] | str | None = None) -> Callable[[Function], Function]:
    """Makes the decorated function the kernel of opcodes.

    Positional parameters are the operands' values, keyword-only ones are attributes or FACTS. `lanes="same"` says that the function
    works on arrays of scalars as it is.
    """

    def wrap(function: Function) -> Function:
        for opcode in opcodes:
            of_lanes = function if lanes == "same" else lanes
            assert not isinstance(of_lanes, str), lanes
            OPS[opcode].kernel = Kernel(
                function,
                inspect.isgeneratorfunction(function),
                _wanted(opcode, function),
                of_lanes,
                inspect.isgeneratorfunction(of_lanes),
                _wanted(opcode, of_lanes) if of_lanes is not None else (),
            )
        return function

    return wrap


def default_of(opcode: str, attribute: str) -> Any:
    """The value of an attribute that the text leaves out; None where the definition has no default."""
    default = OPS[opcode].attributes[attribute].default
    return None if default is REQUIRED else default
