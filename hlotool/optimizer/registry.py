"""The registry of rewrite rules, in the folder `rules`.

A rule is a function that takes an instruction and a Site and returns the instruction that replaces it, or None. The first line of its
docstring is `before -> after`.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from pkgutil import iter_modules

from hlotool.errors import HlotoolError, InternalError, nearest
from hlotool.ir.model import Instruction
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.optimizer import rules
from hlotool.optimizer.options import FAST_MATH, FAST_MATH_GROUPS
from hlotool.optimizer.site import Site, depends_on
from hlotool.record import Record

__all__ = ["FAILURES", "Rule", "RuleError", "all_rules", "fast_math_flags", "forget_rules", "place_of_failure", "rule", "rules_by_op"]

FAILURES = (Exception, SystemExit, GeneratorExit)
"""What functions of users may raise to fail. A file that ends the process would end the command as if it had succeeded."""

Rewrite = Callable[[Instruction, Site], Instruction | None]


class RuleError(HlotoolError):
    """A rule that cannot be registered, or that has failed; an unknown flag."""

    exit_code = 2


class Rule(Record):
    """A rewrite rule: its name and topic, the opcodes of instructions that it may replace, and the fast-math flags that it needs, if any.

    If there are `operands`, one of the instruction's operands must have one of these opcodes, which is tested before the rule is called.
    Without flags, a rule is exact: results are equal bit for bit, except for the payloads of NaNs.
    """

    name: str
    topic: str
    opcodes: tuple[str, ...]
    flags: frozenset[str]
    rewrite: Rewrite
    operands: frozenset[OpDef] = frozenset()

    @property
    def summary(self) -> str:
        """What the rule does: `before -> after`."""
        return (self.rewrite.__doc__ or "").strip().partition("\n")[0]

    @property
    def details(self) -> str:
        """The rest of the docstring: conditions, and reasons for them."""
        return cleandoc(self.rewrite.__doc__ or "").partition("\n")[2].strip()

    @property
    def is_built_in(self) -> bool:
        """Whether the rule is one of hlotool's own."""
        return self.rewrite.__module__.startswith(f"{rules.__name__}.")

    def checked(self, x: Instruction, site: Site) -> Instruction | None:
        """The instruction that replaces `x`, or None.

        Raises RuleError if the rule inserts instructions for nothing, removes `x`, or returns anything that cannot take its place.
        """
        new, rewriter = self.rewrite(x, site), site.rewriter
        if x not in rewriter:
            raise self._misbehaved(x, "has removed the instruction; it should return the one that replaces it")
        if new is None:
            if site.inserted:
                raise self._misbehaved(x, "has inserted instructions and returned None")
        elif not isinstance(new, Instruction):
            raise self._misbehaved(x, f"returned {new!r}, which is no instruction")
        elif new not in rewriter or rewriter.owner(new) is not rewriter.owner(x):
            raise self._misbehaved(x, f"returned '{new.name}', which is not in the same computation")
        elif new is not x and depends_on(new, x):
            raise self._misbehaved(x, f"returned '{new.name}', which depends on the instruction that it would replace")
        return new

    def failure(self, x: Instruction, error: BaseException) -> HlotoolError:
        """The exception for one that the rule has raised: an InternalError for hlotool's own rules, a RuleError for those of users."""
        if isinstance(error, RuleError):
            return error
        return self._misbehaved(x, f"failed{place_of_failure(error, self.rewrite)}: {type(error).__name__}: {error}")

    def _misbehaved(self, x: Instruction, message: str) -> HlotoolError:
        return (InternalError if self.is_built_in else RuleError)(f"rule '{self.name}' {message}; at '{x.name}' ({x.op.name})")


_RULES: dict[str, Rule] = {}


