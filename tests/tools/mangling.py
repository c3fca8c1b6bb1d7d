"""Mangles the text of modules and checks the formatter's results.

Mangling inserts random whitespace and comments between the tokens, and reorders attributes. The
checks do not depend on the formatter's own checks: each inserted comment contains a number that
identifies it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

from random_texts import Style, random_text

from hlotool.errors import ParseError, Source
from hlotool.ir.equal import differences
from hlotool.ir.model import Module
from hlotool.text.formatting.formatter import format_text
from hlotool.text.formatting.style import FormatStyle
from hlotool.text.parse.driver import parse_with_callbacks
from hlotool.text.parse.parser import form_of, parse, read_source
from hlotool.text.parse.session import attribute_tokens
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.printer import to_text

__all__ = ["Mangled", "Tokens", "commented", "formatting_fault", "mangled", "random_mangled", "shuffled", "spelled", "tokens_of", "width_fault"]

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
_SPACES = (" ", "  ", "\t", "\n", "\n\n", " \n\t ", "\n\n\n\n", "\r\n")
_BLOCKS = ("/*<{}>*/", "/* <{}> */", "/* <{}>\n   more */", '/** "<{}> */', "/* it's <{}> // */", "/* <{}> metadata={{ */", "/* <{}>, x=1 */")
_LINES = ("//<{}>\n", "// <{}>\n", '// "<{}>\n', "// it's <{}> /*\n", "// <{}> backend_config={{ \t\n", "// <{}>  \n\n")


@dataclass
class Tokens:
    """The spans of a text's tokens and items, in order, and of its attributes.

    `lists` contains the attributes of each list that may be reordered.
    """

    spans: list[tuple[int, int]] = field(default_factory=list)
    items: list[tuple[int, int]] = field(default_factory=list)
    lists: list[list[tuple[int, int]]] = field(default_factory=list)
    pending: list[tuple[int, int]] = field(default_factory=list)
    has_bodies: bool = False

    def record(self, rule: str, children: Iterable[Any]) -> tuple[int, int] | None:
        """Records the spans of the children of a rule.

        Returns the span of the rule, or None if it is empty.
        """
        spans = []
        for child in children:
            if isinstance(child, tuple):
                spans.append(child)
            elif child is not None and child.end_pos > child.start_pos:
                spans.append((child.start_pos, child.end_pos))
                self.spans.append(spans[-1])
        if not spans:
            return None
        span = min(start for start, _ in spans), max(end for _, end in spans)
        if rule in _ATTRIBUTES:
            self.pending.append(span)
        elif rule in _HOLDERS:
            attributes = [attribute for attribute in self.pending if attribute[0] >= span[0]]
            self.pending = [attribute for attribute in self.pending if attribute[0] < span[0]]
            # Inline computations are numbered in textual order, so attributes that contain one must
            # not be reordered.
            if not self.has_bodies:
                self.lists.append(attributes)
        self.has_bodies |= rule == "inline_computation"
        if rule in _ITEMS:
            self.items.append(span)
        return span


_CURRENT = Tokens()


def _collecting(rule: Any) -> Callable[[list[Any]], Any]:
    name = str(rule.alias or rule.origin.name)
    return lambda children: _CURRENT.record(name, children)


def tokens_of(text: str) -> Tokens:
    """Returns the tokens of a valid text.

    The fast path is off, so that literals are split into tokens, too.
    """
    global _CURRENT
    _CURRENT = Tokens()
    session = SimpleNamespace(text=text, fast_path=None, attribute_tokens=attribute_tokens(), previous_end=0, token_end=0)
    parse_with_callbacks(session, form_of(text), _collecting)
    _CURRENT.spans.sort()
    _CURRENT.items.sort()
    return _CURRENT


# ---- mangling ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mangled:
    """A mangled text, the comments inserted into it, and the original text."""

    text: str
    comments: tuple[str, ...]
    original: str


def shuffled(text: str, random: Random) -> str:
    """Returns the text with reordered attributes in some instructions.

    Unknown attributes, whose order matters, stay in place.
    """
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


def mangled(text: str, random: Random, *, comments: float = 0.05, spaces: float = 0.2, order: bool = True, crlf: bool = False) -> Mangled:
    """Returns the text with whitespace and comments in some of the gaps between tokens.

    `comments` and `spaces` are the probabilities for each gap.
    """
    source = shuffled(text, random) if order else text
    spans = tokens_of(source).spans
    out: list[str] = []
    inserted: list[str] = []
    end = 0
    for start, stop in [*spans, (len(source), len(source))]:
        gap = source[end:start]
        out.append(_gap(gap, random, comments, spaces, inserted, joins=source[end - 1 : end] in ("", ",", "{", "(", "[")))
        out.append(source[start:stop])
        end = stop
    result = "".join(out)
    if crlf:
        result = result.replace("\r\n", "\n").replace("\n", "\r\n")
        inserted = [comment.replace("\n", "\r\n") for comment in inserted]
    return Mangled(result, tuple(inserted), text)


def _gap(gap: str, random: Random, comments: float, spaces: float, inserted: list[str], *, joins: bool) -> str:
    chance = random.random()
    if chance < spaces:
        if "/" not in gap and joins and random.random() < 0.4:
            return ""
        gap = random.choice(_SPACES) + (gap if "/" in gap or random.random() < 0.5 else "")
    elif chance < spaces + comments:
        for _ in range(random.choice((1, 1, 2))):
            comment = random.choice(_BLOCKS if random.random() < 0.5 else _LINES).format(len(inserted))
            inserted.append(comment.rstrip())
            gap = gap + comment + random.choice(("", " ", "\n")) if random.random() < 0.5 else random.choice(("", " ", "\n")) + comment + gap
    return gap


def commented(text: str, random: Random) -> Mangled:
    """Returns the text with inserted comments, but no other changes to whitespace."""
    return mangled(text, random, comments=random.choice((0.01, 0.03)), spaces=0)


def spelled(seed: int, instructions: int = 8, *, shuffle: bool = True) -> str:
    """Returns the text of a random module, as generated, or as printed with random options.

    Without `shuffle`, always returns printed text.
    """
    text = random_text(seed, instructions, _STYLES[seed % 4])
    kind = seed // 4 % 4
    if kind == 0 and shuffle:
        return text
    module = parse(text)
    printed = to_text(module) if kind < 2 else to_text(module, _XLA if kind == 2 else _SHORT)
    try:
        parse(printed)
    except ParseError:
        # XLA cannot parse everything that it prints, for example unused computations.
        return to_text(module)
    return printed


def random_mangled(seed: int, instructions: int = 8) -> Mangled:
    """Returns a module mangled in one of many ways."""
    random = Random(seed)
    text = spelled(seed, instructions)
    comments, spaces = random.choice((0, 0.01, 0.03, 0.1)), random.choice((0, 0.02, 0.2))
    return mangled(text, random, comments=comments, spaces=spaces, order=random.random() < 0.5, crlf=random.random() < 0.2)


# ---- checks -----------------------------------------------------------------------------------------------------------


def _module(text: str) -> Module:
    return read_source(Source(text), strict=False)[0]


def formatting_fault(case: Mangled) -> str | None:
    """Returns a description of the formatter's fault on mangled text, or None."""
    after = format_text(case.text, checked=False)
    difference = next(differences(_module(case.original), _module(after)), None)
    if difference is not None:
        return f"formatting changes the module: {difference}"
    if format_text(after, checked=False) != after:
        return "formatting the text again changes it"
    for comment in case.comments:
        if after.count(comment) != 1:
            return f"comment {comment!r} occurs {after.count(comment)} times"
    moved = _moved(case.text, after) if case.comments else None
    if moved is not None:
        return moved
    if any(line != line.rstrip() for line in after.splitlines() if "<" not in line):
        return "whitespace at the end of a line"
    # Inserted line breaks may attach the original's own comments to different lines.
    if not case.comments and "//" not in case.original and _lines(after) != _lines(format_text(case.original, checked=False)):
        return "the inserted whitespace affects the formatted text"
    return None


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@dataclass(frozen=True)
class CommentPlace:
    """The position of a comment relative to items.

    `before` is the number of items that end before the comment. Inline computations nest items, so
    several items may contain the comment. For each of them, `around` contains the number of items
    that end before the containing item starts.
    """

    before: int
    around: frozenset[int]


