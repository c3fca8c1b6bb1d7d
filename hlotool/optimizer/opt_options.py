"""The options of an optimization."""

from __future__ import annotations

from hlotool.record import Record

__all__ = ["FAST", "FAST_MATH", "FAST_MATH_GROUPS", "OptimizeOptions"]

FAST_MATH = {
    "reassoc": "sums and products may be computed in another order",
    "nnan": "no operand or result is NaN",
    "ninf": "no operand or result is infinite",
    "nsz": "the sign of a zero does not matter",
    "arcp": "a division may become a multiplication by the reciprocal",
    "afn": "functions may be replaced by others that are equal for real numbers",
    "precision": "a value may keep the digits that a conversion to a narrower type and back removes, even if that simulates quantization",
}
"""The flags of `--fast-math`, and what each allows. Most have LLVM's names."""

FAST = "fast"
FAST_MATH_GROUPS = {FAST: frozenset(FAST_MATH) - {"precision"}, "all": frozenset(FAST_MATH)}
"""Names of groups of flags: the flags that `--fast-math` sets if it has no value, and all flags.

A program that converts values to a narrower type and back usually needs the rounding, so `fast`
does not include `precision`.
"""


class OptimizeOptions(Record):
    """Options that control what passes may do and what they record.

    `fast_math` contains the flags that allow rules to change results, such as "nnan" (see
    FAST_MATH). Constants larger than `max_constant_bytes` are not computed ahead of time, and loops
    with more than `max_unrolled_iterations` iterations are not unrolled. `only` contains the names
    of the computations to optimize; if it is empty, all are optimized. After `bisect_limit`
    rewrites, nothing more is changed. If `explain` is True, each rewrite is recorded.
    `explain_why_not` is the name of an instruction; the reasons why rules leave it alone are
    recorded. If `measures_time` is True, the time that each rule takes is recorded.

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
