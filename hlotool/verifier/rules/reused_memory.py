"""M020 and M021: results that could share memory with a parameter, or do so only after a copy."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.aliasing import Index, index_text, producer_of
from hlotool.ir.model import Instruction
from hlotool.shapes.memory import data_size
from hlotool.shapes.shape import UNBOUNDED, Shape, indexed_leaves
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_MEBIBYTE = 1 << 20


@module_rule("M020", "M021", stage="lint")
def reused_memory(facts: Facts) -> Iterator[Finding]:
    """Large results reuse the memory of parameters that are no longer needed.

    Checks: each result of 1 MiB or more is in an alias pair, unless all parameters of the same
    shape are aliased or donated (M020); in a scheduled module, no instruction reads an aliased
    parameter after the aliased output is written (M021).
    """
    module = facts.module
    entry, pairs = module.entry, module.attributes.get("input_output_alias", ())
    reused = {(pair.number, pair.index) for pair in pairs} | set(module.attributes.get("buffer_donor", ()))
    free: dict[Shape, list[tuple[int, Instruction]]] = {}
    for k, parameter in enumerate(entry.parameters):
        if (k, ()) not in reused and parameter.shape.is_array:
            free.setdefault(parameter.shape, []).append((k, parameter))
    outputs = {pair.output_index for pair in pairs}
    for index, leaf in indexed_leaves(entry.root.shape):
        if index in outputs or not free.get(leaf) or UNBOUNDED in leaf.dimensions or data_size(leaf) < _MEBIBYTE:
            continue
        if producer_of(entry.root, index).op.name != "parameter":
            number, parameter = free[leaf].pop(0)
            which = f"result {index_text(index)}" if index else "the result"
            message = f"{which} ({data_size(leaf) / _MEBIBYTE:.4g} MiB) could reuse the memory of parameter {number} '{parameter.name}'"
            yield Finding("M020", entry, entry.root, "instruction", message, f"donate the argument (jax.jit donate_argnums={number})")
    if module.is_scheduled:
        yield from _late_readers(facts, [(pair.number, pair.output_index) for pair in pairs if not pair.index])


def _late_readers(facts: Facts, pairs: list[tuple[int, Index]]) -> Iterator[Finding]:
    entry = facts.module.entry
    position = {x: k for k, x in enumerate(entry.instructions)}
    parameters, users = entry.parameters, facts.users(entry)
    for number, index in pairs:
        if not 0 <= number < len(parameters):
            continue
        parameter, maker = parameters[number], producer_of(entry.root, index)
        late = next((x for x in users.get(parameter, ()) if position[x] > position[maker] and x.op.name != "tuple"), None)
        if late is not None and maker is not parameter:
            message = f"'{parameter.name}' is read by '{late.name}' after output {index_text(index)} is written by '{maker.name}'"
            yield Finding("M021", entry, late, f"operand {late.operands.index(parameter)}", message, "read it earlier, or remove the alias")
