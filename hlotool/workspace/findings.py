"""The results of checking a file: findings and the lines that they refer to."""

from __future__ import annotations

from typing import NamedTuple

from hlotool.errors import Diagnostic

__all__ = ["Checked", "FileFinding"]


class FileFinding(NamedTuple):
    """A diagnostic and the source line it refers to.

    `similar` describes similar findings that are not shown.
    """

    diagnostic: Diagnostic
    line: str
    is_entry: bool = False
    similar: str | None = None


class Checked(NamedTuple):
    """The result of checking one file: its findings, or `failure`, a one-line message.

    `traceback` is set if the failure is a bug in hlotool.
    """

    name: str
    findings: list[FileFinding]
    failure: str | None = None
    exit_code: int = 0
    traceback: str | None = None
