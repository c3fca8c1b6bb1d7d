"""What checking a file gives: findings with the lines they point into."""

from __future__ import annotations

from typing import NamedTuple

from hlotool.errors import Diagnostic

__all__ = ["Checked", "Finding"]


class Finding(NamedTuple):
    """A diagnostic and the line of the source that it points into; `alike` says how many more there are that are not shown."""

    diagnostic: Diagnostic
    line: str
    is_entry: bool = False
    alike: str | None = None


class Checked(NamedTuple):
    """What came of one file. `failure` is set when one line says all there is to say.

    `traceback` is set as well where the failure is a bug of hlotool.
    """

    name: str
    findings: list[Finding]
    failure: str | None = None
    exit_code: int = 0
    traceback: str | None = None
