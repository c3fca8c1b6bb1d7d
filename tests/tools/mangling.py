"""Random whitespace, line breaks, comments and orders of attributes at places that the grammar finds, and what a formatter must make of it.

The judgement does not use the formatter's own proof: comments are counted by the marks with which they were inserted.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

from generator import Style, random_module

from hlotool.errors import ParseError, Source
from hlotool.ir.equal import differences
from hlotool.ir.model import Module
from hlotool.text.formatting.formatter import format_text
from hlotool.text.formatting.style import FormatStyle
from hlotool.text.parse.driver import read_pieces
from hlotool.text.parse.parser import form_of, parse, read_source
from hlotool.text.parse.session import attribute_tokens
from hlotool.text.print.options import PrintOptions
from hlotool.text.print.printer import to_text

__all__ = ["Mangled", "Tokens", "fault", "gentle", "mangled", "random_case", "shuffled", "spelled", "tokens_of", "width_fault"]

_XLA = dataclasses.replace(PrintOptions.xla_default(), print_large_constants=True)
_SHORT = dataclasses.replace(PrintOptions.short_parsable(), print_large_constants=True)
_STYLES = (
    Style(),
    Style(percent=False, signatures=False),
    Style(operand_shapes=True),
    Style(percent=False, operand_shapes=True, newer=True),
)

_ITEMS = frozenset({"instruction", "anonymous_instruction", "computation_open", "computation_close", "module_header"})
_ATTRIBUTES = frozenset({"instruction_attribute", "module_attribute"})
_HOLDERS = frozenset({"right_hand_side", "anonymous_instruction", "module_header"})
_MARK = re.compile(r"<[0-9]+>")
_BLANKS = (" ", "  ", "\t", "\n", "\n\n", " \n\t ", "\n\n\n\n", "\r\n")
_BLOCKS = ("/*<{}>*/", "/* <{}> */", "/* <{}>\n   more */", '/** "<{}> */', "/* it's <{}> // */", "/* <{}> metadata={{ */", "/* <{}>, x=1 */")
_LINES = ("//<{}>\n", "// <{}>\n", '// "<{}>\n', "// it's <{}> /*\n", "// <{}> backend_config={{ \t\n", "// <{}>  \n\n")


@dataclass
class Tokens:
    """A text's tokens as offsets, in order; the spans of its items; and the spans of attributes that may change places, by list."""

    spans: list[tuple[int, int]] = field(default_factory=list)
    items: list[tuple[int, int]] = field(default_factory=list)
    lists: list[list[tuple[int, int]]] = field(default_factory=list)
    pending: list[tuple[int, int]] = field(default_factory=list)
    has_bodies: bool = False

    def take(self, rule: str, children: Iterable[Any]) -> tuple[int, int] | None:
        """Books what a rule has found; its span."""
        found = []
        for child in children:
            if isinstance(child, tuple):
                found.append(child)
            elif child is not None and child.end_pos > child.start_pos:
                found.append((child.start_pos, child.end_pos))
                self.spans.append(found[-1])
        if not found:
            return None
        span = min(start for start, _ in found), max(end for _, end in found)
        if rule in _ATTRIBUTES:
            self.pending.append(span)
        elif rule in _HOLDERS:
            inside = [one for one in self.pending if one[0] >= span[0]]
            self.pending = [one for one in self.pending if one[0] < span[0]]
            # Bodies written inline are named by their order, and tables of debug attributes stand last.
            if not self.has_bodies:
                self.lists.append(inside)
        self.has_bodies |= rule == "inline_computation"
        if rule in _ITEMS:
            self.items.append(span)
        return span


_CURRENT = Tokens()


def _collecting(rule: Any) -> Callable[[list[Any]], Any]:
    name = str(rule.alias or rule.origin.name)
    return lambda children: _CURRENT.take(name, children)


def tokens_of(text: str) -> Tokens:
    """What the grammar sees in a text that parses; literals in all their parts."""
    global _CURRENT
    _CURRENT = Tokens()
    session = SimpleNamespace(text=text, fast_path=None, attribute_tokens=attribute_tokens(), previous_end=0, token_end=0)
    read_pieces(session, form_of(text), _collecting)
    _CURRENT.spans.sort()
    _CURRENT.items.sort()
    return _CURRENT


# ---- mangling ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mangled:
    """A mangled text and its inserted comments; `original` is the same with neither."""

    text: str
    comments: tuple[str, ...]
    original: str


def shuffled(text: str, random: Random) -> str:
    """The text with the attributes of some instructions in another order; unknown ones, whose order counts, stay."""
    known = attribute_tokens()
    edits = []
    for spans in tokens_of(text).lists:
        spans = [span for span in spans if text[span[0] : span[1]].partition("=")[0] in known]
        if len(spans) > 1 and random.random() < 0.6:
            pieces = [text[start:end] for start, end in spans]
            random.shuffle(pieces)
            edits += list(zip(spans, pieces, strict=True))
    for (start, end), piece in sorted(edits, reverse=True):
        text = text[:start] + piece + text[end:]
    return text


