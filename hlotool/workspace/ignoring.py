"""Git's ignore files: finds the files and folders that git ignores, without running git.

Git itself is not run, since a repository may come from an untrusted source, and its configuration
can specify programs for git to run. The patterns cannot be trusted either, so they are matched in
linear time.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hlotool.workspace.reading import is_link, read_bounded

__all__ = ["IgnoreRules", "rules_for"]

# In bytes. Ignore files written by hand are a few kilobytes long.
_MAX_FILE_SIZE = 1 << 18
# In bytes. No system allows longer paths.
_MAX_PATH_LENGTH = 4096
# The maximum number of patterns in all ignore files that apply to a folder.
_MAX_PATTERNS = 20_000
# The maximum number of patterns with wildcards among these: each is tried for each entry, while
# patterns without wildcards are looked up. Large projects have about 200 such patterns.
_MAX_TRIED = 500
_WILDCARD = re.compile(rb"[\\*?\[]")
_CLASSES = {
    "alnum": string.ascii_letters + string.digits, "alpha": string.ascii_letters, "blank": " \t", "cntrl": "".join(map(chr, [*range(32), 127])),
    "digit": string.digits, "graph": "".join(map(chr, range(33, 127))), "lower": string.ascii_lowercase, "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation, "space": string.whitespace, "upper": string.ascii_uppercase, "xdigit": string.hexdigits,
}  # fmt: skip


class _Pattern(NamedTuple):
    """A line of an ignore file.

    `segments` contains a regular expression for each part of a path, or None for any number of
    parts. If `is_name` is True, the only segment matches the last part of a path. A pattern without
    wildcards has no segments; `literal` is the only path or name that it matches.
    """

    segments: tuple[re.Pattern[bytes] | None, ...]
    literal: tuple[bytes, ...] | None
    is_name: bool
    is_negated: bool
    needs_folder: bool

    def matches(self, parts: Sequence[bytes]) -> bool:
        if self.is_name:
            (segment,) = self.segments
            return segment is not None and segment.fullmatch(parts[-1]) is not None
        return _match(self.segments, parts)


class _Patterns:
    """The patterns of an ignore file. The last matching pattern decides."""

    __slots__ = ("count", "literal", "negated", "tried")

    def __init__(self, patterns: Iterable[_Pattern], most: int, most_tried: int) -> None:
        # The positions of patterns without wildcards. A key consists of `is_name`, `literal` and
        # `needs_folder`.
        self.literal: dict[tuple[bool, tuple[bytes, ...], bool], int] = {}
        self.tried: list[tuple[int, _Pattern]] = []
        self.negated: set[int] = set()
        self.count = 0
        for pattern in patterns:
            if pattern.literal is None and len(self.tried) >= most_tried:
                continue
            if self.count >= most:
                break
            if pattern.literal is None:
                self.tried.append((self.count, pattern))
            else:
                self.literal[pattern.is_name, pattern.literal, pattern.needs_folder] = self.count
            if pattern.is_negated:
                self.negated.add(self.count)
            self.count += 1

    def ignore(self, path: tuple[bytes, ...], *, is_folder: bool) -> bool | None:
        """Returns whether the patterns ignore an entry; None if no pattern matches."""
        last = -1
        for is_name, literal in ((True, path[-1:]), (False, path)):
            for needs_folder in (False, True)[: 1 + is_folder]:
                last = max(last, self.literal.get((is_name, literal, needs_folder), -1))
        for number, pattern in reversed(self.tried):
            if number < last:
                break
            if (is_folder or not pattern.needs_folder) and pattern.matches(path):
                last = number
                break
        return None if last < 0 else last not in self.negated


class IgnoreRules:
    """The patterns that apply to the entries of a folder.

    Each level consists of the patterns of an ignore file, and of the path from that file's folder
    to this folder. Later levels take precedence over earlier ones.
    """

    __slots__ = ("folder", "levels")

    def __init__(self, folder: str, levels: Sequence[tuple[_Patterns, tuple[bytes, ...]]]) -> None:
        self.folder = folder
        budget = _MAX_PATTERNS - sum(patterns.count for patterns, _ in levels)
        budget_tried = _MAX_TRIED - sum(len(patterns.tried) for patterns, _ in levels)
        own = _Patterns(_patterns_in(os.path.join(folder, ".gitignore")), budget, budget_tried)  # noqa: PTH118
        self.levels = [*levels, (own, ())] if own.count else levels

    @classmethod
    def for_repository(cls, root: str) -> IgnoreRules:
        """Returns the rules for the root of a repository."""
        exclude = os.path.join(root, ".git", "info", "exclude")  # noqa: PTH118
        return cls(root, [(_Patterns(_patterns_in(exclude), _MAX_PATTERNS, _MAX_TRIED), ())])

    def rules_in(self, name: str) -> IgnoreRules:
        """Returns the rules for a subfolder; a nested repository has its own rules."""
        folder = os.path.join(self.folder, name)  # noqa: PTH118
        if _is_repository(folder):
            return self.for_repository(folder)
        part = os.fsencode(name)
        return IgnoreRules(folder, [(patterns, (*parts, part)) for patterns, parts in self.levels])

    def ignore(self, name: str, *, is_folder: bool) -> bool:
        """Returns whether git ignores an entry of the folder."""
        part = os.fsencode(name)
        for patterns, parts in reversed(self.levels):
            found = patterns.ignore((*parts, part), is_folder=is_folder)
            if found is not None:
                return found
        return False


def rules_for(folder: str) -> IgnoreRules | None:
    """Returns the rules for a folder; None if it is not in a repository.

    Also returns None if the folder itself is ignored, since the user has explicitly named it.
    """
    at = Path(os.path.realpath(folder))
    root = next((parent for parent in (at, *at.parents) if _is_repository(str(parent))), None)
    if root is None:
        return None
    rules = IgnoreRules.for_repository(str(root))
    for name in at.relative_to(root).parts:
        if rules.ignore(name, is_folder=True):
            return None
        rules = rules.rules_in(name)
    return rules


def _is_repository(folder: str) -> bool:
    # Path.exists raises an exception for folders without search permission.
    return os.path.exists(os.path.join(folder, ".git"))  # noqa: PTH110, PTH118


# ---- reading -----------------------------------------------------------------------------------


def _patterns_in(path: str) -> Iterator[_Pattern]:
    """Yields the patterns of an ignore file.

    Yields nothing if the file cannot be read, or if it is too large, a link or a device. Git does
    not follow links either.
    """
    if is_link(path):
        return
    try:
        data = read_bounded(path, _MAX_FILE_SIZE, needs_file=True)
    except (OSError, ValueError):
        return
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        pattern = _pattern(line.removesuffix(b"\r"))
        if pattern is not None:
            yield pattern


def _pattern(line: bytes) -> _Pattern | None:
    """Returns the pattern in a line; None for comments and empty lines.

    Also returns None for patterns that match nothing or are longer than any path.
    """
    if line.startswith(b"#") or len(line) > _MAX_PATH_LENGTH:
        return None
    text = line.partition(b"\0")[0]
    stripped = text.rstrip(b" ")
    is_escaped = (len(stripped) - len(stripped.rstrip(b"\\"))) % 2 == 1
    text = text[: len(stripped) + 1] if is_escaped else stripped
    is_negated = text.startswith(b"!")
    text = text[is_negated:]
    needs_folder = text.endswith(b"/")
    text = text.removesuffix(b"/")
    is_name = b"/" not in text
    text = text.removeprefix(b"/")
    if not text:
        return None
    if not _WILDCARD.search(text):
        return _Pattern((), tuple(text.split(b"/")), is_name, is_negated, needs_folder)
    segments = _segments(text, is_name=is_name)
    return None if segments is None else _Pattern(segments, None, is_name, is_negated, needs_folder)


def _segments(text: bytes, *, is_name: bool) -> tuple[re.Pattern[bytes] | None, ...] | None:
    """Returns the regular expressions for the parts of a path.

    Returns None if the pattern is not valid and matches nothing.
    """
    # For each segment, regular expressions for its characters, and None for a star.
    segments: list[list[bytes | None]] = [[]]
    is_deep = [False]
    at = 0
    while at < len(text):
        char = text[at : at + 1]
        if char == b"\\":
            at += 1
            char = text[at : at + 1]
            if not char:
                return None
            is_special = False
        else:
            is_special = True
        at += 1
        if char == b"/":
            segments.append([])
            is_deep.append(False)
        elif is_special and char == b"*":
            end = at + len(text[at:]) - len(text[at:].lstrip(b"*"))
            is_whole = not segments[-1] and (end == len(text) or text.startswith((b"/", b"\\/"), end))
            is_deep[-1] = end > at and is_whole and not is_name
            segments[-1].append(None)
            at = end
        elif is_special and char == b"?":
            segments[-1].append(b".")
        elif is_special and char == b"[":
            bracket = _bracket(text, at)
            if bracket is None:
                return None
            chars, at = bracket
            segments[-1].append(chars)
        else:
            segments[-1].append(re.escape(char))
    found = [None if deep else _expression(segment) for segment, deep in zip(segments, is_deep, strict=True)]
    # At the end, two stars stand for the contents of a folder, not for the folder.
    return (*found, _expression([None])) if is_deep[-1] else tuple(found)


def _expression(segment: Sequence[bytes | None]) -> re.Pattern[bytes]:
    """Returns the regular expression for a part of a path."""
    pieces: list[bytes] = [b""]
    for item in segment:
        if item is None:
            pieces.append(b"")
        else:
            pieces[-1] += item
    first, *others = pieces
    if others:
        # The text between two stars matches as early as possible, and is never tried again, which
        # keeps the time linear.
        first += b"".join(b"(?>.*?%s)" % piece for piece in others[:-1] if piece) + b".*" + others[-1]
    return re.compile(first, re.DOTALL)


def _bracket(text: bytes, at: int) -> tuple[bytes, int] | None:
    """Returns a regular expression for the characters in brackets, and the end of the brackets.

    Returns None if the brackets are not closed.
    """
    is_negated = text[at : at + 1] in (b"!", b"^")
    at += is_negated
    found: set[int] = set()
    before: int | None = None
    is_first = True
    while is_first or text[at : at + 1] != b"]":
        is_first = False
        char = text[at : at + 1]
        if char == b"[" and text[at + 1 : at + 2] == b":":
            end = text.find(b"]", at + 2)
            if end < 0:
                return None
            name = text[at + 2 : end]
            if name.endswith(b":"):
                members = _CLASSES.get(name[:-1].decode("latin-1"))
                if members is None:
                    return None
                found.update(members.encode())
                before, at = None, end + 1
                continue
        is_range = char == b"-" and before is not None and text[at + 1 : at + 2] not in (b"", b"]")
        at += is_range
        at += text[at : at + 1] == b"\\"
        if at >= len(text):
            return None
        last = text[at]
        found.update(range(before, last + 1) if is_range and before is not None else (last,))
        before = None if is_range else last
        at += 1
    members_found = sorted((set(range(256)) - found if is_negated else found) - {ord("/")})
    return (b"[%s]" % b"".join(b"\\x%02x" % char for char in members_found) if members_found else b"(?!)"), at + 1


# ---- matching ----------------------------------------------------------------------------------


def _match(segments: Sequence[re.Pattern[bytes] | None], parts: Sequence[bytes]) -> bool:
    """Returns whether the segments match all parts.

    Since each segment matches one part, only the last None that was reached has to be tried again.
    """
    i = j = 0
    retry: tuple[int, int] | None = None
    while j < len(parts):
        if i < len(segments):
            segment = segments[i]
            if segment is None:
                i, retry = i + 1, (i + 1, j)
                continue
            if segment.fullmatch(parts[j]):
                i, j = i + 1, j + 1
                continue
        if retry is None:
            return False
        i, j = retry[0], retry[1] + 1
        retry = i, j
    return all(segment is None for segment in segments[i:])
