"""Fixes: edits that end findings, and applying them with a proof that they did.

What to edit is said by the rule itself (`Diagnostic.fix`) or by a function in the folder `fixes`; no file is written here.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import NamedTuple

from hlotool.errors import Diagnostic, Edit, Fix, ParseError, Source
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.text.parse.parser import decoded, parse_source, parts_of
from hlotool.verifier import fixes

__all__ = ["Faulty", "FixRule", "FixedText", "apply_edits", "fix_rules", "fix_text", "fixer", "with_fixes"]

# A fix may bring out what the next one ends: a dead instruction's operands.
_MAX_ITERATIONS = 50


class Faulty(NamedTuple):
    """A finding with what a fix has to look at."""

    diagnostic: Diagnostic
    module: Module
    source: Source

    @property
    def offset(self) -> int:
        """Where the finding is in the source."""
        return self.source.offset(self.diagnostic.line, self.diagnostic.column)

    @property
    def computation(self) -> Computation | None:
        return next((c for c in self.module.computations if c.name == self.diagnostic.computation), None)

    @property
    def instruction(self) -> Instruction | None:
        computation = self.computation
        return next((x for x in computation.instructions if x.name == self.diagnostic.instruction), None) if computation is not None else None


FixMaker = Callable[[Faulty], Iterable[Edit]]
Check = Callable[[Module], Sequence[Diagnostic]]


class FixRule(NamedTuple):
    """How findings of a code are ended; `make` gives no edits where it cannot help. Its docstring is the fix's title."""

    make: FixMaker
    is_safe: bool

    @property
    def title(self) -> str:
        return (self.make.__doc__ or "").strip().rstrip(".")


_RULES: dict[str, FixRule] = {}


def fixer(code: str, *, safe: bool = True) -> Callable[[FixMaker], FixMaker]:
    """Enters a function that makes the edits for findings of a code."""

    def wrap(make: FixMaker) -> FixMaker:
        _RULES[code] = FixRule(make, safe)
        return make

    return wrap


@lru_cache(maxsize=1)
def fix_rules() -> dict[str, FixRule]:
    """The fixes of the folder, by code.

    >>> fix_rules()["S007"].title
    'Make the last instruction the root'
    """
    for name in sorted(info.name for info in iter_modules(fixes.__path__)):
        import_module(f"{fixes.__name__}.{name}")
    return _RULES


def with_fixes(module: Module, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics of a module, with a fix where there is one."""
    return [d if d.fix is not None else _with_fix(module, d) for d in diagnostics]


def _with_fix(module: Module, d: Diagnostic) -> Diagnostic:
    rule = fix_rules().get(d.code)
    if rule is None or module.source is None:
        return d
    edits = module.source.original_edits(rule.make(Faulty(d, module, module.source)))
    return replace(d, fix=Fix(edits, rule.title, rule.is_safe)) if edits else d


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits that do not overlap.

    >>> apply_edits("abc", [Edit(1, 2, "B"), Edit(0, 0, ">")])
    '>aBc'
    """
    parts, at = [], 0
    for edit in sorted(edits):
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])


class FixedText(NamedTuple):
    """A text after fixing, with how many findings of each code were ended."""

    text: str
    fixed: Counter[str]


def fix_text(text: str, filename: str, check: Check, *, codes: Container[str] | None = None, unsafe: bool = False) -> FixedText:
    """Applies the fixes of what `check` finds, module by module; with `codes`, of these only.

    A fix is kept only if the result parses wherever it did before, its finding is gone, no error has come instead, and entry and roots are
    what they were; in doubt the text stays as it is.
    """
    whole = decoded(text)
    out, fixed = [], Counter[str]()
    for part in parts_of(whole, filename):
        if part.is_separator:
            out.append(part.source.text)
            continue
        after, count = _fix_part(part.source, check, codes, unsafe=unsafe)
        out.append(after)
        fixed += count
    return FixedText("".join(out), fixed)


