"""Finds and applies suppressions: comments and frontend attributes that hide known findings.

| suppression | hides findings in |
|---|---|
| `// hlotool: ignore[T003] reason` | the line, and the instructions on it |
| `// hlotool: ignore-next[T003]` | the next line, and the instructions on it |
| `// hlotool: ignore-file[W016, W001]` | the whole module |
| `// hlotool: off[W]` ... `// hlotool: on[W]` | the text between them, or after `off` if no `on` follows |
| `frontend_attributes={hlotool_ignore="T003"}` | the instruction; XLA preserves this suppression |
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator
from functools import lru_cache

from hlotool.codes import CODE_NAMES, severity_of
from hlotool.errors import Diagnostic, Edit, Fix, Source, nearest
from hlotool.ir.model import Instruction, Module
from hlotool.memo import cached_property
from hlotool.text.locate.instruction import locate
from hlotool.text.source.part_names import parse_part_name
from hlotool.text.source.trivia import comment_spans, skip_trivia
from hlotool.verifier.selection import Selection, known_codes, nearest_rule

__all__ = ["ATTRIBUTE", "VERBS", "Mark", "apply_suppressions", "marks_of", "suppressed", "unused_suppression"]

ATTRIBUTE = "hlotool_ignore"
VERBS = ("ignore", "ignore-next", "ignore-file", "off", "on")
"""The kinds of suppressions in comments."""

_ALL_VERBS = (*VERBS, ATTRIBUTE)
# Words from other linters, with the verbs that they correspond to.
_OTHER_VERBS = {
    "noqa": "ignore", "nolint": "ignore", "disable": "ignore", "suppress": "ignore", "disable-line": "ignore",
    "nolintnext": "ignore-next", "nolintnextline": "ignore-next", "disable-next": "ignore-next", "disable-next-line": "ignore-next",
    "noqa-file": "ignore-file", "disable-file": "ignore-file",
}  # fmt: skip
_MARK = re.compile(r"(?://|/\*)[ \t]*+hlotool:[ \t]*+(?P<verb>[A-Za-z\-]++)(?:[ \t]*+\[(?P<codes>[^\]\n]*+)\])?+")
_LINE_END = re.compile(r"\r?\n|\Z")
_CODE = "W050"
# Only the first unknown codes get a suggestion: finding one takes as long as parsing a thousand
# lines.
_MAX_GUESSES = 20


class Mark:
    """A suppression: its kind, its codes, its position, and the range of offsets that it covers.

    `ends` maps each code whose range ends earlier to the end of that range.
    """

    __slots__ = ("comment", "covers", "end", "ends", "start", "used", "verb", "words")

    def __init__(self, verb: str, words: tuple[str, ...], start: int, end: int, comment: tuple[int, int]) -> None:
        self.verb = verb
        self.words = words
        self.start = start
        self.end = end
        self.comment = comment
        self.covers = (start, end)
        self.ends: dict[str, int] = {}
        self.used: set[str] = set()


def apply_suppressions(
    module: Module, diagnostics: list[Diagnostic], selection: Selection, errors: Iterable[Diagnostic], silent: Callable[[], frozenset[str]]
) -> list[Diagnostic]:
    """Removes hidden diagnostics and adds diagnostics for unused suppressions.

    The parser errors in `errors` are never hidden. In a module with errors, no suppression is
    reported as unused: the findings that it hides may return when the errors are fixed. `silent`
    returns the codes of rules that did not check the module; suppressions of these codes are not
    reported either.
    """
    source = module.source
    if source is None or "hlotool" not in source.text:
        return diagnostics
    marks = marks_of(module, source)
    if not marks:
        return diagnostics
    fixed = {id(d) for d in errors}
    hidden = _hidden_ids(source, marks, (d for d in diagnostics if id(d) not in fixed))
    kept = [d for d in diagnostics if id(d) not in hidden]
    if selection.has(_CODE):
        judged = selection.codes - silent() if all(d.severity != "error" for d in kept) else frozenset()
        unused = list(unused_suppression(source, marks, judged))
        hidden = _hidden_ids(source, marks, unused)
        kept += [d for d in unused if id(d) not in hidden]
    return kept


def suppressed(module: Module, code: str) -> Callable[[int], bool]:
    """Returns a predicate for offsets at which a suppression hides findings of this code.

    The offsets are starts of instructions or computations. Rules use the predicate if they report
    several instructions in one finding, and fixes use it if they also change other code.
    """
    source = module.source
    if source is None or "hlotool" not in source.text:
        return lambda start: False
    text = source.text
    marks = [mark for mark in marks_of(module, source) if mark.verb != "on" and code in _codes_of(mark)]
    starts: list[int] = []
    # For each start, the greatest end of the ranges that start there or earlier.
    ends: list[int] = []
    for start, end in sorted((mark.covers[0], mark.ends.get(code, mark.covers[1])) for mark in marks):
        starts.append(start)
        ends.append(max(end, ends[-1] if ends else 0))

    def is_suppressed(start: int) -> bool:
        at = skip_trivia(text, start) if start >= 0 else -1
        k = bisect_right(starts, at) - 1
        return k >= 0 and at < ends[k]

    return is_suppressed


def unused_suppression(source: Source, marks: Iterable[Mark], judged: Container[str]) -> Iterator[Diagnostic]:
    """Each suppression hides a finding, and lists its code.

    Checks: the word after `hlotool:` is a kind of suppression; codes follow; each is the code of a
    rule and hides a finding; each code of an `on` ends an `off`. Codes that are not reported in
    this run may hide nothing, and so may all codes if the module has errors.
    """
    guesses = 0
    for mark in marks:
        message, hint = None, None
        idle = [word for word in mark.words if word not in mark.used and word != _CODE]
        codes_of = {word: _known(word) for word in idle}
        unknown = [word for word, codes in codes_of.items() if not codes]
        unused = [word for word, codes in codes_of.items() if codes and all(code in judged for code in codes)]
        if mark.verb not in _ALL_VERBS:
            meant = _OTHER_VERBS.get(mark.verb.lower()) or nearest(mark.verb, VERBS)
            message = f"no suppression is called '{mark.verb}'"
            hint = f"did you mean '{meant}'?" if meant else f"the suppressions are {', '.join(VERBS)}"
        elif not mark.words:
            effect = "ends" if mark.verb == "on" else "hides"
            message, hint = f"'{mark.verb}' without codes {effect} nothing", f"list the codes in brackets: {mark.verb}[T003]"
        elif unknown:
            guesses += 1
            meant = nearest_rule(unknown[0]) if guesses <= _MAX_GUESSES else None
            message, hint = f"no rule is called '{unknown[0]}'", f"did you mean '{meant}'?" if meant else None
        elif mark.verb == "on" and idle:
            message, hint = f"'on[{', '.join(idle)}]' does not end any 'off'", None
        elif mark.verb != "on" and unused:
            message, hint = f"suppression of {', '.join(unused)} is not needed", None
        if message is not None:
            line, column = source.line_column(mark.start)
            end_line, end_column = source.line_column(mark.end)
            fix = _removal_fix(source.text, mark, unused) if unused and not unknown else None
            part_name = (source.filename, line, column, end_line, end_column)
            yield Diagnostic(_CODE, CODE_NAMES[_CODE], severity_of(_CODE), message, *part_name, hint, fix=fix)


def _removal_fix(text: str, mark: Mark, unused: list[str]) -> Fix | None:
    """Returns the fix that removes the unused codes of a suppression, or None.

    If no code is left, the fix removes the comment, and also the line if nothing else is on it.
    """
    if mark.verb in ("on", "off", ATTRIBUTE):
        return None
    left = [word for word in mark.words if word not in unused]
    if left:
        return Fix((Edit(text.index("[", mark.start) + 1, mark.end - 1, ", ".join(left)),), "Remove the unused codes")
    start, end = mark.start, mark.comment[1]
    following = _MARK.search(text, mark.end, end)
    if text.startswith("/*", start) and (start != mark.comment[0] or following is not None):
        return None
    if following is not None:
        return Fix((Edit(start, following.start(), ""),), "Remove the suppression")
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    line_end = _LINE_END.match(text, end)
    is_own_line = (start == 0 or text[start - 1] == "\n") and line_end is not None
    return Fix((Edit(start, line_end.end() if is_own_line and line_end is not None else end, ""),), "Remove the suppression")


def _hidden_ids(source: Source, marks: Iterable[Mark], diagnostics: Iterable[Diagnostic]) -> set[int]:
    """Returns the ids of the diagnostics hidden by suppressions.

    Also records in each suppression which of its words hide a diagnostic.
    """
    # Lookups by code and sorted offsets are fast even if there are as many marks as findings.
    found: dict[str, list[tuple[int, int]]] = {}
    for d in diagnostics:
        found.setdefault(d.code, []).append((source.offset(d.line, d.column), id(d)))
    spans: dict[str, list[tuple[int, int]]] = {}
    offsets = {code: sorted(at for at, _ in positions) for code, positions in found.items()}
    for mark in marks:
        for word in mark.words if mark.verb != "on" else ():
            for code in found.keys() & _known(word):
                start, end = mark.covers[0], mark.ends.get(code, mark.covers[1])
                k = bisect_left(offsets[code], start)
                if k < len(offsets[code]) and offsets[code][k] < end:
                    mark.used.add(word)
                    spans.setdefault(code, []).append((start, end))
    hidden = set()
    for code, covers in spans.items():
        covers.sort(reverse=True)
        reach = -1
        for at, number in sorted(found[code]):
            while covers and covers[-1][0] <= at:
                reach = max(reach, covers.pop()[1])
            if at < reach:
                hidden.add(number)
    return hidden


def _codes_of(mark: Mark) -> set[str]:
    return {code for word in mark.words for code in _known(word)}


@lru_cache(maxsize=4096)
def _known(word: str) -> frozenset[str]:
    return frozenset(known_codes(word))


# ---- finding marks -----------------------------------------------------------------------------


def marks_of(module: Module, source: Source) -> list[Mark]:
    """Returns all suppressions in a module, with the ranges that they cover."""
    marks = list(_comment_marks(source.text)) if "hlotool:" in source.text else []
    lines = _Lines(module, source)
    off: dict[str, list[Mark]] = {}
    for mark in marks:
        if mark.verb == "ignore":
            mark.covers = lines.around(mark.start)
        elif mark.verb == "ignore-next":
            mark.covers = lines.around(skip_trivia(source.text, mark.comment[1]))
        elif mark.verb == "ignore-file":
            mark.covers = (0, len(source.text) + 1)
        elif mark.verb == "off":
            mark.covers = (mark.start, len(source.text) + 1)
            for code in _codes_of(mark):
                off.setdefault(code, []).append(mark)
        elif mark.verb == "on":
            _end_ranges(off, mark)
    return [*marks, *_attribute_marks(module, source.text)] if ATTRIBUTE in source.text else marks


def _end_ranges(off: dict[str, list[Mark]], on: Mark) -> None:
    """Ends the open `off` ranges of the codes in `on`; `off` maps codes to marks."""
    for word in on.words:
        for code in _known(word):
            for mark in off.pop(code, ()):
                on.used.add(word)
                mark.ends[code] = on.start


def _comment_marks(text: str) -> Iterator[Mark]:
    for start, end in comment_spans(text):
        for match in _MARK.finditer(text, start, end):
            # Other comments that mention hlotool are not suppressions, unless they look like one.
            if match["verb"] in VERBS or match["verb"].lower() in _OTHER_VERBS or (match["codes"] is not None and match["verb"] != "fmt"):
                words = tuple(dict.fromkeys(word.strip() for word in (match["codes"] or "").split(",") if word.strip()))
                yield Mark(match["verb"], words, *match.span(), (start, end))


def _attribute_marks(module: Module, text: str) -> Iterator[Mark]:
    part_name = parse_part_name("frontend_attributes")
    for x in module.all_instructions():
        written = x.attributes.get("frontend_attributes")
        if isinstance(written, dict) and ATTRIBUTE in written and x.start >= 0:
            start, end = locate(text, x.start, x.end, part_name)
            words = tuple(word.strip() for word in str(written[ATTRIBUTE]).split(",") if word.strip())
            mark = Mark(ATTRIBUTE, words, start, end, (start, end))
            mark.covers = (skip_trivia(text, x.start), x.end)
            yield mark


class _Lines:
    """The text that belongs to a line: the line itself and all instructions that touch it."""

    def __init__(self, module: Module, source: Source) -> None:
        self.module = module
        self.source = source
        self._around: dict[int, tuple[int, int]] = {}

    @cached_property
    def _instructions(self) -> list[Instruction]:
        return sorted((x for x in self.module.all_instructions() if x.start >= 0), key=lambda x: x.start)

    @cached_property
    def _starts(self) -> list[int]:
        return [x.start for x in self._instructions]

    def around(self, at: int) -> tuple[int, int]:
        """Returns the offsets of the text that belongs to the line of `at`."""
        text = self.source.text
        low = start = text.rfind("\n", 0, at) + 1
        if low in self._around:
            return self._around[low]
        high = end = text.find("\n", at) + 1 or len(text) + 1
        k = bisect_right(self._starts, high) - 1
        while k >= 0 and self._instructions[k].end > low:
            x = self._instructions[k]
            first, last = skip_trivia(text, x.start), x.end
            if first < high and text[first:last].strip():
                start, end = min(start, first), max(end, last)
            k -= 1
        self._around[low] = start, end
        return start, end
