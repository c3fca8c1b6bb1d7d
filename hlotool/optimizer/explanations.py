"""Explanations of rewrite rules and passes, for `hlotool explain` and the generated pages."""

from __future__ import annotations

from inspect import cleandoc, getdoc
from sys import modules
from typing import NamedTuple

from hlotool.optimizer.opt_options import FAST_MATH
from hlotool.optimizer.pipeline import PASSES, PIPELINES, pass_names, pass_of, pass_summary
from hlotool.optimizer.registry import all_rules

__all__ = ["PassExplanation", "RewriteExplanation", "explain_pass", "explain_rewrite", "topic_summary", "topics"]

_EXACT = "exact: results are equal bit for bit, except for the payloads of NaNs"


class RewriteExplanation(NamedTuple):
    """An explanation of a rewrite rule.

    `flags` lists the fast-math flags that the rule requires, each with a description of what the
    flag allows.
    """

    name: str
    topic: str
    opcodes: tuple[str, ...]
    summary: str
    details: str
    flags: tuple[tuple[str, str], ...]

    @property
    def exactness(self) -> str:
        """A statement that the rule is exact, or a description of how results may differ."""
        if not self.flags:
            return _EXACT
        names = ",".join(name for name, _ in self.flags)
        return f"only with --fast-math={names}: {'; '.join(meaning for _, meaning in self.flags)}"


class PassExplanation(NamedTuple):
    """An explanation of a pass.

    `levels` lists the optimization levels whose pipelines contain the pass. If the pass is a topic,
    `rules` lists its rewrite rules.
    """

    name: str
    summary: str
    details: str
    levels: tuple[str, ...]
    rules: tuple[str, ...]


def explain_rewrite(name: str) -> RewriteExplanation | None:
    """Returns the explanation of a rewrite rule, or None if there is no rule of this name.

    >>> explain_rewrite("copy-of-equal-layout").summary
    'copy(a) -> a'
    """
    entry = all_rules().get(name)
    if entry is None:
        return None
    flags = tuple((flag, FAST_MATH[flag]) for flag in FAST_MATH if flag in entry.flags)
    return RewriteExplanation(name, entry.topic, entry.opcodes, entry.summary, " ".join(entry.details.split()), flags)


def explain_pass(name: str) -> PassExplanation | None:
    """Returns the explanation of a pass or a group of rewrite rules, or None for any other name.

    >>> explain_pass("dce").levels
    ('-O1', '-O2')
    """
    if name not in pass_names():
        return None
    levels = tuple(f"-O{level}" for level, names in PIPELINES.items() if name in names)
    rules = () if name in PASSES else tuple(entry.name for entry in all_rules().values() if entry.topic == name)
    doc = _topic_doc(name) if rules else getdoc(getattr(pass_of(name), "resolve", lambda: pass_of(name))()) or ""
    return PassExplanation(name, pass_summary(name), " ".join(doc.partition("\n")[2].split()), levels, rules)


def topics() -> list[str]:
    """Returns the groups of rewrite rules in alphabetical order."""
    return sorted({entry.topic for entry in all_rules().values()})


def topic_summary(topic: str) -> str:
    """Returns one line about the rules of a topic.

    >>> topic_summary("identities")
    'Instructions with the same value as another one, found by `analysis.simplify.same_value`.'
    """
    return _topic_doc(topic).partition("\n")[0]


def _topic_doc(topic: str) -> str:
    return cleandoc(modules[next(entry.rewrite.__module__ for entry in all_rules().values() if entry.topic == topic)].__doc__ or "")