class _Findings(NamedTuple):
    """What is wrong with a text, how many errors keep it from being read, and else the entry and the root of each computation."""

    diagnostics: list[Diagnostic]
    unread: int
    entry: str = ""
    roots: Mapping[str, str] = {}

    @property
    def codes(self) -> Counter[str]:
        return Counter(d.code for d in self.diagnostics)


def _fix_part(source: Source, check: Check, codes: Container[str] | None, *, unsafe: bool) -> tuple[str, Counter[str]]:
    fixed: Counter[str] = Counter()
    refused: set[tuple[Edit, ...]] = set()
    for _ in range(_MAX_ITERATIONS):
        before = _findings(source, check)
        chosen = [d for d in before.diagnostics if codes is None or d.code in codes]
        fixable = [d for d in chosen if d.fix is not None and (d.fix.is_safe or unsafe) and d.fix.edits not in refused]
        chosen = _apart(fixable)
        if not chosen:
            break
        after = _proved(source, before, chosen, check)
        if after is None and len(chosen) > 1:
            # One of them is to blame: what helps alone is taken, and the others another time.
            chosen = next(([d] for d in chosen if _proved(source, before, [d], check) is not None), [])
            after = _proved(source, before, chosen, check) if chosen else None
        if after is None:
            refused.update(d.fix.edits for d in fixable if d.fix is not None)
            continue
        fixed += Counter(d.code for d in chosen)
        source = Source(after, source.filename, source.first_line)
        refused.clear()
    return source.text, fixed


def _findings(source: Source, check: Check) -> _Findings:
    try:
        module = parse_source(source, strict=False)
    except ParseError as error:
        return _Findings(error.diagnostics, len(error.diagnostics))
    diagnostics, unread = with_fixes(module, check(module)), sum(d.severity == "error" for d in module.diagnostics)
    if unread:
        return _Findings(diagnostics, unread)
    return _Findings(diagnostics, unread, module.entry.name, {c.name: c.root.name for c in module.computations})


def _apart(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Those whose edits do not touch each other."""
    chosen: list[Diagnostic] = []
    taken: list[Edit] = []
    for d in diagnostics:
        edits = d.fix.edits if d.fix is not None else ()
        if all(_is_apart(edit, taken) for edit in edits):
            chosen.append(d)
            for edit in edits:
                insort(taken, edit)
    return chosen


def _is_apart(edit: Edit, taken: list[Edit]) -> bool:
    k = bisect_left(taken, edit)
    return (k == 0 or taken[k - 1].end < edit.start) and (k == len(taken) or edit.end < taken[k].start)


def _proved(source: Source, before: _Findings, chosen: Sequence[Diagnostic], check: Check) -> str | None:
    """The text with these fixes, None unless they do what they promise."""
    text = apply_edits(source.text, [edit for d in chosen if d.fix is not None for edit in d.fix.edits])
    after = _findings(Source(text, source.filename, source.first_line), check)
    codes, codes_after = before.codes, after.codes
    ended = Counter(d.code for d in chosen)
    if after.unread > before.unread or any(codes_after[code] > codes[code] - count for code, count in ended.items() if not _may_return(code)):
        return None
    # What could not be read could not be judged either: only then errors of rules may come out.
    errors = {d.code for d in after.diagnostics if d.severity == "error"}
    if not before.unread and (any(codes_after[code] > codes[code] for code in errors) or not _gives_the_same(before, after)):
        return None
    return text


def _gives_the_same(before: _Findings, after: _Findings) -> bool:
    """Whether the entry is the one it was, and each computation that is left still ends with its root."""
    return before.entry == after.entry and all(before.roots.get(name, root) == root for name, root in after.roots.items())


def _may_return(code: str) -> bool:
    """Whether ending one finding may bring out another of the same code: what only a dead instruction used is dead as well."""
    return code in ("W001", "W003")
