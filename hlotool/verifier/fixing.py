"""Fixes: edits that resolve findings. They are applied only if checking the text again shows that they do.

The edits come from the rule itself (`Diagnostic.fix`) or from a function in the folder `fixes`. Files are written in `workspace`.
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

# Each attempt reads the whole text, so a kind of fix that has failed so often since the last success is not tried again.
_MAX_FAILURES = 20


class Faulty(NamedTuple):
    """A finding with the module and the source, which fixes need."""

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
    """The fix for findings of a code. `make` returns its edits, none if it does not apply, and its docstring is the title."""

    make: FixMaker
    is_safe: bool

    @property
    def title(self) -> str:
        return (self.make.__doc__ or "").strip().rstrip(".")


_RULES: dict[str, FixRule] = {}


def fixer(code: str, *, safe: bool = True) -> Callable[[FixMaker], FixMaker]:
    """Registers a function that makes the edits for findings of a code."""

    def wrap(make: FixMaker) -> FixMaker:
        _RULES[code] = FixRule(make, safe)
        return make

    return wrap


@lru_cache(maxsize=1)
def fix_rules() -> dict[str, FixRule]:
    """The fixes of the folder `fixes`, by code.

    >>> fix_rules()["S007"].title
    'Make the last instruction the root'
    """
    for name in sorted(info.name for info in iter_modules(fixes.__path__)):
        import_module(f"{fixes.__name__}.{name}")
    return _RULES


def with_fixes(module: Module, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics of a module, each with its fix if there is one."""
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
    """A text after fixing, and the number of findings of each code that were resolved."""

    text: str
    fixed: Counter[str]


def fix_text(text: str, filename: str, check: Check, *, codes: Container[str] | None = None, unsafe: bool = False) -> FixedText:
    """Applies the fixes for the findings of `check`, module by module; only for those in `codes`, if given.

    A fix is kept only if the text still parses as far as it did before, the finding is gone, there are no new errors, and the entry and the
    roots of computations are the same. Otherwise the text is left unchanged.
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
    """The findings in a text, the number of errors that keep it from parsing, and if there are none, its entry and the root of each computation."""

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
    failures: Counter[str] = Counter()
    # Texts that there were already: fixes that undo each other would never end.
    seen = {source.text}
    # A fix may bring out what the next one ends.
    while True:
        before = _findings(source, check)
        fixable = [d for d in before.diagnostics if (codes is None or d.code in codes) and d.fix is not None and (d.fix.is_safe or unsafe)]
        while chosen := _disjoint([d for d in fixable if d.fix is not None and d.fix.edits not in refused and failures[d.code] < _MAX_FAILURES]):
            group, after = _proved_group(source, before, chosen, check)
            if after is not None and after not in seen:
                break
            refused.update(d.fix.edits for d in group if d.fix is not None)
            failures += Counter(d.code for d in group)
        else:
            return source.text, fixed
        seen.add(after)
        fixed += Counter(d.code for d in group)
        source = Source(after, source.filename, source.first_line)
        # Offsets have changed, and what was refused may be possible now.
        refused.clear()
        failures.clear()


def _proved_group(source: Source, before: _Findings, chosen: list[Diagnostic], check: Check) -> tuple[list[Diagnostic], str | None]:
    """Findings from the beginning of `chosen` whose fixes work together, and the text with them; or the first alone and None, if it is to blame."""
    group = chosen
    while (after := _proved(source, before, group, check)) is None and len(group) > 1:
        group = group[: len(group) // 2]
    return group, after


def _findings(source: Source, check: Check) -> _Findings:
    try:
        module = parse_source(source, strict=False)
    except ParseError as error:
        return _Findings(error.diagnostics, len(error.diagnostics))
    diagnostics, unread = with_fixes(module, check(module)), sum(d.severity == "error" for d in module.diagnostics)
    if unread:
        return _Findings(diagnostics, unread)
    return _Findings(diagnostics, unread, module.entry.name, {c.name: c.root.name for c in module.computations})


def _disjoint(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics whose edits neither overlap nor touch each other."""
    chosen: list[Diagnostic] = []
    accepted: list[Edit] = []
    for d in diagnostics:
        edits = d.fix.edits if d.fix is not None else ()
        if all(_is_disjoint(edit, accepted) for edit in edits):
            chosen.append(d)
            for edit in edits:
                insort(accepted, edit)
    return chosen


def _is_disjoint(edit: Edit, accepted: list[Edit]) -> bool:
    k = bisect_left(accepted, edit)
    return (k == 0 or accepted[k - 1].end < edit.start) and (k == len(accepted) or edit.end < accepted[k].start)


def _proved(source: Source, before: _Findings, chosen: Sequence[Diagnostic], check: Check) -> str | None:
    """The text with these fixes, or None if they do not resolve their findings without damage."""
    text = apply_edits(source.text, [edit for d in chosen if d.fix is not None for edit in d.fix.edits])
    after = _findings(Source(text, source.filename, source.first_line), check)
    codes, codes_after = before.codes, after.codes
    ended = Counter(d.code for d in chosen)
    if after.unread > before.unread or any(codes_after[code] > codes[code] - count for code, count in ended.items() if not _may_return(code)):
        return None
    # Rules could not check what did not parse, so they may find errors once it does.
    errors = {d.code for d in after.diagnostics if d.severity == "error"}
    if not before.unread and (any(codes_after[code] > codes[code] for code in errors) or not _gives_the_same(before, after)):
        return None
    return text


def _gives_the_same(before: _Findings, after: _Findings) -> bool:
    """Whether the entry is the same, and each remaining computation still has its root."""
    return before.entry == after.entry and all(before.roots.get(name, root) == root for name, root in after.roots.items())


def _may_return(code: str) -> bool:
    """Whether resolving a finding may lead to another of the same code: what only dead code used becomes dead itself."""
    return code in ("W001", "W003")
