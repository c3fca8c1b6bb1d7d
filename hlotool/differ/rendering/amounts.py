"""Statistics of a difference: opcodes, collectives, memory, and changes by computation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from hlotool.analysis.cost import module_cost
from hlotool.analysis.liveness import peak_memory
from hlotool.analysis.sizes import bytes_of
from hlotool.differ.categories import CATEGORIES
from hlotool.differ.difference import ModuleDifference
from hlotool.differ.rendering.difference_report import Report, Section
from hlotool.ir.model import Instruction, Module
from hlotool.ir.walk import shown_computations
from hlotool.opdefs.inference import count as counted
from hlotool.opdefs.traits import COLLECTIVE, STRUCTURAL
from hlotool.shapes.memory import format_bytes

__all__ = ["Amount", "amounts", "category_counts", "opcode_changes", "opcode_lists", "section_counts"]

_MAX_LISTED = 6


def _number(value: int) -> str:
    return f"{value:,}"


def _rounded(value: int) -> str:
    """Writes a large number in the largest unit that fits.

    >>> _rounded(512), _rounded(1_234_567)
    ('512', '1.23 M')
    """
    for unit, size in _UNITS.items():
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return str(value)


_UNITS = {"P": 10**15, "T": 10**12, "G": 10**9, "M": 10**6, "k": 10**3}


class Amount(NamedTuple):
    """A quantity in both modules, and the function that formats it."""

    name: str
    left: int
    right: int
    formatted: Callable[[int], str] = _number

    @property
    def texts(self) -> tuple[str, str, str]:
        """Both numbers, and the difference with its sign.

        >>> Amount("tanh", 48, 0).texts
        ('48', '0', '-48')
        >>> Amount("peak memory", 2048, 3072, format_bytes).texts
        ('2 KiB', '3 KiB', '+1 KiB')
        """
        change = self.right - self.left
        return self.formatted(self.left), self.formatted(self.right), ("-" if change < 0 else "+") + self.formatted(abs(change))


def amounts(delta: ModuleDifference) -> list[Amount]:
    """Returns the amounts in both modules, except those that are 0 in both.

    The amounts measure instructions, computations, costs, collectives and their data, and the peak
    memory of scheduled modules.
    """
    costs = module_cost(delta.left), module_cost(delta.right)
    # The cost of library calls is unknown: without this remark, a program with such calls would
    # seem to compute less.
    where = " outside of custom calls" if any("custom_call_target" in x.attributes for x in delta.graph.nodes) else ""
    rows = [
        _amount("instructions", delta, lambda module: sum(len(c.instructions) for c in shown_computations(module))),
        _amount("computations", delta, lambda module: len(shown_computations(module))),
        Amount(f"FLOPs{where}", costs[0].flops, costs[1].flops, _rounded),
        Amount(f"transcendentals{where}", costs[0].transcendentals, costs[1].transcendentals, _rounded),
        Amount(f"bytes accessed{where}", costs[0].bytes_accessed, costs[1].bytes_accessed, format_bytes),
        _amount("collectives", delta, lambda module: sum(1 for _ in _collective_sizes(module))),
        _amount("data in collectives", delta, lambda module: sum(_collective_sizes(module)))._replace(formatted=format_bytes),
    ]
    if delta.left.is_scheduled and delta.right.is_scheduled:
        rows.append(_amount("peak memory", delta, lambda module: peak_memory(module).bytes)._replace(formatted=format_bytes))
    return [row for row in rows if row.left or row.right]


def _amount(name: str, delta: ModuleDifference, count: Callable[[Module], int]) -> Amount:
    return Amount(name, count(delta.left), count(delta.right))


def _collective_sizes(module: Module) -> Iterator[int]:
    """Yields the size of the operands of each collective in bytes."""
    for x in module.all_instructions():
        if COLLECTIVE in x.op.traits and not x.op.name.endswith(("-done", "-update")):
            yield sum(bytes_of(operand.shape) for operand in x.operands)


def opcode_changes(delta: ModuleDifference, *, with_structure: bool = True) -> list[Amount]:
    """Returns the opcodes whose numbers of instructions differ, the largest change first.

    Custom calls are counted by target.
    """
    graph = delta.graph
    left, right = (
        Counter(_kind_of(x) for x in nodes if with_structure or STRUCTURAL not in x.op.traits)
        for nodes in (graph.nodes[: graph.split], graph.nodes[graph.split :])
    )
    rows = [Amount(name, left[name], right[name]) for name in left | right if left[name] != right[name]]
    return sorted(rows, key=lambda row: (-abs(row.right - row.left), row.name))


def opcode_lists(delta: ModuleDifference) -> list[tuple[str, str]]:
    """Returns lists of the opcodes whose number has changed, each with a title."""
    rows = opcode_changes(delta, with_structure=False)
    lists = (
        ("only before", [row for row in rows if not row.right]),
        ("only after", [row for row in rows if not row.left]),
        ("fewer", [row for row in rows if row.left > row.right > 0]),
        ("more", [row for row in rows if row.right > row.left > 0]),
    )
    return [(title, _opcodes(chosen)) for title, chosen in lists if chosen]


def _opcodes(rows: Sequence[Amount]) -> str:
    texts = [_opcode(row) for row in rows]
    more = len(texts) - _MAX_LISTED
    return ", ".join(texts[:_MAX_LISTED]) + (f", and {counted(more, 'other')}" if more > 0 else "")


def _opcode(row: Amount) -> str:
    if row.left and row.right:
        return f"{row.name} {row.left:,} -> {row.right:,}"
    number = row.left or row.right
    return row.name if number == 1 else f"{number:,}x {row.name}"


def _kind_of(x: Instruction) -> str:
    target = x.attributes.get("custom_call_target")
    return x.op.name if target is None else f"{x.op.name} {target}"


def category_counts(delta: ModuleDifference) -> list[tuple[str, int, str]]:
    """Returns the categories, each with its number of differences and its meaning.

    Names are not counted: their number is 0.
    """
    counts = Counter(change["kind"] for changes in (*delta.changed.values(), delta.header) for change in changes)
    counts["inserted"], counts["deleted"], counts["root"] = len(delta.inserted), len(delta.deleted), len(delta.new_roots)
    return [(name, counts[name], CATEGORIES[name]) for name in delta.categories]


class SectionCounts(NamedTuple):
    """The numbers of changed, inserted and deleted instructions of a computation."""

    title: str
    changed: int
    inserted: int
    deleted: int

    @property
    def total(self) -> int:
        return self.changed + self.inserted + self.deleted


def section_counts(report: Report) -> list[SectionCounts]:
    """Returns the counts for each pair of computations that differs."""
    return [_counts(report, section) for section in report.sections]


def _counts(report: Report, section: Section) -> SectionCounts:
    entries = [entry for group in section.groups for entry in group.entries]
    inserted = sum(entry.left < 0 for entry in entries)
    deleted = sum(entry.right < 0 for entry in entries)
    return SectionCounts(report.title(section.left, section.right), len(entries) - inserted - deleted, inserted, deleted)
