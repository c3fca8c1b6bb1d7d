"""Attributes of a module's header, in XLA's print order."""

from __future__ import annotations

from hlotool.opdefs.base import AttributeSpec

__all__ = ["MODULE_ATTRIBUTES"]

MODULE_ATTRIBUTES: dict[str, AttributeSpec] = {
    spec.name: spec
    for spec in (
        AttributeSpec("is_scheduled", "Bool", False),
        AttributeSpec("input_output_alias", "InputOutputAlias", ()),
        AttributeSpec("buffer_donor", "BufferDonor", ()),
        AttributeSpec("alias_passthrough_params", "Bool", False),
        AttributeSpec("entry_computation_layout", "EntryLayout", None),
        AttributeSpec("allow_spmd_sharding_propagation_to_parameters", "Bools", (False,)),
        AttributeSpec("allow_spmd_sharding_propagation_to_output", "Bools", (False,)),
        AttributeSpec("replica_count", "Int", 1),
        AttributeSpec("num_partitions", "Int", 1),
        AttributeSpec("frontend_attributes", "FrontendAttributes", {}),
        AttributeSpec("origin_recovery_table", "RecoveryTable", ()),
        AttributeSpec("debug_attributes", "DebugAttributes", ()),
    )
}
"""Attributes by name. All are optional.

Apart from entry_computation_layout, which is always printed, attributes are printed only if they
differ from their defaults.
"""
