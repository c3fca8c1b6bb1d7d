"""Options as field metadata: a default, a one-line description and a kind of value.

Command-line flags and the keys of settings files are derived from the fields of the option classes,
so that every option is described in only one place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields
from typing import Any

__all__ = ["METADATA", "Option", "option", "options_of", "parse_size"]

METADATA = "option"
"""The key of an `Option` in the metadata of its field."""

_EXPECTED = {
    "flag": "true or false",
    "auto": "auto, true or false",
    "choice": "a string",
    "count": "a number",
    "size": 'a number of bytes, or a size such as "16GiB"',
    "path": "the name of a file",
    "list": "a list of strings",
    "severities": "a table of codes and severities",
    "patterns": "a table of patterns and lists of codes",
}


class Option:
    """A setting: its default, its description and the values it can have.

    | kind | value |
    |---|---|
    | `flag` | True or False |
    | `auto` | True, False, or None, which is written `auto` |
    | `choice` | one of `choices` |
    | `count` | an integer from `least` to `most` |
    | `size` | a number of bytes, or a string such as `16GiB` |
    | `path` | the name of a file; in a settings file, relative to its folder |
    | `list` | a list of strings |
    | `severities` | a table that maps each code to one of `choices` |
    | `patterns` | a table that maps each pattern to a list of strings |

    `unset` is the string that `format` returns for None. `enables` holds the codes that the
    verifier reports only if the option is set, `disables` the codes that it reports only if the
    option is not set, and `concerns` other codes whose findings depend on the option.

    >>> Option(False, "Allow unbounded dynamic dimensions.").accepts("yes")
    False
    """

    __slots__ = ("choices", "concerns", "default", "description", "disables", "enables", "kind", "least", "most", "unset")

    def __init__(
        self, default: Any, description: str, kind: str = "", *,
        choices: tuple[str, ...] = (), least: int = 0, most: int | None = None, unset: str = "none",
        enables: tuple[str, ...] = (), disables: tuple[str, ...] = (), concerns: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.default = default
        self.description = description
        self.kind = kind or ("choice" if choices else "flag")
        self.choices = choices
        self.least = least
        self.most = most
        self.unset = "auto" if self.kind == "auto" else unset
        self.enables = enables
        self.disables = disables
        self.concerns = concerns

    @property
    def expected(self) -> str:
        """A description of values of this kind, for messages."""
        return _EXPECTED[self.kind]

    def accepts(self, value: object) -> bool:
        """Returns whether a value in a settings file is of this kind.

        Limits and choices are not checked.
        """
        return _KINDS[self.kind](value)

    def value(self, value: Any) -> Any:
        """Returns the parsed form of a value from a settings file that `accepts` allows.

        >>> Option(None, "A limit.", "size").value("2k"), Option(None, "Compare.", "auto").value("auto")
        (2048, None)
        """
        if self.kind == "auto" and value == "auto":
            return None
        if self.kind == "size" and isinstance(value, str):
            return parse_size(value)
        if self.kind == "list":
            return tuple(value)
        return value

    def silent_codes(self, value: Any) -> tuple[str, ...]:
        """Returns the codes that are not reported if the option has this value.

        >>> Option(False, "Report deadlocks.", enables=("A026",)).silent_codes(False)
        ('A026',)
        """
        is_set = value not in (None, False)
        return self.disables if is_set else self.enables

    def format(self, value: Any) -> str:
        """Returns the value as it is written in settings files."""
        if value is None:
            return self.unset
        if self.kind == "list":
            return ", ".join(value) or self.unset
        return str(value).lower() if isinstance(value, bool) else str(value)


def option(default: Any, description: str, kind: str = "", **details: Any) -> Any:
    """Returns a dataclass or `Record` field that is an option; takes the arguments of `Option`."""
    return field(default=default, metadata={METADATA: Option(default, description, kind, **details)})


def options_of(cls: type) -> dict[str, Option]:
    """Returns the options among the fields of a dataclass or a `Record`, by name."""
    options: dict[str, Option] | None = getattr(cls, "_options", None)
    return {f.name: f.metadata[METADATA] for f in fields(cls) if METADATA in f.metadata} if options is None else options


def parse_size(text: str) -> int:
    """Returns the number of bytes in a string such as `500M`, `2GiB` or `1000000`.

    Raises ValueError for other strings.

    >>> parse_size("2GiB"), parse_size("1.5k")
    (2147483648, 1536)
    """
    number = text.strip().lower().removesuffix("b").removesuffix("i")
    power = "kmgtp".find(number[-1:]) + 1 if number[-1:] else 0
    size = float(number[:-1] if power else number) * 1024**power
    if not 0 < size < 2**63:
        raise ValueError(text)
    return int(size)


# ---- values in settings files ------------------------------------------------------------------


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_size(value: object) -> bool:
    if not isinstance(value, str):
        return _is_count(value)
    try:
        return parse_size(value) > 0
    except (ValueError, OverflowError):
        return False


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_KINDS: dict[str, Callable[[object], bool]] = {
    "flag": lambda value: isinstance(value, bool),
    "auto": lambda value: isinstance(value, bool) or value == "auto",
    "choice": lambda value: isinstance(value, str),
    "path": lambda value: isinstance(value, str) and value != "",
    "count": _is_count,
    "size": _is_size,
    "list": _is_list,
    "severities": lambda value: isinstance(value, dict) and all(isinstance(level, str) for level in value.values()),
    "patterns": lambda value: isinstance(value, dict) and all(map(_is_list, value.values())),
}
