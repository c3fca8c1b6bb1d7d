"""The rules beyond op definitions: what a rule is, and finding them all in the folder `rules`.

A rule file has one function under `shape_rule` or `module_rule`; its docstring has the headings *Checks*, *Why*, *Bad* and *Good*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.modes import VerifyModes
from hlotool.record import Record
from hlotool.shapes.shape import Shape
from hlotool.verifier import rules
from hlotool.verifier.facts import Facts

__all__ = ["LINT", "MODULE_RULES", "SHAPE_RULES", "Finding", "ModuleRule", "ShapeRule", "load_rules", "module_rule", "shape_rule"]


class Finding(Record):
    """What a module rule yields: `at` is a place in the instruction (`text.source.places`).

    Without instruction it is an offset into the source, or, without computation too, a place in the module's header.

    `severity` is that of the code unless a mode changes it.
    """

    code: str
    computation: Computation | None
    instruction: Instruction | None
    at: str | int
    message: str
    hint: str | None = None
    notes: tuple[str, ...] = ()
    severity: str | None = None


LINT = "lint"
"""The stage of rules about modules without errors."""

ShapeCheck = Callable[[Shape, VerifyModes], None]
ModuleCheck = Callable[[Facts], Iterable[Finding]]


class ShapeRule(Record):
    """A rule about every result shape: called once for each distinct one, it raises Violation."""

    codes: tuple[str, ...]
    check: ShapeCheck


class ModuleRule(Record):
    """A rule that looks at instructions together; those of the stage "lint" come last, and only where there is no error.

    So a lint may rely on what the other rules have checked: shapes that fit, attributes in range, signatures that match their calls.
    """

    codes: tuple[str, ...]
    stage: str
    check: ModuleCheck


SHAPE_RULES: list[ShapeRule] = []
MODULE_RULES: list[ModuleRule] = []


def shape_rule(*codes: str) -> Callable[[ShapeCheck], ShapeCheck]:
    """Enters a function that judges one shape."""

    def wrap(check: ShapeCheck) -> ShapeCheck:
        SHAPE_RULES.append(ShapeRule(codes, check))
        return check

    return wrap


def module_rule(*codes: str, stage: str) -> Callable[[ModuleCheck], ModuleCheck]:
    """Enters a function that yields what it finds in a module."""

    def wrap(check: ModuleCheck) -> ModuleCheck:
        MODULE_RULES.append(ModuleRule(codes, stage, check))
        return check

    return wrap


@lru_cache(maxsize=1)
def load_rules() -> None:
    """Imports every file of the folder, which enters its rule."""
    for name in sorted(entry.name for entry in iter_modules(rules.__path__)):
        import_module(f"{rules.__name__}.{name}")
