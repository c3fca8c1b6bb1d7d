"""Translates the grammar's regular expressions to the dialects of other programs.

A terminal of the grammar is a Python regular expression. `parse` reads the subset of Python's
syntax that terminals use; a `Dialect` writes the parsed expression for Oniguruma (TextMate, Ruby),
Vim, Emacs or tree-sitter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

__all__ = ["EMACS", "JAVASCRIPT", "ONIGURUMA", "VIM", "Delimited", "Dialect", "delimited_parts", "parse", "words"]


class Text(NamedTuple):
    """A literal character."""

    char: str


class Class(NamedTuple):
    """A character set, as written between brackets but without the caret."""

    negated: bool
    body: str


class Group(NamedTuple):
    """Alternatives in parentheses.

    `opening` is the text after the opening parenthesis: `?:`, `?=`, `?!`, `?<=`, `?<!`, or nothing
    for a capturing group.
    """

    opening: str
    alternatives: tuple[tuple[Node, ...], ...]


class Repeat(NamedTuple):
    """A repetition: `*`, `+`, `?` or `{2,}`, possessive or not."""

    node: Node
    times: str
    possessive: bool


Node = Text | Class | Group | Repeat
Sequence = tuple[Node, ...]

_PIECE = re.compile(r"\[(\^?)((?:[^\]\\]|\\.)+)\]|\((\?(?:[:=!]|<[=!])|)|([|)])|([*+?]|\{[0-9]+(?:,[0-9]*)?\})([+]?)|\\(.)|(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_NAMED = str.maketrans({char: f"\\{name}" for name, char in _ESCAPES.items()})


@lru_cache(maxsize=1024)
def parse(pattern: str) -> tuple[Sequence, ...]:
    """Returns the alternatives of a regular expression.

    >>> parse("[^a]++")
    ((Repeat(node=Class(negated=True, body='a'), times='+', possessive=True),),)
    """
    # The open groups: their openings, and their alternatives so far.
    open_groups: list[tuple[str, list[list[Node]]]] = [("?:", [[]])]
    for piece in _PIECE.finditer(pattern):
        caret, body, opening, structure, count, possessive, escaped, char = piece.groups()
        last = open_groups[-1][1][-1]
        if body is not None:
            # Lark has replaced the escapes in the grammar with the characters themselves.
            last.append(Class(bool(caret), body.translate(_NAMED)))
        elif opening is not None:
            open_groups.append((opening, [[]]))
        elif structure == "|":
            open_groups[-1][1].append([])
        elif structure is not None:
            kind, alternatives = open_groups.pop()
            open_groups[-1][1][-1].append(Group(kind, tuple(map(tuple, alternatives))))
        elif count is not None:
            last.append(Repeat(last.pop(), count, bool(possessive)))
        else:
            last.append(Text(char if escaped is None else _ESCAPES.get(escaped, escaped)))
    return tuple(map(tuple, open_groups[0][1]))


class Dialect(NamedTuple):
    """A dialect of regular expressions: functions that write each kind of node.

    The functions receive the parts of the node, already written in the dialect.
    """

    text: Callable[[str], str]
    characters: Callable[[bool, str], str]
    group: Callable[[str, str], str]
    repeat: Callable[[str, str, bool], str]
    bar: str
    has_lookaround: bool = True

    def of(self, pattern: str) -> str:
        """Translates a Python regular expression to this dialect."""
        return self.write(parse(pattern))

    def write(self, alternatives: tuple[Sequence, ...]) -> str:
        """Writes a parsed regular expression in this dialect.

        Lookaround is dropped if the dialect does not support it.
        """
        if not self.has_lookaround:
            alternatives = _without_lookaround(alternatives)
        # The recursion is shallow: groups in terminals nest at most four levels deep.
        return self.bar.join("".join(map(self._node, sequence)) for sequence in alternatives)

    def _node(self, node: Node) -> str:
        if isinstance(node, Text):
            return self.text(node.char)
        if isinstance(node, Class):
            return self.characters(*node)
        if isinstance(node, Group):
            return self.group(node.opening, self.write(node.alternatives))
        return self.repeat(self._node(node.node), node.times, node.possessive)


def _escaper(special: str) -> Callable[[str], str]:
    return lambda char: f"\\{char}" if char in special else char.translate(_NAMED)


def _same_characters(negated: bool, body: str) -> str:
    return f"[{'^' * negated}{body}]"


def _same_group(opening: str, inside: str) -> str:
    return f"({opening}{inside})"


def _possessive(node: str, count: str, possessive: bool) -> str:
    # Oniguruma reads `{2,}+` as a repetition of a repetition.
    if possessive and count.startswith("{"):
        return f"(?>{node}{count})"
    return f"{node}{count}{'+' * possessive}"


ONIGURUMA = Dialect(_escaper(r"\/.*+?|()[]{}^$#"), _same_characters, _same_group, _possessive, "|")
"""The dialect of TextMate grammars and Ruby."""

_VIM_GROUPS = {"": r"\(%s\)", "?:": r"\%%(%s\)", "?=": r"\%%(%s\)\@=", "?!": r"\%%(%s\)\@!", "?<=": r"\%%(%s\)\@<=", "?<!": r"\%%(%s\)\@<!"}


def _vim_repeat(node: str, count: str, possessive: bool) -> str:
    repeated = node + (count if count == "*" else f"\\{count}")
    return rf"\%({repeated}\)\@>" if possessive else repeated


VIM = Dialect(_escaper(r"\/.*^$~[]"), _same_characters, lambda opening, inside: _VIM_GROUPS[opening] % inside, _vim_repeat, r"\|")
"""The dialect of Vim, with the option `magic`."""


def _emacs_characters(negated: bool, body: str) -> str:
    """Writes a set. Emacs has no escapes in sets: `]` must be first, `-` last, and `^` not first."""
    units = re.findall(r"\\(?:.)-\\?.|\\.|[^\\]-[^\\]|.", body, re.DOTALL)
    plain = [unit if len(unit) == 3 and unit[1] == "-" else _ESCAPES.get(unit[-1], unit[-1]) if unit.startswith("\\") else unit for unit in units]
    last = [unit for unit in ("^", "-") if unit in plain]
    first = [unit for unit in ("]",) if unit in plain]
    middle = [unit for unit in plain if unit not in ("^", "-", "]")]
    return f"[{'^' * negated}{''.join([*first, *middle, *last])}]"


_EMACS_GROUPS = {"": r"\(%s\)", "?:": r"\(?:%s\)"}


def _emacs_repeat(node: str, count: str, possessive: bool) -> str:
    return node + (rf"\{count[:-1]}\}}" if count.startswith("{") else count)


EMACS = Dialect(
    lambda char: f"\\{char}" if char in r"\.*+?[]^$" else char,
    _emacs_characters,
    lambda opening, inside: _EMACS_GROUPS[opening] % inside,
    _emacs_repeat,
    r"\|",
    has_lookaround=False,
)
"""The dialect of Emacs."""


def _javascript_repeat(node: str, count: str, possessive: bool) -> str:
    # tree-sitter misreads `{2,}`.
    return f"{node}{node}+" if count == "{2,}" else node + count


JAVASCRIPT = Dialect(_escaper(r"\/.*+?|()[]{}^$"), _same_characters, _same_group, _javascript_repeat, "|", has_lookaround=False)
"""The part of JavaScript's dialect that tree-sitter supports."""