def rule(*opcodes: str, of: tuple[str, ...] = (), needs: tuple[str, ...] = (), name: str | None = None) -> Callable[[Rewrite], Rewrite]:
    """Registers a rule for instructions with these opcodes, of which an operand has one of the opcodes `of`, if there are any.

    `needs` are the fast-math flags without which the rule does not run. Raises RuleError for an unknown opcode or flag, and if there is a
    rule of the same name.

    >>> @rule("negat")
    ... def example(x, site): ...
    Traceback (most recent call last):
    hlotool.optimizer.registry.RuleError: there is no opcode 'negat'; did you mean 'negate'?
    """
    if not opcodes or not all(isinstance(opcode, str) for opcode in (*opcodes, *of)):
        raise RuleError('@rule needs the opcodes of the instructions that the rule replaces, as in @rule("add")')
    for opcode in (*opcodes, *of):
        if opcode not in OPS:
            raise RuleError(f"there is no opcode '{opcode}'{_hint(opcode, OPS)}")
    fast_math_flags(needs)

    def wrap(rewrite: Rewrite) -> Rewrite:
        key = name or rewrite.__name__.replace("_", "-")
        if key in _RULES:
            raise RuleError(f"there is a rule '{key}' already")
        _RULES[key] = Rule(key, rewrite.__module__.rpartition(".")[2], opcodes, frozenset(needs), rewrite, frozenset(OPS[opcode] for opcode in of))
        return rewrite

    return wrap


def place_of_failure(error: BaseException, function: Callable[..., object]) -> str:
    """The line at which an exception was raised in the file that defines a function, as ` in my_rules.py, line 7`; empty if it was not there."""
    file = getattr(sys.modules.get(function.__module__), "__file__", "")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" in {Path(file).name}, line {lines[-1]}" if lines else ""


def fast_math_flags(words: Iterable[str]) -> frozenset[str]:
    """The flags of these names, which may be names of groups. Raises RuleError if one is unknown.

    >>> "arcp" in fast_math_flags(["fast"]), "precision" in fast_math_flags(["fast"]), "precision" in fast_math_flags(["all"])
    (True, False, True)
    >>> fast_math_flags(["nsz", "nan"])
    Traceback (most recent call last):
    hlotool.optimizer.registry.RuleError: there is no fast-math flag 'nan'; did you mean 'nnan'?
    >>> fast_math_flags(["exact"])
    Traceback (most recent call last):
    hlotool.optimizer.registry.RuleError: there is no fast-math flag 'exact'
    """
    flags = frozenset[str]().union(*(FAST_MATH_GROUPS.get(word, {word}) for word in words))
    for flag in sorted(flags - FAST_MATH.keys()):
        raise RuleError(f"there is no fast-math flag '{flag}'{_hint(flag, FAST_MATH)}")
    return flags


def _hint(word: str, known: Iterable[str]) -> str:
    meant = nearest(word, known)
    return f"; did you mean '{meant}'?" if meant else ""


def forget_rules(names: Iterable[str]) -> None:
    """Removes rules from the registry, such as those of a file that failed."""
    for key in names:
        del _RULES[key]


@lru_cache(maxsize=1)
def all_rules() -> Mapping[str, Rule]:
    """All rules by name, file by file in alphabetical order, each file from top to bottom.

    >>> all_rules()["copy-of-equal-layout"].summary
    'copy(a) -> a'
    """
    for module in sorted(info.name for info in iter_modules(rules.__path__)):
        import_module(f"{rules.__name__}.{module}")
    return _RULES


def rules_by_op(topics: frozenset[str] | None, flags: frozenset[str]) -> dict[OpDef, tuple[Rule, ...]]:
    """The rules of some topics, or of all, by the opcode of the instruction that they replace; those whose flags are not set are left out."""
    table: dict[OpDef, list[Rule]] = {}
    for entry in all_rules().values():
        if (topics is None or entry.topic in topics) and entry.flags <= flags:
            for opcode in entry.opcodes:
                table.setdefault(OPS[opcode], []).append(entry)
    return {op: tuple(entries) for op, entries in table.items()}
