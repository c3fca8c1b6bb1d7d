"""Updates of header attributes that describe the entry computation, after its signature changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.record import replace
from hlotool.shapes.shape import ProgramShape, Shape, compatible, subshape

__all__ = ["fit_header", "header_without_parameter"]

# A list with one flag per parameter, or with a single flag for all parameters.
_BY_PARAMETER = "allow_spmd_sharding_propagation_to_parameters"
_ALIASES = "input_output_alias"
_DONORS = "buffer_donor"
_LAYOUT = "entry_computation_layout"


def header_without_parameter(attributes: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Returns the header attributes after removing an entry parameter.

    Later parameters are renumbered.

    >>> from hlotool.shapes.values import AliasPair
    >>> header_without_parameter({"input_output_alias": (AliasPair((), 0, ()), AliasPair((), 2, ()))}, 0)
    {'input_output_alias': (AliasPair(output_index=(), number=1, index=(), kind=None),)}
    """
    header = dict(attributes)
    if _LAYOUT in header:
        layout = header[_LAYOUT]
        header[_LAYOUT] = replace(layout, parameters=(*layout.parameters[:number], *layout.parameters[number + 1 :]))
    if _ALIASES in header:
        pairs = [pair for pair in header[_ALIASES] if pair.number != number]
        header[_ALIASES] = tuple([replace(pair, number=pair.number - (pair.number > number)) for pair in pairs])
    if _DONORS in header:
        header[_DONORS] = tuple([(k - (k > number), index) for k, index in header[_DONORS] if k != number])
    if len(header.get(_BY_PARAMETER, ())) > 1:
        flags = header[_BY_PARAMETER]
        header[_BY_PARAMETER] = (*flags[:number], *flags[number + 1 :])
    # An attribute that now has its default value is removed, because it would not be printed.
    return {name: value for name, value in header.items() if value == attributes[name] or value != MODULE_ATTRIBUTES[name].default}


def fit_header(attributes: Mapping[str, Any], entry: ProgramShape) -> tuple[dict[str, Any], list[str]]:
    """Returns the header attributes, adapted to the entry, and a remark about each change.

    >>> from hlotool.shapes.shape import array_shape
    >>> f32, s32 = array_shape("f32"), array_shape("s32")
    >>> header, remarks = fit_header({"entry_computation_layout": ProgramShape((f32,), f32)}, ProgramShape((f32,), s32))
    >>> header["entry_computation_layout"].result.text, remarks
    ('s32[]', ['updated the entry computation layout: the result is now s32[]'])
    """
    header: dict[str, Any] = dict(attributes)
    remarks: list[str] = []
    layout = header.get(_LAYOUT)
    if layout is not None:
        header[_LAYOUT], remarks = _fit_layout(layout, entry)
    for name, what in ((_ALIASES, "alias"), (_DONORS, "buffer donor")):
        kept = tuple(item for item in header.get(name, ()) if _fits(name, item, entry))
        lost = len(header.get(name, ())) - len(kept)
        if lost:
            header[name] = kept
            remarks.append(f"dropped {lost} {what}{_plural(what, lost)} that no longer {'matches' if lost == 1 else 'match'} the entry")
            if not kept:
                del header[name]
    return header, remarks


def _fit_layout(layout: ProgramShape, entry: ProgramShape) -> tuple[ProgramShape, list[str]]:
    remarks: list[str] = []
    if len(layout.parameters) != len(entry.parameters):
        remarks.append(f"updated the entry computation layout: the number of parameters is now {len(entry.parameters)}, not {len(layout.parameters)}")
        layout = replace(layout, parameters=entry.parameters)
    parameters = list(layout.parameters)
    for k, (old, new) in enumerate(zip(layout.parameters, entry.parameters, strict=True)):
        if not compatible(old, new):
            remarks.append(f"updated the entry computation layout: parameter {k} is now {new.text_without_layout}")
            parameters[k] = new
    result = layout.result
    if not compatible(result, entry.result):
        remarks.append(f"updated the entry computation layout: the result is now {entry.result.text_without_layout}")
        result = entry.result
    return ProgramShape(tuple(parameters), result), remarks


def _fits(name: str, item: Any, entry: ProgramShape) -> bool:
    number, index = (item.number, item.index) if name == _ALIASES else item
    if not 0 <= number < len(entry.parameters):
        return False
    parameter = subshape(entry.parameters[number], index)
    if name == _DONORS:
        return parameter is not None
    output: Shape | None = subshape(entry.result, item.output_index)
    return parameter is not None and output is not None and compatible(parameter, output)


def _plural(what: str, count: int) -> str:
    if count == 1:
        return ""
    return "es" if what.endswith("s") else "s"
