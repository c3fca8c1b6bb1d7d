"""M001 to M003, M022, L002, L003, L021 and L022: what the header says of the entry computation."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.opdefs.constraints import difference
from hlotool.opdefs.inference import count
from hlotool.shapes.shape import ProgramShape, Shape, compatible
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule
from hlotool.verifier.rules.layouts import order_fault

__all__: list[str] = []

_AT = "entry_computation_layout"


@module_rule("M001", "M002", "M003", "M022", "L002", "L003", "L021", "L022", stage="module")
def entry_layout(facts: Facts) -> Iterator[Finding]:
    """`entry_computation_layout` describes the entry computation that is there.

    Checks: the number of parameters (M001), their shapes (M002) and the result's (M003); if modes look at layouts, the order of their
    dimensions in memory as well (L021, L022), tiles, padding and memory spaces apart. Its layouts order the dimensions that there are, each
    once (L002, L003). A scheduled module says it at all (M022).
    Why: callers allocate and fill buffers by the header.
    Bad: `entry_computation_layout={(f32[5]{0})->f32[4]{0}}` with `a = f32[4] parameter(0)`
    Good: `entry_computation_layout={(f32[4]{0})->f32[4]{0}}`
    """
    module = facts.module
    said: ProgramShape | None = module.attributes.get(_AT)
    if said is None:
        if module.is_scheduled:
            yield Finding("M022", None, None, 0, f"no {_AT}; default layouts are assumed")
        return
    parameters, root = module.entry.parameters, module.entry.root
    if len(said.parameters) != len(parameters):
        message = f"the header has {count(len(said.parameters), 'parameter')}, ENTRY '{module.entry.name}' has {len(parameters)}"
        yield Finding("M001", None, None, f"{_AT}[parentheses]", message)
    else:
        for k, (shape, parameter) in enumerate(zip(said.parameters, parameters, strict=True)):
            yield from _compared(facts, shape, parameter.shape, f"{_AT}[{k}]", ("M002", "L022"), f"parameter {k} '{parameter.name}'")
    yield from _compared(facts, said.result, root.shape, f"{_AT}[{len(said.parameters)}]", ("M003", "L021"), f"ROOT '{root.name}'")


def _compared(facts: Facts, said: Shape, found: Shape, at: str, codes: tuple[str, str], what: str) -> Iterator[Finding]:
    if said is found:
        return
    arrays = ((shape.layout, shape.rank) for shape in said.leaves())
    fault = next((fault for layout, rank in arrays if layout is not None and (fault := order_fault(layout.minor_to_major, rank))), None)
    if fault is not None:
        yield Finding(fault[0], None, None, at, fault[1])
    elif not compatible(said, found):
        where, written, actual = difference(said, found)
        yield Finding(codes[0], None, None, at, f"{where}{what} is {actual}, the header says {written}")
    elif facts.modes.layout_sensitive:
        pairs = zip(said.leaves(), found.leaves(), strict=True)
        # What is no order was reported where it stands.
        wrong = next((pair for pair in pairs if _order(pair[0]) != _order(pair[1]) and not order_fault(_order(pair[1]), pair[1].rank)), None)
        if wrong is not None:
            yield Finding(codes[1], None, None, f"{at}[layout]", f"the header says {wrong[0].text}, {what} has {wrong[1].text}")


def _order(shape: Shape) -> tuple[int, ...]:
    return shape.layout.minor_to_major if shape.layout is not None else ()
