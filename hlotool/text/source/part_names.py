"""Names for the parts of an instruction, so that diagnostics can point to them.

`text.parse.instructions` knows the offsets of the parts while it parses; later,
`text.locate.instruction` finds them in the text. In a module's header, the parts are attributes and
their values.

| `at` | part |
|---|---|
| `instruction`, `name`, `shape`, `opcode` | the part with this name |
| `result` | from the instruction's name to the end of its shape |
| `operands` | from the opcode to the closing parenthesis |
| `operand 1` | one operand |
| `literal` | the value of a constant |
| `dimensions` | an attribute, including its name |
| `dimensions value` | the value of an attribute |
| `slice[1]`, `window[stride]` | an entry of the value, by number or key; brackets may follow |
| `window value[stride]` | the value of an entry that begins with a key |
| `shape[0]` | one element of a tuple's shape |
| `shape[layout]`, `shape[layout][T]` | the layout of the shape; its tiles |
| `call of operand 1` | like `operands`, for a diagnostic with a note about one operand |
| `window[parentheses]` | the first parenthesized part of a value or an entry |
| `definition of operand 1` | the instruction that defines the operand |
| `root of body` | the root of the computation that is the value of the attribute |
"""

from __future__ import annotations

import re

from hlotool.record import Record

__all__ = ["PartName", "parse_part_name"]

_PART_NAME = re.compile(r"(?:(definition|root|call) of )?([^\s\[]+)(?: ([0-9]+)| (value))?((?:\[(?:[0-9]+|[A-Za-z_]+)\])*)")


class PartName(Record):
    """The parsed name of a part.

    `of` is "definition" or "root" for a part of another instruction, and "call" for all operands.
    `number` is the number of an operand; `path` leads to an entry of a value.
    """

    word: str
    of: str | None = None
    number: int | None = None
    is_value: bool = False
    path: tuple[str, ...] = ()


def parse_part_name(at: str) -> PartName:
    """Parses the name of a part, such as the `at` of a Violation.

    Raises ValueError if no part has this name.

    >>> parse_part_name("definition of operand 2").number, parse_part_name("shape[1][layout]").path
    (2, ('1', 'layout'))
    """
    match = _PART_NAME.fullmatch(at)
    if match is None:
        raise ValueError(f"no part has the name {at!r}")
    of, word, number, value, path = match.groups()
    return PartName(word, of, int(number) if number else None, value is not None, tuple(path[1:-1].split("][")) if path else ())
