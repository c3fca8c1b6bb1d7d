"""Sources, diagnostics, fixes and exceptions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate
from typing import Any, NamedTuple

__all__ = [
    "BuilderError",
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
    "visible",
]

# Limits of `nearest`. Only the beginning of a longer word is compared, since such a word is hardly
# a misspelled name. A less similar candidate would be a mere guess.
_MAX_WORD = 64
_MIN_SIMILARITY = 0.6


class Source:
    """Source text with the name of its file; converts offsets to lines and columns.

    If the text is only a part of the file, `first_line` is the number of the line at which the text
    begins. Offsets count characters from 0.

    >>> Source("ab\\ncd", "m.hlo").line_column(4)
    (2, 2)
    """

    __slots__ = ("_starts", "filename", "first_line", "text")

    text: str
    filename: str
    first_line: int
    _starts: list[int] | None

    def __init__(self, text: str, filename: str = "<string>", first_line: int = 1) -> None:
        self.text = text
        self.filename = filename
        self.first_line = first_line
        self._starts = None

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            lengths = [len(line) + 1 for line in self.text.split("\n")]
            self._starts = [0, *accumulate(lengths[:-1])]
        return self._starts

    def line_column(self, offset: int) -> tuple[int, int]:
        """Returns the line and column of an offset, counted from 1.

        Offsets outside the text are clamped.
        """
        offset = max(0, min(offset, len(self.text)))
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line + self.first_line - 1, offset - starts[line - 1] + 1

    def line_start(self, line: int) -> int:
        """Returns the offset of the first character of `line`, counted from `first_line`.

        Lines outside the text are clamped.
        """
        starts, index = self._line_starts(), line - self.first_line
        if index < 0:
            return 0
        return starts[index] if index < len(starts) else len(self.text)

    def offset(self, line: int, column: int) -> int:
        """Returns the offset of a line and column: the inverse of `line_column`."""
        return self.line_start(line) + column - 1

    def original_edits(self, edits: Iterable[Edit]) -> tuple[Edit, ...] | None:
        """Converts edits of this text to edits of the user's original text, which may differ.

        Returns None if the original cannot be edited in this way.
        """
        return tuple(edits)

    def line_text(self, line: int) -> str:
        """Returns the text of `line`, counted from `first_line`, without its line ending.

        Returns an empty string for lines outside the text.
        """
        starts, index = self._line_starts(), line - self.first_line
        if not 0 <= index < len(starts):
            return ""
        end = starts[index + 1] if index + 1 < len(starts) else len(self.text)
        return self.text[starts[index] : end].rstrip("\r\n")


class Edit(NamedTuple):
    """A change to a source: replaces the characters from offset `start` up to `end` with `text`.

    >>> Edit(3, 4, "x")
    Edit(start=3, end=4, text='x')
    """

    start: int
    end: int
    text: str


class Fix(NamedTuple):
    """Edits that resolve a diagnostic; they do not overlap.

    A safe fix does not change the results of the module.

    >>> Fix((Edit(0, 0, "ROOT "),), "make it the root").is_safe
    True
    """

    edits: tuple[Edit, ...]
    title: str
    is_safe: bool = True


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem at a position in a source.

    `severity` is "error", "warning" or "info". Lines and columns count from 1, and the end is
    exclusive. `computation` and `instruction` are names. `op_name`, `source_file` and `source_line`
    come from the metadata of the instruction. `fix` is set only if fixes were requested. `others`
    holds the names of further instructions that the message counts but does not name; if
    `instruction` is None, the names are those of computations.

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
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column}: {self.severity}[{self.code}] {self.name}: {self.message}"


class HlotoolError(Exception):
    """Base class of the exceptions that hlotool raises.

    `diagnostics` holds the problems with their positions, if there are any. `exit_code` is the exit
    code of a command that this exception ends.
    """

    exit_code = 1

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] | list[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = list(diagnostics)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


class ParseError(HlotoolError):
    """Raised for text that XLA's parser would reject; `diagnostics` lists all errors in it."""

    exit_code = 2

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        more = f" (and {len(diagnostics) - 1} more)" if len(diagnostics) > 1 else ""
        super().__init__(str(diagnostics[0]) + more, diagnostics)


class EvaluationError(HlotoolError):
    """Raised for a module that cannot be run, or cannot be run with the given arguments."""

    exit_code = 2

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        more = f" (and {len(diagnostics) - 1} more)" if len(diagnostics) > 1 else ""
        super().__init__(str(diagnostics[0]) + more, diagnostics)


class BuilderError(HlotoolError):
    """Raised by a builder method if its arguments are invalid.

    Each of the `diagnostics` identifies the method, the argument and the line of the call.
    """

    exit_code = 2

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        first = diagnostics[0]
        more = f" (and {len(diagnostics) - 1} more)" if len(diagnostics) > 1 else ""
        hint = f"\n{first.hint}" if first.hint else ""
        super().__init__(f"{first}{more}{hint}", diagnostics)


class EditError(HlotoolError):
    """Raised for an impossible change to a module.

    Examples are the removal of an instruction that is still used, an unknown opcode, and a name
    that is already taken.
    """

    exit_code = 2


class InternalError(HlotoolError):
    """Raised if a self-check of hlotool fails, which is a bug; no file has been changed."""

    exit_code = 3


class Violation(Exception):
    """Raised by op definitions and codecs if a rule is broken.

    Callers that know the position in the source convert the violation to a Diagnostic. `at` is the
    part to point to: a name listed in `text.source.part_names` (such as "operand 1", "shape", or
    the name of an attribute such as "slice_sizes"), or an offset. `severity` overrides the severity
    of the code.
    """

    def __init__(
        self, code: str, at: str | int, message: str, hint: str | None = None, notes: tuple[str, ...] = (), severity: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.at = at
        self.message = message
        self.hint = hint
        self.notes = notes
        self.severity = severity

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[Exception], arguments: tuple[Any, ...], fields: dict[str, Any]) -> Exception:
    """Restores a pickled exception; the constructors take arguments other than the message."""
    error = cls.__new__(cls, *arguments)
    error.__dict__.update(fields)
    return error


def visible(text: str) -> str:
    """Returns the text with control characters escaped, so that input cannot control the terminal.

    >>> visible("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Returns the candidate that was probably meant, or None if none is similar enough.

    Case does not matter.

    >>> nearest("tranpose", ["transpose", "reverse"])
    'transpose'
    """
    by_word: dict[str, str] = {}
    for candidate in candidates:
        by_word.setdefault(candidate.lower(), candidate)
    # Imported only when a message needs it, since the import takes 3 ms.
    matches = import_module("difflib").get_close_matches(word.lower()[:_MAX_WORD], by_word, n=1, cutoff=_MIN_SIMILARITY)
    return by_word[matches[0]] if matches else None
