"""The registry of rewrite rules, in the folder `rules`.

A rule is a function that takes an instruction and a Site and returns the instruction that replaces it, or None. The first line of its
docstring is `before -> after`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from hlotool.ir.model import Instruction
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.optimizer import rules
from hlotool.optimizer.site import Site
from hlotool.record import Record

__all__ = ["FAST_MATH", "Rule", "all_rules", "rule", "rules_by_op"]

FAST_MATH = {
    "reassoc": "sums and products may be computed in another order",
    "nnan": "no operand or result is NaN",
    "ninf": "no operand or result is infinite",
    "nsz": "the sign of a zero does not matter",
    "arcp": "a division may become a multiplication by the reciprocal",
    "contract": "operations may be fused, with one rounding instead of two",
    "afn": "functions may be replaced by others that are equal for real numbers",
}
"""The flags of `--fast-math`, with LLVM's names, and what each allows."""

Rewrite = Callable[[Instruction, Site], Instruction | None]


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


_RULES: dict[str, Rule] = {}


def rule(*opcodes: str, of: tuple[str, ...] = (), needs: tuple[str, ...] = (), name: str | None = None) -> Callable[[Rewrite], Rewrite]:
    """Registers a rule for instructions with these opcodes, of which an operand has one of the opcodes `of`, if there are any.

    `needs` are the fast-math flags without which the rule does not run.
    """
    for opcode in opcodes:
        assert opcode in OPS, opcode
    assert FAST_MATH.keys() >= set(needs), needs

    def wrap(rewrite: Rewrite) -> Rewrite:
        key = name or rewrite.__name__.replace("_", "-")
        assert key not in _RULES, f"two rules are called {key}"
        _RULES[key] = Rule(key, rewrite.__module__.rpartition(".")[2], opcodes, frozenset(needs), rewrite, frozenset(OPS[opcode] for opcode in of))
        return rewrite

    return wrap


@lru_cache(maxsize=1)
def all_rules() -> Mapping[str, Rule]:
    """All rules by name, file by file in the order of the alphabet, each file from top to bottom.

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
