"""Attributes that any instruction may have, in XLA's print order."""

from __future__ import annotations

from hlotool.opdefs.base import AttributeSpec

__all__ = ["COMMON_ATTRIBUTES"]

COMMON_ATTRIBUTES: dict[str, AttributeSpec] = {
    spec.name: spec
    for spec in (
        AttributeSpec("parameter_replication", "Replication", None),
        AttributeSpec("sharding", "Sharding", None),
        AttributeSpec("frontend_attributes", "FrontendAttributes", {}),
        AttributeSpec("control-predecessors", "Names", ()),
        AttributeSpec("statistics", "Statistics", None),
        AttributeSpec("origin", "Origin", None),
        AttributeSpec("metadata", "Metadata", None),
        AttributeSpec("backend_config", "BackendConfig", None),
    )
}
"""Attributes by name."""
