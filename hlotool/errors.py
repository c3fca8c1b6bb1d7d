"""Sources, diagnostics and the exceptions that carry them.

Everything above reports problems in these terms; nothing here knows what HLO is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

__all__ = [
    "Diagnostic",
    "Edit",
    "EditError",
    "EvaluationError",
    "Fix",
    "HlotoolError",
    "InternalError",
    "ParseError",
    "Source",
    "Violation",
    "nearest",
]


class Source:
    """A text with its name; turns character offsets into lines and columns when asked.

    >>> Source("ab\\ncd", "m.hlo").line_column(4)
    (2, 2)
    """

    __slots__ = ("_starts", "filename", "first_line", "text")

    def __init__(self, text: str, filename: str = "<string>", first_line: int = 1) -> None:
        self.text = text
        self.filename = filename
        self.first_line = first_line
        self._starts: list[int] | None = None

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            lengths = [len(line) + 1 for line in self.text.split("\n")]
            self._starts = [0, *accumulate(lengths[:-1])]
        return self._starts

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column of `offset`, both counted from 1; offsets past the end are clamped."""
        offset = max(0, min(offset, len(self.text)))
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line + self.first_line - 1, offset - starts[line - 1] + 1

    def line_start(self, line: int) -> int:
        """Offset of the first character of `line`, counted from `first_line`; lines that the text does not have are clamped."""
        starts, index = self._line_starts(), line - self.first_line
        if index < 0:
            return 0
        return starts[index] if index < len(starts) else len(self.text)

    def line_text(self, line: int) -> str:
        """The text of `line` (counted from 1) without its line end; empty when there is no such line."""
        starts, index = self._line_starts(), line - self.first_line
        if not 0 <= index < len(starts):
            return ""
        end = starts[index + 1] if index + 1 < len(starts) else len(self.text)
        return self.text[starts[index] : end].rstrip("\r\n")


class Edit(NamedTuple):
    """A change of a text: `text` takes the place of what stands between two offsets into the source.

    >>> Edit(3, 4, "x")
    Edit(start=3, end=4, text='x')
    """

    start: int
    end: int
    text: str


class Fix(NamedTuple):
    """Edits that end a finding; they do not overlap. A safe fix leaves what the module computes as it is.

    >>> Fix((Edit(0, 0, "ROOT "),), "make it the root").is_safe
    True
    """

    edits: tuple[Edit, ...]
    title: str
    is_safe: bool = True


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding, at one place: what every command reports and every output format renders.

    `severity` is "error", "warning" or "info"; lines and columns count from 1, the end is exclusive. `op_name`, `source_file` and
    `source_line` say which line of which program the instruction was made from, where the module knows; `fix` is there when it was asked for.

    >>> str(Diagnostic("S002", "undefined-operand", "error", "no instruction named 'x'", "m.hlo", 4, 7))
    "m.hlo:4:7: error[S002] undefined-operand: no instruction named 'x'"
    """

    code: str
    name: str
    severity: str
    message: str
    filename: str = "<string>"
    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1
    hint: str | None = None
    notes: tuple[str, ...] = ()
    computation: str | None = None
    instruction: str | None = None
    op_name: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    fix: Fix | None = None

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column}: {self.severity}[{self.code}] {self.name}: {self.message}"


class HlotoolError(Exception):
    """Base of every exception that hlotool raises on purpose; `diagnostics` say what and where."""

    exit_code = 1

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] | list[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = list(diagnostics)


class ParseError(HlotoolError):
    """The text is not HLO that XLA would read."""

    exit_code = 2

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        more = f" (and {len(diagnostics) - 1} more)" if len(diagnostics) > 1 else ""
        super().__init__(str(diagnostics[0]) + more, diagnostics)


class EvaluationError(HlotoolError):
    """The module cannot be run, or not on these arguments."""

    exit_code = 2

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        more = f" (and {len(diagnostics) - 1} more)" if len(diagnostics) > 1 else ""
        super().__init__(str(diagnostics[0]) + more, diagnostics)


class EditError(HlotoolError):
    """A change of a module that cannot be: an instruction that is still used, an unknown opcode, a name that is taken."""

    exit_code = 2


class InternalError(HlotoolError):
    """A safety check of hlotool itself failed; nothing was written."""

    exit_code = 3


class Violation(Exception):
    """A rule is broken: raised by op definitions and value codecs, turned into a Diagnostic by whoever knows the place.

    `at` names what is to blame, in the words that `text.source.places` lists: an attribute ("slice_sizes"), "operand 1", "shape", "opcode", or a
    character offset.
    """

    def __init__(self, code: str, at: str | int, message: str, hint: str | None = None, notes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.at = at
        self.message = message
        self.hint = hint
        self.notes = notes


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that was probably meant: the one at the smallest edit distance, if at most a third of the word differs.

    Written out because importing difflib would cost every start 3 ms.

    >>> nearest("tranpose", ["transpose", "reverse"])
    'transpose'
    """
    word = word.lower()[:64]
    best, limit = None, max(1, len(word) // 3)
    for candidate in candidates:
        if abs(len(candidate) - len(word)) <= limit:
            distance = _edit_distance(word, candidate.lower(), limit)
            if distance <= limit and (best is None or distance < limit):
                best, limit = candidate, distance
    return best


def _edit_distance(first: str, second: str, limit: int) -> int:
    """Levenshtein's distance, or more than `limit` as soon as that is certain."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        previous, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
        if min(row) > limit:
            return limit + 1
    return row[-1]
