"""M016, M018, M024 and M026: values and order of the attributes of a module's header."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.shapes.shape import Shape
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_COUNTS = ("replica_count", "num_partitions")
_TO_PARAMETERS, _TO_OUTPUT = "allow_spmd_sharding_propagation_to_parameters", "allow_spmd_sharding_propagation_to_output"
_ORDER = {name: k for k, name in enumerate(MODULE_ATTRIBUTES)}
# XLA's dumps of compiled modules have this in their file names.
_COMPILED = "after_optimizations"


@module_rule("M016", "M018", "M024", "M026", stage="module")
def header_values(facts: Facts) -> Iterator[Finding]:
    """The header's numbers and lists fit the module, and scheduled modules are marked as such.

    Checks: `replica_count` and `num_partitions` are at least 1 (M016); lists that allow sharding
    propagation have one entry, one per parameter or output, or one per array in the parameters or
    outputs (M018; a warning if there is only one partition, since XLA then ignores the lists);
    attributes are in XLA's order (M024); a file whose name contains after_optimizations has a
    schedule (M026).
    """
    module = facts.module
    for name in _COUNTS:
        if module.attributes.get(name, 1) < 1:
            yield Finding("M016", None, None, name, f"{name} must be at least 1, got {module.attributes[name]}")
    parameters = [p.shape for p in module.entry.parameters]
    yield from _list_length(facts, _TO_PARAMETERS, parameters, "parameter")
    yield from _list_length(facts, _TO_OUTPUT, list(module.entry.root.shape.elements) or [module.entry.root.shape], "output")
    written = [name for name in module.attribute_starts if name in _ORDER]
    late = next((b for a, b in pairwise(written) if _ORDER[a] > _ORDER[b]), None)
    if late is not None:
        before = next(name for name in written if _ORDER[name] > _ORDER[late])
        message = f"'{late}' comes after '{before}', but XLA prints '{late}' first"
        yield Finding("M024", None, None, late, message, "run hlotool fmt, which moves it to XLA's position")
    if not module.is_scheduled and module.source is not None and _COMPILED in module.source.filename:
        yield Finding(
            "M026",
            None,
            None,
            0,
            f"the file name contains {_COMPILED}, but the module is not scheduled",
            "without a schedule, reports on memory are guesses",
        )


def _list_length(facts: Facts, name: str, shapes: list[Shape], noun: str) -> Iterator[Finding]:
    flags = facts.module.attributes.get(name)
    if flags is None or len(flags) in (1, len(shapes)):
        return
    arrays = sum(1 for shape in shapes for _ in shape.leaves())
    if len(flags) == arrays:
        return
    choices = ["1 flag"]
    if len(shapes) > 1:
        choices.append(f"{len(shapes)} (one per {noun})")
    if arrays > 1 and arrays != len(shapes):
        choices.append(f"{arrays} (one per array)")
    listed = " or ".join((", ".join(choices[:-1]), choices[-1])) if len(choices) > 1 else choices[0]
    message = f"{name} must have {listed}, got {len(flags)}"
    severity = None if facts.module.num_partitions > 1 else "warning"
    yield Finding("M018", None, None, f"{name} value", message, severity=severity)
