"""What may be chosen about formatted text."""

from __future__ import annotations

from dataclasses import dataclass

from hlotool.options import option

__all__ = ["LEAST_WIDTH", "FormatStyle"]

LEAST_WIDTH = 40
"""Lines cannot be asked to be shorter than this: names and shapes do not break."""


@dataclass(frozen=True)
class FormatStyle:
    """How formatted text looks, beyond XLA's own print.

    `width` breaks instructions that are longer than so many characters where a comma allows it; without it an instruction is one
    line, as XLA prints it. Raises ValueError for a width that leaves no room.

    >>> FormatStyle(width=100).width
    100
    """

    width: int | None = option(None, "Break instructions longer than N characters; default: one line each.", "count", least=LEAST_WIDTH)

    def __post_init__(self) -> None:
        if self.width is not None and self.width < LEAST_WIDTH:
            raise ValueError(f"width must be at least {LEAST_WIDTH}, got {self.width}")