def _positions(text: str) -> dict[str, CommentPlace]:
    """Returns the positions of the inserted comments in a text, by their numbers."""
    items, positions = tokens_of(text).items, {}

    def ended(offset: int) -> int:
        return sum(1 for _, end in items if end <= offset)

    for mark in _MARK.finditer(text):
        around = frozenset(ended(start) for start, end in items if start <= mark.start() < end)
        positions[mark[0]] = CommentPlace(ended(mark.start()), around)
    return positions


def _moved(before: str, after: str) -> str | None:
    """Returns a description of the first comment that moved too far, or None.

    A comment between items must stay between them. A comment inside an item may move to a position
    before or after the item.
    """
    positions = _positions(after)
    for mark, position in _positions(before).items():
        new_place = positions.get(mark)
        allowed = {position.before, position.before + 1, *position.around} if position.around else {position.before}
        if new_place is None or new_place.before not in allowed or (new_place.around and not position.around):
            return f"comment {mark} moved from {position} to {new_place}"
    return None


def width_fault(text: str, width: int) -> str | None:
    """Returns a description of the formatter's fault for lines of `width` characters, or None."""
    style = FormatStyle(width=width)
    wrapped = format_text(text, style, checked=False)
    difference = next(differences(_module(text), _module(wrapped)), None)
    if difference is not None:
        return f"formatting changes the module: {difference}"
    if format_text(wrapped, style, checked=False) != wrapped:
        return "wrapping the text again changes it"
    if format_text(wrapped, checked=False) != format_text(text, checked=False):
        return "formatting without a width does not undo the wrapping"
    return None
