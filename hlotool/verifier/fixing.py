"""Fixes: edits that resolve findings.

Fixes come from the rule itself (`Diagnostic.fix`), from a function in the folder `fixes`, or from a
rewrite of the optimizer. Their edits are kept only if a check of the edited text shows that the
findings are resolved. `workspace` writes the files.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import NamedTuple

from hlotool.errors import Diagnostic, Edit, Fix, ParseError, Source
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.text.parse.fast_path import FastPath
from hlotool.text.parse.parser import decode_text, parts_of, read_source
from hlotool.text.source.tokens import LINE, NAME
from hlotool.verifier import fixes

__all__ = [
    "FindingContext",
    "FixRule",
    "FixedText",
    "RewriteFix",
    "RewriteMaker",
    "apply_edits",
    "fix_rules",
    "fix_text",
    "fixer",
    "rewrite_fixes",
    "rewriter",
    "with_fixes",
]

# Each attempt parses the whole text. After this many rejections of fixes for one code, the other
# fixes for the code are skipped until a fix succeeds.
_MAX_FAILURES = 20
_NAME = re.compile(NAME)


class FindingContext(NamedTuple):
    """A finding with its module and its source, from which the edits of a fix are computed."""

    diagnostic: Diagnostic
    module: Module
    source: Source

    @property
    def offset(self) -> int:
        """The offset of the finding in the source."""
        return self.source.offset(self.diagnostic.line, self.diagnostic.column)

    @property
    def computation(self) -> Computation | None:
        return next((c for c in self.module.computations if c.name == self.diagnostic.computation), None)

    @property
    def instruction(self) -> Instruction | None:
        computation = self.computation
        return next((x for x in computation.instructions if x.name == self.diagnostic.instruction), None) if computation is not None else None


FixMaker = Callable[[FindingContext], Iterable[Edit]]
RewriteMaker = Callable[[FindingContext, Sequence[str]], Iterable[Edit]]
"""A function that returns the edits for applying named rewrites at a finding's instruction.

It is a callback, since the optimizer is in a higher layer.
"""
Check = Callable[[Module], Sequence[Diagnostic]]


class FixRule(NamedTuple):
    """The fix for findings of a code.

    `make` returns the edits, or no edits if the fix does not apply. The docstring of `make` is the
    title of the fix.
    """

    make: FixMaker
    is_safe: bool

    @property
    def title(self) -> str:
        return (self.make.__doc__ or "").strip().rstrip(".")


class RewriteFix(NamedTuple):
    """A fix by the optimizer, which applies the first of `rewrites` that matches.

    `rewrites` lists names of rewrite rules, groups of rewrite rules, or passes.
    """

    title: str
    rewrites: tuple[str, ...]


_RULES: dict[str, FixRule] = {}
_REWRITES: dict[str, RewriteFix] = {}


def fixer(code: str, *, safe: bool = True) -> Callable[[FixMaker], FixMaker]:
    """Registers a function that returns the edits for findings of a code."""

    def wrap(make: FixMaker) -> FixMaker:
        _RULES[code] = FixRule(make, safe)
        return make

    return wrap


def rewriter(code: str, title: str, *rewrites: str) -> None:
    """Registers the rewrites of the optimizer that fix findings of a code."""
    _REWRITES[code] = RewriteFix(title, rewrites)


@lru_cache(maxsize=1)
def _import_fixes() -> None:
    for name in sorted(info.name for info in iter_modules(fixes.__path__)):
        import_module(f"{fixes.__name__}.{name}")


def fix_rules() -> dict[str, FixRule]:
    """Returns the fixes in the folder `fixes`, by code.

    >>> fix_rules()["S007"].title
    'Make the last instruction the root'
    """
    _import_fixes()
    return _RULES


def rewrite_fixes() -> dict[str, RewriteFix]:
    """Returns the fixes that are rewrites of the optimizer, by code.

    >>> rewrite_fixes()["W010"]
    RewriteFix(title='Transpose once', rewrites=('transpose-of-transpose',))
    """
    _import_fixes()
    return _REWRITES


def with_fixes(module: Module, diagnostics: Iterable[Diagnostic], rewrite: RewriteMaker | None = None) -> list[Diagnostic]:
    """Returns the diagnostics of a module, each with its fix if there is one.

    Without `rewrite`, fixes that are rewrites of the optimizer are not available.
    """
    return [d if d.fix is not None else _with_fix(module, d, rewrite) for d in diagnostics]


def _with_fix(module: Module, d: Diagnostic, rewrite: RewriteMaker | None) -> Diagnostic:
    rule, other = fix_rules().get(d.code), rewrite_fixes().get(d.code)
    if module.source is None:
        return d
    finding = FindingContext(d, module, module.source)
    if rule is not None:
        edits, title, is_safe = module.source.original_edits(rule.make(finding)), rule.title, rule.is_safe
    elif other is not None and rewrite is not None:
        edits, title, is_safe = module.source.original_edits(rewrite(finding, other.rewrites)), other.title, True
    else:
        return d
    return replace(d, fix=Fix(edits, title, is_safe)) if edits else d


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Returns the text after applying the edits, which must not overlap.

    >>> apply_edits("abc", [Edit(1, 2, "B"), Edit(0, 0, ">")])
    '>aBc'
    """
    parts, at = [], 0
    for edit in sorted(edits):
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])


