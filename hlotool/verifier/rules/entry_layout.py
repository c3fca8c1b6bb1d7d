"""M001 to M003, M022, L002 to L004, L021 and L022: `entry_computation_layout`."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.opdefs.constraints import difference
from hlotool.opdefs.inference import count
from hlotool.shapes.shape import ProgramShape, Shape, compatible
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule
from hlotool.verifier.rules.layouts import order_fault, tile_fault

__all__: list[str] = []

_AT = "entry_computation_layout"


@module_rule("M001", "M002", "M003", "M022", "L002", "L003", "L004", "L021", "L022", stage="module")
def entry_layout(facts: Facts) -> Iterator[Finding]:
    """`entry_computation_layout` matches the entry computation.

    Checks: the attribute has the same number of parameters (M001), the same shapes of parameters
    (M002) and the same shape of the result (M003); in layout-sensitive modules, also the same order
    of dimensions in memory (L021, L022), but tiles, padding and memory spaces may differ. Each
    layout lists each dimension of its array once (L002, L003), and its tiles have positive sizes
    (L004). A scheduled module has the attribute (M022).
    """
    module = facts.module
    header: ProgramShape | None = module.attributes.get(_AT)
    if header is None:
        if module.is_scheduled:
            yield Finding("M022", None, None, 0, f"the header has no {_AT}, so default layouts are assumed")
        return
    parameters, root = module.entry.parameters, module.entry.root
    if len(header.parameters) != len(parameters):
        message = f"the header has {count(len(header.parameters), 'parameter')}, but ENTRY '{module.entry.name}' has {len(parameters)}"
        yield Finding("M001", None, None, f"{_AT}[parentheses]", message)
    else:
        for k, (shape, parameter) in enumerate(zip(header.parameters, parameters, strict=True)):
            yield from _compare(facts, shape, parameter.shape, f"{_AT}[{k}]", ("M002", "L022"), f"parameter {k} '{parameter.name}'")
    yield from _compare(facts, header.result, root.shape, f"{_AT}[{len(header.parameters)}]", ("M003", "L021"), f"ROOT '{root.name}'")


def _compare(facts: Facts, header: Shape, shape: Shape, at: str, codes: tuple[str, str], what: str) -> Iterator[Finding]:
    if header is shape:
        return
    fault = next((fault for leaf in header.leaves() if (fault := _layout_fault(leaf)) is not None), None)
    if fault is not None:
        yield Finding(fault[0], None, None, at, fault[1])
    elif not compatible(header, shape):
        where, written, actual = difference(header, shape)
        yield Finding(codes[0], None, None, at, f"{where}{what} is {actual}, but the header says {written}")
    elif facts.modes.layout_sensitive:
        pairs = zip(header.leaves(), shape.leaves(), strict=True)
        # An invalid order is reported at its own position.
        wrong = next((pair for pair in pairs if _order(pair[0]) != _order(pair[1]) and not order_fault(_order(pair[1]), pair[1].rank)), None)
        if wrong is not None:
            yield Finding(codes[1], None, None, f"{at}[layout]", f"{what} is {wrong[1].text}, but the header says {wrong[0].text}")


def _layout_fault(array: Shape) -> tuple[str, str] | None:
    """Returns the code and message if a layout in the header is invalid by itself."""
    if array.layout is None:
        return None
    fault, tiles = order_fault(array.layout.minor_to_major, array.rank), tile_fault(array.layout)
    return fault or (None if tiles is None else ("L004", tiles))


def _order(shape: Shape) -> tuple[int, ...]:
    return shape.layout.minor_to_major if shape.layout is not None else ()
