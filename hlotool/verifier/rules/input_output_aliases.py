"""M005 to M014: parameters whose memory is donated or reused for the result."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.aliasing import Index, index_text
from hlotool.opdefs.inference import bare, brief, count
from hlotool.shapes.memory import data_size, sizes_differ, stored_size
from hlotool.shapes.shape import Shape, indexed_leaves, subshape
from hlotool.shapes.values import AliasPair
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_ALIAS, _DONOR = "input_output_alias", "buffer_donor"
# The position of the kind in a pair, after the output index, the parameter number and the parameter
# index.
_KIND = 3

Buffer = tuple[int, Index]
"""The number of a parameter and an index into the parameter."""


@module_rule("M005", "M006", "M007", "M008", "M009", "M010", "M011", "M012", "M013", "M014", stage="module")
def input_output_aliases(facts: Facts) -> Iterator[Finding]:
    """Pairs in `input_output_alias` contain arrays of equal size; donated arrays are in no pair.

    Checks: the parameter exists (M005, M012) and has the index (M006, M013); no output (M007) and
    no parameter (M008) is in two pairs; outputs and parameters in pairs are arrays (M009), and so
    are donated parameters (M013); arrays in a pair have the same size in layout-sensitive modules
    (M010) and the same shape for must-alias (M011); a parameter in a pair is not also donated
    (M014).
    """
    outputs: dict[Index, int] = {}
    aliased: dict[Buffer, Index] = {}
    for k, pair in enumerate(facts.module.attributes.get(_ALIAS, ())):
        buffer = pair.number, pair.index
        fault = _fault(facts, pair)
        if fault is None and pair.output_index in outputs:
            fault = "M007", "", f"output {index_text(pair.output_index)} is already aliased with parameter {outputs[pair.output_index]}", None
        if fault is None and buffer in aliased:
            fault = "M008", "", f"{_buffer_name(buffer)} is already aliased with output {index_text(aliased[buffer])}", None
        if fault is not None:
            yield Finding(fault[0], None, None, f"{_ALIAS}[{k}]{fault[1]}", fault[2], fault[3])
        outputs[pair.output_index], aliased[buffer] = pair.number, pair.output_index
    yield from _donors(facts, aliased)


def _buffer_name(buffer: Buffer) -> str:
    number, index = buffer
    return f"parameter {number}" + (f" at {index_text(index)}" if index else "")


def _fault(facts: Facts, pair: AliasPair) -> tuple[str, str, str, str | None] | None:
    """Returns the code, position, message and hint for the first fault of a pair, or None."""
    module = facts.module
    parameters, buffer = facts.program_shape(module.entry).parameters, (pair.number, pair.index)
    if pair.number >= len(parameters):
        return "M005", "[parentheses]", f"parameter {pair.number} does not exist; ENTRY has {count(len(parameters), 'parameter')}", None
    parameter, output = subshape(parameters[pair.number], pair.index), subshape(module.entry.root.shape, pair.output_index)
    if parameter is None:
        whole = brief(parameters[pair.number])
        return "M006", "[parentheses]", f"parameter {pair.number} is {whole}, which has no index {index_text(pair.index)}", None
    if output is None:
        return None
    for shape, what in ((output, f"output {index_text(pair.output_index)}"), (parameter, _buffer_name(buffer))):
        if not bare(shape).is_array:
            return "M009", "", f"{what} is {brief(shape)}, but only arrays can be aliased", _pairs_of_leaves(parameter, output, pair)
    arrays = bare(parameter), bare(output)
    # The target decides whether padding counts, so a fault requires that the sizes differ both with
    # padding and without.
    if facts.modes.layout_sensitive and sizes_differ(*arrays) and sizes_differ(*arrays, data_size):
        sizes = tuple(map(stored_size, arrays))
        return "M010", "", f"{_buffer_name(buffer)} has {count(sizes[0], 'byte')}, but output {index_text(pair.output_index)} has {sizes[1]}", None
    header = module.attributes.get("entry_computation_layout")
    if pair.kind == "must-alias":
        if header is not None and len(header.parameters) == len(parameters):
            parameter = subshape(header.parameters[pair.number], pair.index) or parameter
            output = subshape(header.result, pair.output_index) or output
        if parameter != output:
            return (
                "M011",
                f"[{_KIND}]",
                f"{_buffer_name(buffer)} is {parameter.text}, but output {index_text(pair.output_index)} is {output.text}",
                "write may-alias, or use the same shape for both",
            )
    return None


_MAX_PAIRS = 4


def _pairs_of_leaves(parameter: Shape, output: Shape, pair: AliasPair) -> str | None:
    """Returns a hint with the pairs that were probably meant if a pair contains small tuples."""
    if max(len(parameter.elements), len(output.elements)) > _MAX_PAIRS:
        return None
    leaves = [index for index, _ in indexed_leaves(output)]
    if not parameter.is_tuple or [index for index, _ in indexed_leaves(parameter)] != leaves or len(leaves) > _MAX_PAIRS:
        return None
    pairs = (f"{index_text((*pair.output_index, *leaf))}: ({pair.number}, {index_text((*pair.index, *leaf))})" for leaf in leaves)
    return f"alias their arrays: {', '.join(pairs)}"


def _donors(facts: Facts, aliased: dict[Buffer, Index]) -> Iterator[Finding]:
    parameters = facts.program_shape(facts.module.entry).parameters
    for k, (number, index) in enumerate(facts.module.attributes.get(_DONOR, ())):
        at = f"{_DONOR}[{k}]"
        if not 0 <= number < len(parameters):
            yield Finding("M012", None, None, at, f"parameter {number} does not exist; ENTRY has {count(len(parameters), 'parameter')}")
            continue
        donated = subshape(parameters[number], index)
        if donated is None or not bare(donated).is_array:
            what = f"no index {index_text(index)}" if donated is None else f"no array at {index_text(index)}"
            yield Finding("M013", None, None, at, f"parameter {number} is {brief(parameters[number])}, which has {what}")
        elif (number, index) in aliased:
            message = f"{_buffer_name((number, index))} is already aliased with output {index_text(aliased[number, index])}"
            yield Finding("M014", None, None, _DONOR, message, "remove it from buffer_donor or from input_output_alias")