class FixedText(NamedTuple):
    """The text after fixing, and the number of resolved findings of each code."""

    text: str
    fixed: Counter[str]


def fix_text(
    text: str, filename: str, check: Check, *, codes: Container[str] | None = None, unsafe: bool = False, rewrite: RewriteMaker | None = None
) -> FixedText:
    """Fixes the findings of `check`, module by module, or only those of the codes in `codes`.

    A fix is kept only if it resolves the finding, causes no new errors from the parser or the
    rules, and does not change the entry or the roots of computations. Only rewrites may replace
    roots.
    """
    whole = decode_text(text)
    out, fixed = [], Counter[str]()
    for part in parts_of(whole, filename):
        if part.is_separator:
            out.append(part.source.text)
            continue
        after, count = _FixingRun(check, codes, rewrite, unsafe=unsafe).run(part.source)
        out.append(after)
        fixed += count
    return FixedText("".join(out), fixed)


class _Findings(NamedTuple):
    """The findings in one version of the text, with the data for comparing versions.

    `unread` is the number of parse errors. If it is 0, `entry` is the name of the entry, and
    `roots` maps the name of each computation to the name of its root. `module` is None if nothing
    could be parsed. `path` caches the values of parts of the text for the next parse.
    """

    diagnostics: Sequence[Diagnostic]
    unread: int
    module: Module | None = None
    path: FastPath | None = None
    entry: str = ""
    roots: Mapping[str, str] = {}

    @property
    def codes(self) -> Counter[str]:
        return Counter(d.code for d in self.diagnostics)


