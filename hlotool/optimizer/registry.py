"""The registry of the rewrite rules in the folder `rules`.

A rule is a function that takes an instruction and a PatternRewriter, and returns the instruction
that replaces it, or None. The first line of its docstring is `before -> after`.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from pkgutil import iter_modules

from hlotool.analysis.simplify import has_constant
from hlotool.errors import HlotoolError, InternalError, nearest
from hlotool.ir.model import Instruction
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.optimizer import rules
from hlotool.optimizer.opt_options import FAST_MATH, FAST_MATH_GROUPS
from hlotool.optimizer.pattern_rewriter import PatternRewriter, depends_on
from hlotool.record import Record

__all__ = [
    "FAILURES",
    "Rule",
    "RuleError",
    "all_rules",
    "depends_on_constants",
    "fast_math_flags",
    "forget_rules",
    "location_of_failure",
    "rule",
    "rules_by_op",
]

FAILURES = (Exception, SystemExit, GeneratorExit)
"""The exceptions that count as failures of users' functions.

They include SystemExit: a file that exits would otherwise end the command as if it had succeeded.
"""

Rewrite = Callable[[Instruction, PatternRewriter], Instruction | None]


class RuleError(HlotoolError):
    """A rule that cannot be registered or has failed, or an unknown flag."""

    exit_code = 2


class Rule(Record):
    """A rewrite rule.

    `opcodes` lists the opcodes of the instructions that the rule may replace; `flags` contains the
    fast-math flags that it requires. A rule without flags is exact: results are equal bit for bit,
    except for the payloads of NaNs. If `operands` is not empty, the rule is only called if one of
    the instruction's operands has one of these opcodes. If `both` is not empty and there are two
    operands, both must have one of these opcodes. If `constant` is True, the rule is only called if
    an operand may be a known number, or if the first two operands are the same.
    """

    name: str
    topic: str
    opcodes: tuple[str, ...]
    flags: frozenset[str]
    rewrite: Rewrite
    operands: frozenset[OpDef] = frozenset()
    both: frozenset[OpDef] = frozenset()
    constant: bool = False

    @property
    def summary(self) -> str:
        """The first line of the docstring: `before -> after`."""
        return (self.rewrite.__doc__ or "").strip().partition("\n")[0]

    @property
    def details(self) -> str:
        """The rest of the docstring: conditions, and the reasons for them."""
        return cleandoc(self.rewrite.__doc__ or "").partition("\n")[2].strip()

    @property
    def is_built_in(self) -> bool:
        """True if the rule is one of hlotool's own."""
        return self.rewrite.__module__.startswith(f"{rules.__name__}.")

    def is_called_for(self, x: Instruction) -> bool:
        """Returns whether the operands of an instruction meet the conditions of the rule."""
        return self.fits([operand.op for operand in x.operands]) and not (self.constant and not depends_on_constants(x))

    def fits(self, operands: Sequence[OpDef]) -> bool:
        """Returns whether the opcodes of the operands meet the conditions of the rule."""
        if self.both and len(operands) == 2 and not self.both.issuperset(operands):
            return False
        return not self.operands or not self.operands.isdisjoint(operands)

    def checked(self, x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
        """Calls the rule, and returns the instruction that replaces `x`, or None.

        If the rule inserts instructions but returns None, removes `x`, or returns something that
        cannot replace `x`, raises RuleError or, for hlotool's own rules, InternalError.
        """
        new, module_rewriter = self.rewrite(x, rewriter), rewriter.module_rewriter
        if x not in module_rewriter:
            raise self._error(x, "removed the instruction instead of returning its replacement")
        if new is None:
            if rewriter.inserted:
                raise self._error(x, "inserted instructions, but returned None")
        elif not isinstance(new, Instruction):
            raise self._error(x, f"returned {new!r}, which is not an instruction")
        elif new not in module_rewriter or module_rewriter.owner(new) is not module_rewriter.owner(x):
            raise self._error(x, f"returned '{new.name}', which is not in the same computation")
        elif new is not x and depends_on(new, x):
            raise self._error(x, f"returned '{new.name}', which depends on the instruction that it would replace")
        return new

    def failure(self, x: Instruction, error: BaseException) -> HlotoolError:
        """Returns the exception to raise after the rule has failed with `error`.

        It is an InternalError for hlotool's own rules, and a RuleError for users' rules.
        """
        if isinstance(error, RuleError):
            return error
        return self._error(x, f"failed{location_of_failure(error, self.rewrite)}: {type(error).__name__}: {error}")

    def _error(self, x: Instruction, message: str) -> HlotoolError:
        return (InternalError if self.is_built_in else RuleError)(f"rule '{self.name}' {message}; at '{x.name}' ({x.op.name})")


_RULES: dict[str, Rule] = {}


def rule(
    *opcodes: str,
    of: tuple[str, ...] = (),
    both: tuple[str, ...] = (),
    constant: bool = False,
    needs: tuple[str, ...] = (),
    name: str | None = None,
) -> Callable[[Rewrite], Rewrite]:
    """Registers a rule for instructions with these opcodes.

    If `of` is given, one of the operands must have one of those opcodes. If `both` is given and
    there are two operands, both must have one of those opcodes. If `constant` is True, an operand
    must be a constant or derived from one by moving elements, or the first two operands must be the
    same. `needs` lists the fast-math flags that must be set for the rule to run. Raises RuleError
    for an unknown opcode or flag, and if there is already a rule with the same name.

    >>> @rule("negat")
    ... def example(x, rewriter): ...
    Traceback (most recent call last):
    hlotool.optimizer.registry.RuleError: there is no opcode 'negat'; did you mean 'negate'?
    """
    if not opcodes or not all(isinstance(opcode, str) for opcode in (*opcodes, *of, *both)):
        raise RuleError('@rule expects the opcodes of the instructions that the rule replaces, as in @rule("add")')
    for opcode in (*opcodes, *of, *both):
        if opcode not in OPS:
            raise RuleError(f"there is no opcode '{opcode}'{_hint(opcode, OPS)}")
    fast_math_flags(needs)

    def wrap(rewrite: Rewrite) -> Rewrite:
        key = name or rewrite.__name__.replace("_", "-")
        if key in _RULES:
            raise RuleError(f"there is already a rule '{key}'")
        some, all_of = (frozenset(OPS[opcode] for opcode in group) for group in (of, both))
        _RULES[key] = Rule(key, rewrite.__module__.rpartition(".")[2], opcodes, frozenset(needs), rewrite, some, all_of, constant)
        return rewrite

    return wrap


def depends_on_constants(x: Instruction) -> bool:
    """Returns whether the operands of an instruction meet the condition `constant` of rules."""
    operands = x.operands
    return has_constant(operands) or (len(operands) > 1 and operands[0] is operands[1])


def location_of_failure(error: BaseException, function: Callable[..., object]) -> str:
    """Returns the location of a failure in a function's file, as in ` in my_rules.py, line 7`.

    Returns an empty string if the traceback has no line of the file that defines the function.
    """
    file = getattr(sys.modules.get(function.__module__), "__file__", "")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" in {Path(file).name}, line {lines[-1]}" if lines else ""


def fast_math_flags(words: Iterable[str]) -> frozenset[str]:
    """Returns the flags given directly or as groups of flags. Raises RuleError for other words.

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
    """Returns all rules by name, file by file in alphabetical order, each file from top to bottom.

    >>> all_rules()["copy-of-equal-layout"].summary
    'copy(a) -> a'
    """
    for module in sorted(info.name for info in iter_modules(rules.__path__)):
        import_module(f"{rules.__name__}.{module}")
    return _RULES


def rules_by_op(topics: frozenset[str] | None, flags: frozenset[str]) -> dict[OpDef, tuple[Rule, ...]]:
    """Returns the rules of some or all topics, by the opcode that they replace.

    Rules whose flags are not set are left out.
    """
    table: dict[OpDef, list[Rule]] = {}
    for entry in all_rules().values():
        if (topics is None or entry.topic in topics) and entry.flags <= flags:
            for opcode in entry.opcodes:
                table.setdefault(OPS[opcode], []).append(entry)
    return {op: tuple(entries) for op, entries in table.items()}
