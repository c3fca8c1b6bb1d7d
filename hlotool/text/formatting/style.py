"""Formatter options."""

from __future__ import annotations

from dataclasses import dataclass

from hlotool.option_fields import option

__all__ = ["MIN_WIDTH", "FormatStyle"]

MIN_WIDTH = 40
"""The smallest accepted width, in characters. Names and shapes cannot be broken."""


@dataclass(frozen=True)
class FormatStyle:
    """Options that make formatted text differ from XLA's own output.

    `width` is the maximum line length in characters: longer instructions are broken after commas.
    If `width` is None, the default, every instruction is on one line, as in XLA's output. Raises
    ValueError if `width` is less than MIN_WIDTH.

    >>> FormatStyle(width=100).width
    100
    """

    width: int | None = option(None, "Break instructions longer than N characters; default: one line each.", "count", least=MIN_WIDTH)

    def __post_init__(self) -> None:
        if self.width is not None and self.width < MIN_WIDTH:
            raise ValueError(f"width must be at least {MIN_WIDTH}, got {self.width}")
