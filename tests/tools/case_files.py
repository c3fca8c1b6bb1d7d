"""Reads case files: `.hlo` files that contain their expected results.

This module only reads the notation; `conftest` decides how the cases of a folder are checked.

* `// -----` separates cases.
* `// output` comes before the expected output.
* `// error: S002` is on the line that a diagnostic must point to. `// error@-1: S001` points to
  another line, given relative to the line of the comment. `:12` after the code is the column, and
  the words after `~` must occur in the message, the hint or the notes.
* `// warning: T082` announces a warning whose code is an error in other cases.
* `// modes: reshape_is_bitcast memory_budget=64 stage=after-opt` enables modes of the verifier for
  the case, or gives them a value.
* `// expect: {1, 2}` is the value of the entry computation, one line for each leaf of a tuple;
  `// expect about:` allows for rounding.
* `// devices: replicas=2 partitions=3` is the number of devices that a case runs on. Then
  `// input 0: 7` is an argument of device 0, one line for each leaf, `// expect 0:` a leaf of its
  result, `// infeed 0:` an item of its infeed queue, and `// outfeed 0:` an item that it writes to
  its outfeed.
* `// to` separates two modules that are compared; `// ignore: names` lists categories of
  differences that do not count.
* `// style: width=80, lines=3:4` on the first line of a case sets the options for formatting it;
  the line is part of the formatted text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "Case",
    "Expected",
    "ExpectedValue",
    "case_devices",
    "case_modes",
    "device_values",
    "expected_errors",
    "expected_line",
    "expected_values",
    "read_bytes_as_text",
    "read_cases",
    "style_of",
    "write_cases",
    "write_outputs",
]

_SEPARATOR = "// -----\n"
_SEPARATOR_LINE = re.compile(f"^{_SEPARATOR}", re.MULTILINE)
_OUTPUT = "// output\n"
_ERROR = re.compile(
    r"// (?P<level>error|warning)(?:@(?P<shift>[+-][0-9]+))?: (?P<codes>[A-Z][0-9]{3}(?:, [A-Z][0-9]{3})*)"
    r"(?::(?P<column>[0-9]+))?(?: ~ (?P<words>[^\n]*))?"
)
_VALUE = re.compile(r"^// expect(?P<about> about)?: (?P<literal>[^\n]*)$", re.MULTILINE)
_DEVICES = re.compile(r"// devices: replicas=(?P<replicas>\d+)(?: partitions=(?P<partitions>\d+))?")
_DEVICE_VALUE = re.compile(r"^// (?P<what>input|expect|infeed|outfeed) (?P<device>\d+): (?P<literal>[^\n]*)$", re.MULTILINE)
_MODES = re.compile(r"// modes: ([a-z0-9_= -]+)")
_STYLE = re.compile(r"// style:(?: width=(?P<width>[0-9]+),?)?(?: lines=(?P<first>[0-9]+):(?P<last>[0-9]+))?\r?\n")
_XLA_POSITION = re.compile(r"was parsing (\d+):(\d+)")


@dataclass(frozen=True)
class Case:
    """A case of a file: its text, its first line in the file, and the expected output or None."""

    text: str
    first_line: int
    output: str | None


@dataclass(frozen=True)
class Expected:
    """An expected diagnostic. Empty `words` match any message; a `column` of 0, any column."""

    line: int
    code: str
    words: str
    column: int = 0
    is_warning: bool = False


@dataclass(frozen=True)
class ExpectedValue:
    """The literal of one leaf of a result.

    If `exact`, only the payloads of NaNs may differ; otherwise, rounding may differ, too.
    """

    literal: str
    exact: bool


def read_bytes_as_text(path: Path) -> str:
    """Returns the text of a file, with surrogate escapes for bytes that are not UTF-8.

    Line endings are not converted.
    """
    return path.read_bytes().decode("utf-8", "surrogateescape")


def read_cases(path: Path) -> list[Case]:
    cases, line = [], 1
    for part in _SEPARATOR_LINE.split(read_bytes_as_text(path)):
        text, mark, output = part.partition(_OUTPUT)
        cases.append(Case(text, line, output if mark else None))
        line += part.count("\n") + 1
    return cases


def write_outputs(path: Path, outputs: list[str | None]) -> None:
    """Rewrites the `// output` sections of a file; None leaves a case unchanged."""
    parts = _SEPARATOR_LINE.split(read_bytes_as_text(path))
    for k, output in enumerate(outputs):
        text, mark, _ = parts[k].partition(_OUTPUT)
        if mark and output is not None:
            parts[k] = text + _OUTPUT + output
    path.write_bytes(_SEPARATOR.join(parts).encode("utf-8", "surrogateescape"))


def write_cases(path: Path, texts: list[str]) -> None:
    """Rewrites all cases of a file."""
    path.write_text(_SEPARATOR.join(texts), encoding="utf-8")


def style_of(text: str) -> tuple[int | None, tuple[int, int] | None]:
    """Returns the width and the range of lines for formatting a case.

    >>> style_of("// style: width=80, lines=3:4\\n")
    (80, (3, 4))
    """
    style = _STYLE.match(text)
    if style is None:
        return None, None
    return (int(style["width"]) if style["width"] else None), ((int(style["first"]), int(style["last"])) if style["first"] else None)


def expected_errors(text: str) -> list[Expected]:
    """Returns the diagnostics that a case announces, by line."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        for match in _ERROR.finditer(line):
            for code in match["codes"].split(", "):
                line, column = number + int(match["shift"] or 0), int(match["column"] or 0)
                found.append(Expected(line, code, (match["words"] or "").strip(), column, match["level"] == "warning"))
    return sorted(found, key=lambda e: (e.line, e.code))


def expected_values(text: str) -> list[ExpectedValue]:
    """Returns the values that a case announces, leaf by leaf."""
    return [ExpectedValue(match["literal"], match["about"] is None) for match in _VALUE.finditer(text)]


def case_devices(text: str) -> tuple[int, int]:
    """Returns the numbers of replicas and partitions that a case runs on."""
    asked = _DEVICES.search(text)
    return (int(asked["replicas"]), int(asked["partitions"] or 1)) if asked else (1, 1)


def device_values(text: str, what: str, device: int) -> list[str]:
    """Returns the literals in a device's comments of the kind `what`, in order."""
    return [match["literal"] for match in _DEVICE_VALUE.finditer(text) if match["what"] == what and int(match["device"]) == device]


def case_modes(text: str) -> dict[str, bool | int | str]:
    """Returns the modes that a case enables or sets to a value."""
    parts = (word.partition("=") for match in _MODES.finditer(text) for word in match[1].split())
    words: dict[str, bool | int | str] = {"": True, "true": True, "false": False}
    return {name: words.get(value, int(value) if value.isdecimal() else value) for name, _, value in parts}


def expected_line(said: str, text: str) -> set[int]:
    """Returns the correct lines according to XLA's message, or an empty set if it contains none.

    If XLA points at the first token of a line, XLA has read past the error, so the previous line is
    also correct.
    """
    at = _XLA_POSITION.search(said)
    if at is None or "OUT OF RANGE" in said or "RET_CHECK" in said:
        return set()
    lines, line, column = text.splitlines(), int(at[1]), int(at[2])
    allowed = {line}
    if line > 1 and not (lines[line - 1] if line <= len(lines) else "")[: max(0, column - 1)].strip():
        allowed.add(max((k for k in range(1, line) if lines[k - 1].strip()), default=line))
    return allowed
