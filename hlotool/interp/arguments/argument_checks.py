"""Checks and converts the arguments that users pass to a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hlotool.errors import Violation
from hlotool.interp.arrays.values import PYTREE_HINT, Value, checked_argument, with_leaves
from hlotool.interp.engine.placement import part_hint
from hlotool.interp.failures import failure
from hlotool.ir.model import Instruction, Module
from hlotool.shapes.shape import Shape

__all__ = ["as_list", "checked_arguments", "checked_values"]


def checked_arguments(module: Module, arguments: Sequence[Any]) -> tuple[Value, ...]:
    """Returns the values of a module's parameters. Raises EvaluationError for invalid arguments."""
    parameters = module.entry.parameters
    if isinstance(arguments, Mapping):
        raise failure(
            module,
            None,
            "R002",
            f"the arguments must be a list in the order of the parameters, got an object of type {type(arguments).__name__}",
            PYTREE_HINT,
        )
    arguments = as_list(module, arguments, "arguments", "pass a list, even for one argument: evaluate(module, [argument])")
    arguments = _group_leaves(arguments, [p.shape for p in parameters])
    if len(arguments) != len(parameters):
        message = f"wrong number of arguments for '{module.entry.name}': expected {len(parameters)}, got {len(arguments)}"
        names = ", ".join(p.name for p in parameters)
        hint = f"the parameter{'s are' if len(parameters) > 1 else ' is'} {names}" if parameters else None
        raise failure(module, None, "R002", message, PYTREE_HINT if any(isinstance(x, Mapping) for x in arguments) else hint)
    return checked_values(module, zip(parameters, arguments, strict=True))


def as_list(module: Module, arguments: Iterable[Any], noun: str, hint: str) -> Sequence[Any]:
    """Returns a list of the arguments. Raises EvaluationError with the hint for a single value."""
    if isinstance(arguments, list | tuple):
        return arguments
    try:
        items = iter(arguments)
    except TypeError:
        message = f"the {noun} must be a list, got an object of type {type(arguments).__name__}"
        raise failure(module, None, "R002", message, hint) from None
    return list(items)


def checked_values(module: Module, pairs: Iterable[tuple[Instruction, Any]], blamed: Instruction | None = None) -> tuple[Value, ...]:
    """Returns the arguments as values of the instructions' shapes.

    Errors are reported at `blamed`, or, if it is None, at the instruction paired with the argument.
    """
    values = []
    for x, argument in pairs:
        try:
            values.append(checked_argument(argument, x.shape, x.name))
        except Violation as violation:
            noun = "parameter" if blamed is None else "operand"
            hint = violation.hint or (part_hint(module, x) if blamed is None else None)
            raise failure(module, blamed or x, violation.code, f"{noun} {violation.message}", hint) from None
    return tuple(values)


def _group_leaves(arguments: Sequence[Any], shapes: list[Shape]) -> Sequence[Any]:
    """Groups arguments into tuples if they are passed leaf by leaf, as for compiled programs."""
    counts = [sum(1 for _ in shape.leaves()) for shape in shapes]
    if len(arguments) == len(shapes) or len(arguments) != sum(counts):
        return arguments
    rest = iter(arguments)
    return [with_leaves(shape, [next(rest) for _ in range(count)]) for shape, count in zip(shapes, counts, strict=True)]
