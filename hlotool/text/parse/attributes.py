"""Checks and converts the attributes of one instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlotool.errors import Violation, nearest
from hlotool.ir.model import AttributeSet
from hlotool.opdefs.base import AttributeSpec, OpDef
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.table import CODECS
from hlotool.shapes.metadata import Metadata
from hlotool.shapes.shape import Shape
from hlotool.shapes.sharding import expand_for_shape
from hlotool.shapes.strings import is_raw_dict, quote
from hlotool.text.parse.builder import ModuleBuilder
from hlotool.text.parse.expectations import TO_APPLY_AND_CALLS

__all__ = [
    "Attribute",
    "backend_config_text",
    "convert_value",
    "has_pending",
    "make_attributes",
    "resolve_pending",
    "split_annotations",
    "unknown_attribute",
]


class Attribute:
    """An attribute in the text: its name, the value built by its grammar rule, and its offset."""

    __slots__ = ("name", "position", "value")

    def __init__(self, name: str, value: Any, position: int) -> None:
        self.name = name
        self.value = value
        self.position = position


# Specific error codes of attributes, used instead of S015 if the opcode does not take the attribute
# and instead of S014 if the attribute is missing.
_MISPLACED = {"result_accuracy": "T098", "to_apply": "C039", "calls": "C039", "output_to_operand_aliasing": "C035"}
_MISSING = {"kind": "C019", "custom_call_target": "C044"}

# Attributes whose values depend on the instruction, not only on the attribute's text.
_PENDING = frozenset({"control-predecessors", "sharding", "parameter_replication"})


def make_attributes(builder: ModuleBuilder, op: OpDef, attributes: Sequence[Attribute], position: int) -> AttributeSet:
    """Returns the attribute set of an instruction.

    Control predecessors and values that depend on the instruction's shape are left to
    `resolve_pending`. Raises Violation for an unknown, duplicate or missing attribute, or an
    invalid value.
    """
    values: dict[str, Any] = {}
    for attribute in attributes:
        name = attribute.name
        if name in values:
            raise Violation("S016", attribute.position, f"attribute '{name}' is written twice")
        spec = op.attributes.get(name) or COMMON_ATTRIBUTES.get(name)
        if spec is None:
            if builder.strict:
                if name == "calls" and "to_apply" in values and "called_computations" in op.attributes:
                    raise Violation("S042", attribute.position, TO_APPLY_AND_CALLS, "list all computations in called_computations={...}")
                raise unknown_attribute(op, attribute)
            builder.report("S015", attribute.position, f"'{op.name}' has no attribute '{name}'", severity="warning")
            values[name] = attribute.value
            continue
        values[name] = convert_value(spec, attribute)
    for name in op.required:
        if name not in values:
            raise Violation(_MISSING.get(name, "S014"), position, f"'{op.name}' needs the attribute '{name}'", f"add {name}=...")
    if "to_apply" in values and "called_computations" in op.attributes:
        # Both ways to write a custom call's computations end up in one list.
        values["called_computations"] = (values.pop("to_apply"),)
    if "operand_layout_constraints" in values:
        # XLA drops the called computations of a custom call with layout constraints.
        values.pop("called_computations", None)
    builder.has_origins = builder.has_origins or "origin" in values
    return AttributeSet(values)


def has_pending(attributes: AttributeSet) -> bool:
    """Returns whether an instruction with these attributes needs `resolve_pending`."""
    return not _PENDING.isdisjoint(attributes)


def convert_value(spec: AttributeSpec, attribute: Attribute) -> Any:
    """Returns an attribute's value as converted by its codec; raises Violation if it is invalid."""
    convert = CODECS[spec.kind].convert
    if convert is None:
        return attribute.value
    try:
        return convert(attribute.value)
    except Violation as violation:
        if isinstance(violation.at, int):
            raise
        raise Violation(violation.code, attribute.position, f"{attribute.name}: {violation.message}", violation.hint) from None


def unknown_attribute(op: OpDef, attribute: Attribute) -> Violation:
    """Returns the Violation, with a hint, for an attribute that the opcode does not take."""
    allowed = [*op.attributes, *COMMON_ATTRIBUTES]
    meant = nearest(attribute.name, allowed)
    hint = f"did you mean '{meant}'?" if meant else f"'{op.name}' takes: {', '.join(sorted(allowed))}"
    code = _MISPLACED.get(attribute.name, "S015")
    return Violation(code, attribute.position, f"'{op.name}' has no attribute '{attribute.name}'", hint)


def resolve_pending(builder: ModuleBuilder, op: OpDef, shape: Shape, attributes: AttributeSet, positions: dict[str, int]) -> AttributeSet:
    """Returns the attributes with control predecessors resolved and a tuple's sharding expanded.

    `positions` maps the names of the attributes to their offsets, for messages. Raises Violation
    for an invalid value.
    """
    changed: dict[str, Any] = {}
    names = attributes.get("control-predecessors")
    if names is not None:
        # A dictionary removes duplicates and keeps the order.
        changed["control-predecessors"] = tuple({builder.instruction(name, at, "S025"): None for name, at in names})
    sharding = attributes.get("sharding")
    if sharding is not None:
        try:
            checked = expand_for_shape(sharding, shape)
        except Violation as violation:
            raise Violation(violation.code, positions.get("sharding", -1), violation.message, violation.hint) from None
        if checked is not sharding:
            changed["sharding"] = checked
    replication = attributes.get("parameter_replication")
    if replication is not None:
        _check_replication(op, shape, replication, positions)
    if not changed:
        return attributes
    return AttributeSet({**attributes, **changed})


def _check_replication(op: OpDef, shape: Shape, replication: tuple[bool, ...], positions: dict[str, int]) -> None:
    position = positions.get("parameter_replication", -1)
    if op.name != "parameter":
        raise Violation("S015", position, "only parameters can have parameter_replication")
    leaves = sum(1 for _ in shape.leaves())
    if len(replication) != leaves:
        raise Violation("S017", position, f"parameter_replication needs one flag per array, {leaves} in total, but has {len(replication)}")


def backend_config_text(value: str) -> str | None:
    """Returns the canonical text of a backend configuration, or None if it is empty.

    The text is unquoted if it is a single dictionary, and quoted otherwise.
    """
    if not value:
        return None
    return value if is_raw_dict(value) else quote(value)


def split_annotations(attributes: list[Attribute]) -> tuple[str | None, str | None, list[Attribute]]:
    """Returns metadata and backend configuration as canonical text, and the other attributes."""
    metadata: str | None = None
    backend_config: str | None = None
    rest = []
    seen = set()
    for attribute in attributes:
        if attribute.name not in ("metadata", "backend_config"):
            rest.append(attribute)
            continue
        if attribute.name in seen:
            raise Violation("S016", attribute.position, f"attribute '{attribute.name}' is written twice")
        seen.add(attribute.name)
        if isinstance(attribute.value, Metadata):
            metadata = attribute.value.text if attribute.value != Metadata() else None
        else:
            backend_config = backend_config_text(attribute.value)
    return metadata, backend_config, rest
