"""The registry of the rules in the folder `rules`. Other rules are parts of op definitions.

A file of rules has functions decorated with `shape_rule` or `module_rule`. The docstring of a
function states the rule, followed by the details under the heading *Checks*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from hlotool.codes import severity_of
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.modes import VerifyModes
from hlotool.record import Record
from hlotool.shapes.shape import Shape
from hlotool.verifier import rules
from hlotool.verifier.facts import Facts

__all__ = ["LINT", "MODULE_RULES", "SHAPE_RULES", "Finding", "ModuleRule", "ShapeRule", "load_rules", "module_rule", "shape_rule"]


class Finding(Record):
    """A violation that a module rule yields.

    `at` is a part of the instruction (`text.source.part_names`). Without an instruction, `at` is an
    offset into the source. If the computation is missing as well, `at` may also be a part of the
    module's header.

    `severity` replaces the severity of the code if a mode changes it. `others` lists further
    instructions of the computation that the message counts but does not name. Without an
    instruction, it lists computations.
    """

    code: str
    computation: Computation | None
    instruction: Instruction | None
    at: str | int
    message: str
    hint: str | None = None
    notes: tuple[str, ...] = ()
    severity: str | None = None
    others: tuple[Instruction | Computation, ...] = ()

    @property
    def is_error(self) -> bool:
        """True if the finding is an error, not a warning or a remark."""
        return (self.severity or severity_of(self.code)) == "error"


LINT = "lint"
"""The stage of rules that are checked only in modules without errors."""

ShapeCheck = Callable[[Shape, VerifyModes], None]
ModuleCheck = Callable[[Facts], Iterable[Finding]]


class ShapeRule(Record):
    """A rule about result shapes. `check` runs once per distinct shape and raises Violation."""

    codes: tuple[str, ...]
    check: ShapeCheck


class ModuleRule(Record):
    """A rule about several instructions.

    Rules of the stage "lint" run last, and only if there are no errors. They can therefore rely on
    the guarantees of the other rules: shapes fit, attributes are in range, and signatures match
    their calls.
    """

    codes: tuple[str, ...]
    stage: str
    check: ModuleCheck


SHAPE_RULES: list[ShapeRule] = []
MODULE_RULES: list[ModuleRule] = []


def shape_rule(*codes: str) -> Callable[[ShapeCheck], ShapeCheck]:
    """Registers a function that checks a shape."""

    def wrap(check: ShapeCheck) -> ShapeCheck:
        SHAPE_RULES.append(ShapeRule(codes, check))
        return check

    return wrap


def module_rule(*codes: str, stage: str) -> Callable[[ModuleCheck], ModuleCheck]:
    """Registers a function that yields findings in a module."""

    def wrap(check: ModuleCheck) -> ModuleCheck:
        MODULE_RULES.append(ModuleRule(codes, stage, check))
        return check

    return wrap


@lru_cache(maxsize=1)
def load_rules() -> None:
    """Imports every file of the folder `rules`, so that its rules are registered."""
    for name in sorted(entry.name for entry in iter_modules(rules.__path__)):
        import_module(f"{rules.__name__}.{name}")