def mangled(text: str, random: Random, *, comments: float = 0.05, blanks: float = 0.2, order: bool = True, crlf: bool = False) -> Mangled:
    """The text with something in a part of its gaps; `comments` and `blanks` are how often."""
    source = shuffled(text, random) if order else text
    spans = tokens_of(source).spans
    out: list[str] = []
    inserted: list[str] = []
    end = 0
    for start, stop in [*spans, (len(source), len(source))]:
        gap = source[end:start]
        out.append(_gap(gap, random, comments, blanks, inserted, joins=source[end - 1 : end] in ("", ",", "{", "(", "[")))
        out.append(source[start:stop])
        end = stop
    made = "".join(out)
    if crlf:
        made = made.replace("\r\n", "\n").replace("\n", "\r\n")
        inserted = [comment.replace("\n", "\r\n") for comment in inserted]
    return Mangled(made, tuple(inserted), text)


def _gap(gap: str, random: Random, comments: float, blanks: float, inserted: list[str], *, joins: bool) -> str:
    chance = random.random()
    if chance < blanks:
        if "/" not in gap and joins and random.random() < 0.4:
            return ""
        gap = random.choice(_BLANKS) + (gap if "/" in gap or random.random() < 0.5 else "")
    elif chance < blanks + comments:
        for _ in range(random.choice((1, 1, 2))):
            comment = random.choice(_BLOCKS if random.random() < 0.5 else _LINES).format(len(inserted))
            inserted.append(comment.rstrip())
            gap = gap + comment + random.choice(("", " ", "\n")) if random.random() < 0.5 else random.choice(("", " ", "\n")) + comment + gap
    return gap


def gentle(text: str, random: Random) -> Mangled:
    """With comments, but no other whitespace."""
    return mangled(text, random, comments=random.choice((0.01, 0.03)), blanks=0)


def spelled(seed: int, instructions: int = 8, *, shuffle: bool = True) -> str:
    """A random module as it is generated, or as one of the printers spells it; without `shuffle` always printed."""
    text = random_module(seed, instructions, _STYLES[seed % 4])
    kind = seed // 4 % 4
    if kind == 0 and shuffle:
        return text
    module = parse(text)
    printed = to_text(module) if kind < 2 else to_text(module, _XLA if kind == 2 else _SHORT)
    try:
        parse(printed)
    except ParseError:
        # What XLA prints does not always read back: computations that are called by nobody move, and some sugar has no meaning.
        return to_text(module)
    return printed


def random_case(seed: int, instructions: int = 8) -> Mangled:
    """A module mangled in one of many ways."""
    random = Random(seed)
    text = spelled(seed, instructions)
    comments, blanks = random.choice((0, 0.01, 0.03, 0.1)), random.choice((0, 0.02, 0.2))
    return mangled(text, random, comments=comments, blanks=blanks, order=random.random() < 0.5, crlf=random.random() < 0.2)


# ---- the judgement ----------------------------------------------------------------------------------------------------


def _module(text: str) -> Module:
    return read_source(Source(text), strict=False)[0]


def fault(case: Mangled) -> str | None:
    """What is wrong with the formatted text of a mangled one."""
    after = format_text(case.text, checked=False)
    difference = next(differences(_module(case.original), _module(after)), None)
    if difference is not None:
        return f"another module: {difference}"
    if format_text(after, checked=False) != after:
        return "no fixed point"
    for comment in case.comments:
        if after.count(comment) != 1:
            return f"comment {comment!r} is there {after.count(comment)} times"
    moved = _moved(case.text, after) if case.comments else None
    if moved is not None:
        return moved
    if any(line != line.rstrip() for line in after.splitlines() if "<" not in line):
        return "whitespace at the end of a line"
    # An author's comments belong to other lines when line ends come between.
    if not case.comments and "//" not in case.original and _lines(after) != _lines(format_text(case.original, checked=False)):
        return "whitespace made a difference"
    return None


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@dataclass(frozen=True)
class Place:
    """How many items end before a comment; how many before each item that it stands in, of which bodies written inline make several."""

    before: int
    around: frozenset[int]


def _places(text: str) -> dict[str, Place]:
    """Where the inserted comments of a text stand."""
    items, places = tokens_of(text).items, {}

    def ended(at: int) -> int:
        return sum(1 for _, end in items if end <= at)

    for mark in _MARK.finditer(text):
        around = frozenset(ended(start) for start, end in items if start <= mark.start() < end)
        places[mark[0]] = Place(ended(mark.start()), around)
    return places


def _moved(before: str, after: str) -> str | None:
    """Comments between two items stay there; one inside an item may go before it if it cannot stay, or after it with the attribute it follows."""
    places = _places(after)
    for mark, place in _places(before).items():
        found = places.get(mark)
        allowed = {place.before, place.before + 1, *place.around} if place.around else {place.before}
        if found is None or found.before not in allowed or (found.around and not place.around):
            return f"comment {mark} moved from {place} to {found}"
    return None


def width_fault(text: str, width: int) -> str | None:
    """What is wrong with a formatted text that is broken into lines of `width` characters."""
    style = FormatStyle(width=width)
    wrapped = format_text(text, style, checked=False)
    difference = next(differences(_module(text), _module(wrapped)), None)
    if difference is not None:
        return f"another module: {difference}"
    if format_text(wrapped, style, checked=False) != wrapped:
        return "wrapping is no fixed point"
    if format_text(wrapped, checked=False) != format_text(text, checked=False):
        return "wrapping cannot be undone"
    return None
