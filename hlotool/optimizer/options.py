"""The options of an optimization."""

from __future__ import annotations

from hlotool.record import Record

__all__ = ["OptimizeOptions"]


class OptimizeOptions(Record):
    """What passes may do and what they record.

    `fast_math` are the flags of rules that may change results, such as "nnan" (`optimizer.registry.FAST_MATH`). Constants of more than
    `max_constant_bytes` are not computed ahead of time, and loops of more than `max_unrolled_iterations` are not unrolled. `only` are the
    names of the computations to optimize, all by default. After `bisect_limit` rewrites, nothing more is changed. `explain` records each
    rewrite, `explain_why_not` the rules that leave an instruction of that name alone.

    >>> OptimizeOptions().max_constant_bytes
    1048576
    """

    fast_math: frozenset[str] = frozenset()
    max_constant_bytes: int = 1 << 20
    max_unrolled_iterations: int = 8
    only: frozenset[str] = frozenset()
    bisect_limit: int | None = None
    explain: bool = False
    explain_why_not: str | None = None
    measures_time: bool = False