class _FixingRun:
    """The state of fixing the text of one module."""

    def __init__(self, check: Check, codes: Container[str] | None, rewrite: RewriteMaker | None, *, unsafe: bool) -> None:
        self.check = check
        self.codes = codes
        self.rewrite = rewrite
        self.unsafe = unsafe

    def run(self, source: Source) -> tuple[str, Counter[str]]:
        """Returns the fixed text and the number of resolved findings of each code."""
        fixed: Counter[str] = Counter()
        rejected: set[tuple[Edit, ...]] = set()
        failures: Counter[str] = Counter()
        # All versions of the text so far. Without this set, fixes that undo each other would be
        # applied forever.
        seen = {source.text}
        before = self._findings(source, None)
        # A fix may reveal more findings, which are fixed in the next round.
        while True:
            fixable = self._fixable(before)
            while chosen := _combinable(source.text, (d for d in fixable if self._is_open(d, rejected, failures))):
                group, attempt = self._try_prefixes(source, before, chosen)
                if attempt is not None and attempt[0].text not in seen:
                    break
                rejected.update(d.fix.edits for d in group if d.fix is not None)
                failures += Counter(d.code for d in group)
            else:
                return source.text, fixed
            fixed += Counter(d.code for d in group)
            source, before = attempt
            seen.add(source.text)
            # Offsets have changed, and fixes that were rejected may work now.
            rejected.clear()
            failures.clear()

    def _is_open(self, d: Diagnostic, rejected: Container[tuple[Edit, ...]], failures: Mapping[str, int]) -> bool:
        """Returns whether a finding's fix should be tried.

        A fix that has been rejected is not tried again until another fix succeeds. After
        `_MAX_FAILURES` rejections of fixes for one code, the other fixes for this code are skipped
        until then.
        """
        return d.fix is not None and d.fix.edits not in rejected and failures[d.code] < _MAX_FAILURES

    def _fixable(self, findings: _Findings) -> list[Diagnostic]:
        """Returns the findings that may be fixed, with their fixes."""
        if findings.module is None:
            return []
        wanted = [single for d in findings.diagnostics if self.codes is None or d.code in self.codes for single in _single_findings(d)]
        fixed = with_fixes(findings.module, wanted, self.rewrite)
        return [d for d in fixed if d.fix is not None and (d.fix.is_safe or self.unsafe)]

    def _findings(self, source: Source, known: FastPath | None) -> _Findings:
        """Returns the findings in a source. `known` is the fast path of another version."""
        try:
            module, path = read_source(source, strict=False, known=known)
        except ParseError as error:
            return _Findings(error.diagnostics, len(error.diagnostics))
        if path is not None:
            path.close()
        diagnostics, unread = self.check(module), sum(d.severity == "error" for d in module.diagnostics)
        if unread:
            return _Findings(diagnostics, unread, module, path)
        return _Findings(diagnostics, unread, module, path, module.entry.name, {c.name: c.root.name for c in module.computations})

    def _try_prefixes(self, source: Source, before: _Findings, chosen: list[Diagnostic]) -> tuple[list[Diagnostic], tuple[Source, _Findings] | None]:
        """Finds a prefix of `chosen` whose fixes work together, and applies them.

        Returns the prefix, the fixed text and the findings in the fixed text. If even the first fix
        alone fails, returns the first finding and None.
        """
        group = chosen
        while (attempt := self._try_fixes(source, before, group)) is None and len(group) > 1:
            group = group[: len(group) // 2]
        return group, attempt

    def _try_fixes(self, source: Source, before: _Findings, chosen: Sequence[Diagnostic]) -> tuple[Source, _Findings] | None:
        """Applies these fixes, and returns the fixed text and the findings in it.

        Returns None if the fixes do not resolve their findings, or if they cause other problems.
        """
        text = apply_edits(source.text, [edit for d in chosen if d.fix is not None for edit in d.fix.edits])
        fixed = Source(text, source.filename, source.first_line)
        after = self._findings(fixed, before.path)
        codes, codes_after = before.codes, after.codes
        if after.unread > before.unread or not _are_resolved(chosen, before, after):
            return None
        # Rules could not check code that did not parse before, so new errors in it are allowed.
        errors = {d.code for d in after.diagnostics if d.severity == "error"}
        if not before.unread and (any(codes_after[code] > codes[code] for code in errors) or not _keeps_entry_and_roots(before, after, chosen)):
            return None
        return fixed, after


def _single_findings(d: Diagnostic) -> Iterator[Diagnostic]:
    """Yields a finding and, if its fix is a rewrite, a copy for each instruction in `others`."""
    yield d
    if d.code in rewrite_fixes():
        yield from (replace(d, instruction=other, others=()) for other in d.others)


def _are_resolved(chosen: Sequence[Diagnostic], before: _Findings, after: _Findings) -> bool:
    """Returns whether the chosen findings are resolved.

    Normally, there must be fewer findings of their code. A rewrite may cause new findings of its
    code at users of the instruction, so for rewrites it is enough that no finding is left at the
    same instruction.
    """
    codes, codes_after = before.codes, after.codes
    positions = {(d.code, d.computation, name) for d in after.diagnostics if d.code in rewrite_fixes() for name in (d.instruction, *d.others)}
    for code, count in Counter(d.code for d in chosen).items():
        if codes_after[code] <= codes[code] - count or _may_recur(code):
            continue
        if code not in rewrite_fixes() or any((code, d.computation, d.instruction) in positions for d in chosen if d.code == code):
            return False
    return True


class _Group:
    """Fixes that can be applied together.

    Their edits do not overlap, and no fix needs an instruction whose definition is removed by
    another fix.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.diagnostics: list[Diagnostic] = []
        self._edits: list[Edit] = []
        # Instructions as pairs of names: the computation and the instruction.
        self._defined: set[tuple[str | None, str]] = set()
        self._used: set[tuple[str | None, str]] = set()

    def add(self, d: Diagnostic) -> None:
        """Adds a finding, unless its fix conflicts with fixes in the group."""
        edits = d.fix.edits if d.fix is not None else ()
        removed = {(d.computation, name) for edit in edits for line in LINE.finditer(self.text, edit.start, edit.end) if (name := line["defined"])}
        used = {(d.computation, name) for edit in edits for name in _NAME.findall(edit.text)}
        if all(map(self._is_free, edits)) and self._used.isdisjoint(removed) and self._defined.isdisjoint(used):
            self.diagnostics.append(d)
            self._defined |= removed
            self._used |= used
            for edit in edits:
                insort(self._edits, edit)

    def _is_free(self, edit: Edit) -> bool:
        """Returns whether an edit is separate from all edits in the group."""
        k = bisect_left(self._edits, edit)
        return all(_are_separate(edit, other) for other in self._edits[max(0, k - 1) : k + 1])


def _are_separate(a: Edit, b: Edit) -> bool:
    """Returns whether two edits are separate.

    An insertion at the beginning or end of the other edit is not separate, since the order of the
    two edits would be undefined.
    """
    first, second = sorted((a, b))
    return first.end < second.start or (first.end == second.start and first.start < first.end and second.start < second.end)


def _combinable(text: str, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Returns findings whose fixes can be applied together, judging only by their edits."""
    group = _Group(text)
    for d in diagnostics:
        group.add(d)
    return group.diagnostics


def _keeps_entry_and_roots(before: _Findings, after: _Findings, chosen: Sequence[Diagnostic]) -> bool:
    """Returns whether the entry and the roots of the remaining computations are the same.

    A root may differ if a rewrite replaced it.
    """
    replaced = {(d.computation, d.instruction) for d in chosen if d.code in rewrite_fixes()}
    are_roots_kept = all(before.roots.get(name, root) in (root, None) or (name, before.roots[name]) in replaced for name, root in after.roots.items())
    return before.entry == after.entry and are_roots_kept


def _may_recur(code: str) -> bool:
    """Returns whether resolving a finding may lead to another finding of the same code.

    For example, removing an unused instruction may leave its operands unused.
    """
    return code in ("W001", "W003")
