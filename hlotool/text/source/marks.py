"""XLA's index marks in long operand lists: `/*index=5*/` before every fifth operand."""

from __future__ import annotations

__all__ = ["INDEX_MARK", "MARK_INTERVAL", "marked_operands"]

INDEX_MARK = "/*index="
"""The beginning of an index mark."""

MARK_INTERVAL = 5


def marked_operands(names: list[str]) -> str:
    """Returns an operand list as XLA prints it, with percent signs and index marks.

    `names` must not be empty.

    >>> marked_operands(["a", "b", "c", "d", "e", "f"])
    '%a, %b, %c, %d, %e, /*index=5*/%f'
    """
    groups = [", %".join(names[k : k + MARK_INTERVAL]) for k in range(0, len(names), MARK_INTERVAL)]
    return f"%{groups[0]}" + "".join([f", /*index={k * MARK_INTERVAL}*/%{group}" for k, group in enumerate(groups[1:], 1)])
