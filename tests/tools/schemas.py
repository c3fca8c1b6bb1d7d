"""Checks JSON values against the part of JSON Schema that hlotool's schemas use."""

from __future__ import annotations

from typing import Any

__all__ = ["check_schema"]

_TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
_WORDS = {
    "$schema", "$id", "$defs", "$ref", "title", "description", "type", "const", "enum", "properties", "required", "additionalProperties", "items",
    "prefixItems", "minItems", "maxItems",
}  # fmt: skip


def check_schema(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, path: str = "$") -> None:
    """Raises AssertionError if a value does not match the schema; the message contains the path."""
    root = schema if root is None else root
    assert schema.keys() <= _WORDS, f"{path}: this check does not support {sorted(schema.keys() - _WORDS)}"
    if "$ref" in schema:
        check_schema(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, path)
    names = schema.get("type", [])
    types = [_TYPES[name] for name in ([names] if isinstance(names, str) else names)]
    assert not types or type(value) in types, f"{path} is {value!r}, not {names}"
    assert value == schema.get("const", value), f"{path} is {value!r}, not {schema['const']!r}"
    assert value in schema.get("enum", [value]), f"{path} is {value!r}, which is not in {schema['enum']}"
    if isinstance(value, dict):
        _check_object(value, schema, root, path)
    if isinstance(value, list):
        assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)), f"{path} has {len(value)} items"
        parts = schema.get("prefixItems", [])
        for k, item in enumerate(value):
            check_schema(item, parts[k] if k < len(parts) else schema.get("items", {}), root, f"{path}[{k}]")


def _check_object(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], path: str) -> None:
    missing = [name for name in schema.get("required", []) if name not in value]
    assert not missing, f"{path} has no {missing}"
    properties = schema.get("properties", {})
    for name, item in value.items():
        assert name in properties or schema.get("additionalProperties", True), f"{path} has the unknown key {name!r}"
        check_schema(item, properties.get(name, {}), root, f"{path}.{name}")