class Delimited(NamedTuple):
    """A token that may span several lines: its opening, its repeated content and its closing.

    The closing is empty if the token ends at the end of its line.
    """

    open: tuple[Sequence, ...]
    content: tuple[Sequence, ...]
    close: tuple[Sequence, ...]


def delimited_parts(pattern: str) -> list[Delimited]:
    """Splits the pattern of a delimited token, such as a string or a comment, into its parts.

    Returns [] for other patterns. Most editors match regular expressions line by line, and handle
    strings and comments separately.

    >>> [VIM.write(part.close) for part in delimited_parts('"[^"]*+"|//[^\\n]*+')]
    ['"', '']
    """
    found = []
    for sequence in parse(pattern):
        at = next((number for number, node in enumerate(sequence) if not isinstance(node, Text)), len(sequence))
        repeated = sequence[at] if at < len(sequence) else None
        if not at or not isinstance(repeated, Repeat) or not all(isinstance(node, Text) for node in sequence[at + 1 :]):
            return []
        node = repeated.node
        content = node.alternatives if isinstance(node, Group) else ((node,),)
        found.append(Delimited((sequence[:at],), content, (sequence[at + 1 :],)))
    return found if any(part.close != ((),) for part in found) else []


def words(pattern: str) -> list[str]:
    """Returns all strings that a pattern matches, ignoring lookaround.

    Returns an empty list if the pattern contains a repetition, or a set of anything but letters.

    >>> words("(?:may|must)-alias(?![a-z])"), words("[0-9]+")
    (['may-alias', 'must-alias'], [])
    """
    return _words(_without_lookaround(parse(pattern))) or []


def _words(alternatives: tuple[Sequence, ...]) -> list[str] | None:
    found: list[str] = []
    for sequence in alternatives:
        texts = [""]
        for node in sequence:
            if isinstance(node, Text):
                here: list[str] | None = [node.char]
            elif isinstance(node, Group):
                here = _words(node.alternatives)
            else:
                here = list(node.body) if isinstance(node, Class) and node.body.isalpha() and not node.negated else None
            if here is None:
                return None
            texts = [text + word for text in texts for word in here]
        found += texts
    return found


def _without_lookaround(alternatives: tuple[Sequence, ...]) -> tuple[Sequence, ...]:
    kept = []
    for sequence in alternatives:
        nodes: list[Node] = []
        for node in sequence:
            if isinstance(node, Repeat) and isinstance(node.node, Group):
                nodes.append(node._replace(node=node.node._replace(alternatives=_without_lookaround(node.node.alternatives))))
            elif not isinstance(node, Group):
                nodes.append(node)
            elif node.opening in {"", "?:"}:
                nodes.append(node._replace(alternatives=_without_lookaround(node.alternatives)))
        kept.append(tuple(nodes))
    return tuple(kept)
