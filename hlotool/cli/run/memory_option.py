"""The value of `--max-memory`.

This module imports the interpreter, so commands import this module only when they run something.
"""

from __future__ import annotations

import click

from hlotool.interp.engine.memory_estimate import default_limit
from hlotool.option_fields import parse_size

__all__ = ["memory_limit_of"]


def memory_limit_of(text: str | None) -> int | None:
    """Returns the limit in bytes, or None for `none`; the default is 80% of the available memory.

    Raises UsageError for anything other than a size or `none`.

    >>> memory_limit_of("2k"), memory_limit_of("none")
    (2048, None)
    """
    if text is None:
        return default_limit()
    if text == "none":
        return None
    try:
        return parse_size(text)
    except (ValueError, OverflowError):
        raise click.UsageError(f"--max-memory takes a size such as 500M or 2GiB, or none, not '{text}'") from None
