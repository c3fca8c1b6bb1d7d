"""W014 and W055: the arrays that the program takes from and returns to the host."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.errors import Source
from hlotool.opdefs.inference import count
from hlotool.shapes.shape import ProgramShape, Shape
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_ATTRIBUTE = "entry_computation_layout="


@module_rule("W014", stage="lint")
def entry_layouts(facts: Facts) -> Iterator[Finding]:
    """Parameters and results of the program are in row-major order.

    Checks: each array in entry_computation_layout lists its dimensions in row-major order.
    """
    layout = facts.module.attributes.get("entry_computation_layout")
    source = facts.module.source
    end = max(0, min(computation.start for computation in facts.module.computations))
    at = source.text.find(_ATTRIBUTE, 0, end) if source is not None else -1
    if at < 0 or source is None or not isinstance(layout, ProgramShape):
        return
    at += len(_ATTRIBUTE)
    for what, shape in (*((f"parameter {k}", p) for k, p in enumerate(layout.parameters)), ("the result", layout.result)):
        for leaf in shape.leaves():
            order = _unusual_order(leaf)
            if order is not None:
                at = _layout_offset(source, leaf, at, end)
                yield Finding("W014", facts.module.entry, None, at, f"{what} has layout {order}, which is not row-major")
                break


def _unusual_order(leaf: Shape) -> str | None:
    layout = leaf.layout
    if layout is None or layout.minor_to_major == tuple(range(leaf.rank - 1, -1, -1)):
        return None
    return "{" + ",".join(map(str, layout.minor_to_major)) + "}"


def _layout_offset(source: Source, leaf: Shape, at: int, end: int) -> int:
    """Returns the offset of the leaf's layout between `at` and `end`.

    The first match is the right one, since callers search for shapes in the order of the text.
    """
    start = source.text.find(leaf.text, at, end)
    return start + len(leaf.text_without_layout) if start >= 0 else at


@module_rule("W055", stage="lint")
def many_parameters(facts: Facts) -> Iterator[Finding]:
    """The entry computation has a reasonable number of parameters.

    Checks: the entry computation has no more parameters than entry_parameter_limit, and no tuple
    parameter has more arrays than that.
    """
    entry = facts.module.entry
    parameters = entry.parameters
    if len(parameters) > facts.modes.entry_parameter_limit:
        message = f"the program has {count(len(parameters), 'parameter')}, more than {facts.modes.entry_parameter_limit}"
        yield Finding("W055", entry, None, max(0, entry.start), message)
    for x in parameters:
        leaves = sum(1 for _ in x.shape.leaves()) if x.shape.is_tuple else 0
        if leaves > facts.modes.entry_parameter_limit:
            yield Finding("W055", entry, x, "shape", f"the parameter has {count(leaves, 'array')}, more than {facts.modes.entry_parameter_limit}")
