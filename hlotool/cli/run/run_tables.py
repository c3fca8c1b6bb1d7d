"""Comparisons, profiles and traces of `hlotool run`, as lines for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hlotool.cli.output import counted, visible
from hlotool.interp.arguments.argument_files import on_device
from hlotool.interp.reports.comparison import Comparison
from hlotool.interp.reports.profiling import Cost, Profile
from hlotool.interp.reports.tracing import TraceRow
from hlotool.shapes.memory import format_bytes

__all__ = ["comparison_lines", "profile_json", "profile_lines", "trace_json", "trace_line"]

_MAX_INSTRUCTIONS = 20


def table(rows: Sequence[Sequence[str]], *, left: int) -> Iterator[str]:
    """Yields rows with aligned columns: the first `left` columns are numbers, the others text.

    >>> list(table([["1", "a"], ["10", "bc"]], left=1))
    [' 1  a', '10  bc']
    """
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))] if rows else []
    for row in rows:
        cells = [cell.ljust(width) if k >= left else cell.rjust(width) for k, (cell, width) in enumerate(zip(row, widths, strict=True))]
        yield visible("  ".join(cells).rstrip())


# ---- comparison --------------------------------------------------------------------------------


def comparison_lines(comparisons: Sequence[Comparison], source: str, *, quiet: bool) -> Iterator[str]:
    """Yields a line for each array, the worst elements of arrays that differ, and a summary.

    With `quiet`, yields only the lines for arrays that differ.
    """
    names = max((len(c.name) for c in comparisons), default=0)
    types = max((len(c.type) for c in comparisons), default=0)
    for c in comparisons:
        if not quiet or not c.agrees:
            yield visible(f"{c.name:{names}}  {c.type:{types}}  {_verdict(c)}")
            yield from (f"  {line}" for line in _worst(c))
    bad = sum(not c.agrees for c in comparisons)
    if not quiet:
        count = counted(len(comparisons), "array")
        if bad:
            yield visible(f"{count} compared with {source}: {'1 differs' if bad == 1 else f'{bad} differ'}")
        else:
            yield visible(f"{count} agree{'s' if len(comparisons) == 1 else ''} with {source}")


def _verdict(c: Comparison) -> str:
    if c.reason:
        return f"differs: {c.reason}"
    greatest = []
    if c.greatest_absolute:
        greatest = [f"max abs {c.greatest_absolute:.3g}", f"max rel {c.greatest_relative:.3g}"]
        greatest += [f"max ulp {c.greatest_ulps}"] if c.greatest_ulps is not None else []
    common = [f"{c.common_nans} NaN on both sides"] if c.common_nans else []
    if c.agrees:
        return "  ".join(["agrees" if greatest else "equal", *greatest, *common])
    limits = f"rtol {c.tolerance.relative:g}, atol {c.tolerance.absolute:g}" if c.tolerance.relative or c.tolerance.absolute else "exact comparison"
    parts = [f"differs ({limits})" if c.elements == 1 else f"differs in {c.mismatches} of {c.elements} elements ({limits})"]
    parts += [f"{c.nans} NaN on one side" if c.nans else "", f"infinities differ: {c.infinities}" if c.infinities else "", *greatest, *common]
    return "  ".join(part for part in parts if part)


def _worst(c: Comparison) -> Iterator[str]:
    if not c.worst:
        return
    rows = [["index", "ours", "theirs", "abs", "rel", "ulp"]]
    for d in c.worst:
        index = f"[{','.join(map(str, d.index))}]"
        rows.append(
            [
                index,
                _format_number(d.ours),
                _format_number(d.theirs),
                f"{d.absolute:.3g}",
                f"{d.relative:.3g}",
                "-" if d.ulps is None else str(d.ulps),
            ]
        )
    yield from table(rows, left=len(rows[0]))


def _format_number(number: Any) -> str:
    if isinstance(number, bool):
        return str(number).lower()
    return f"{number:.9g}" if isinstance(number, float) else str(number)


# ---- trace -------------------------------------------------------------------------------------


def trace_line(row: TraceRow) -> str:
    """Returns a line such as `body/next[3]  f32[4]  min 0  max 1  mean 0.5`."""
    numbers = row.statistics
    is_scalar = row.type.endswith("[]") and numbers.least is not None
    location = on_device(f"{row.computation}/{row.key_on_device}", row.device)
    return visible(f"{location}  {row.type}  {f'{numbers.least:.9g}' if is_scalar else numbers.text}".rstrip())


def trace_json(row: TraceRow) -> dict[str, Any]:
    """Returns a row of a trace as a JSON object."""
    s = row.statistics
    numbers = {"min": s.least, "max": s.greatest, "mean": s.mean, "nan": s.nans, "inf": s.infinities}
    location = {} if row.device is None else {"device": row.device}
    return {**location, "name": row.name, "computation": row.computation, "iterations": list(row.iterations), "type": row.type, **numbers}


# ---- profile -----------------------------------------------------------------------------------


def _costs(costs: Sequence[Cost], total: float) -> list[list[str]]:
    rows = []
    for cost in costs:
        rate = f"{cost.bytes / cost.seconds / 1e9:.1f}" if cost.seconds else "-"
        rows.append(
            [f"{1e3 * cost.seconds:.3f}", f"{100 * cost.seconds / total if total else 0:.1f}", str(cost.calls), format_bytes(cost.bytes), rate]
        )
    return rows


def profile_lines(profile: Profile, seconds: float, peak: int | None, estimated: int) -> Iterator[str]:
    """Yields the time by opcode, the most expensive instructions, and the totals of the run."""
    total, head = profile.seconds, ["ms", "%", "calls", "read+written", "GB/s"]
    opcodes, costs = profile.by_opcode(), profile.by_instruction()
    yield from table([[*head, "opcode"], *([*row, c.name] for row, c in zip(_costs(opcodes, total), opcodes, strict=True))], left=len(head))
    yield ""
    shown = costs[:_MAX_INSTRUCTIONS]
    rows = [[*row, c.name, c.opcode, c.shape, c.computation] for row, c in zip(_costs(shown, total), shown, strict=True)]
    yield from table([[*head, "instruction", "opcode", "shape", "computation"], *rows], left=len(head))
    if len(costs) > len(shown):
        yield f"and {counted(len(costs) - len(shown), 'more instruction')}"
    yield ""
    memory = f"; peak memory of the process {format_bytes(peak)}" if peak is not None else ""
    yield f"{seconds:.3f} s, of which {total:.3f} s in instructions{memory}; estimated memory for values {format_bytes(estimated)}"


def profile_json(profile: Profile, seconds: float, peak: int | None, estimated: int) -> dict[str, Any]:
    """Returns the profile as a JSON object, with every instruction."""
    return {
        "seconds": seconds,
        "seconds_in_instructions": profile.seconds,
        "peak_memory": peak,
        "estimated_memory": estimated,
        "opcodes": [cost.as_dict() for cost in profile.by_opcode()],
        "instructions": [cost.as_dict() for cost in profile.by_instruction()],
    }
