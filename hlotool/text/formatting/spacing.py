"""Spaces between the parts of each grammar rule, as XLA prints them.

Rules that are not listed have no spaces between their parts.
"""

from __future__ import annotations

from hlotool.record import Record

__all__ = ["CLOSERS", "NO_SPACES", "OPENERS", "SPACING", "Spacing"]


class Spacing(Record):
    """The separators between the parts of a grammar rule.

    `comma` and `colon` replace commas and colons, `pad` is written inside brackets, and `between`
    separates two parts without a comma or colon between them. `lead` maps types of parts to the
    text that is always written before these parts. `marks` is "operands" or "shapes" for lists in
    which XLA writes an index mark before every fifth element.
    """

    comma: str = ","
    pad: str = ""
    between: str = ""
    colon: str = ":"
    lead: dict[str, str] = {}  # noqa: RUF012  # never changed
    marks: str = ""


NO_SPACES = Spacing()

OPENERS = frozenset({"LBRACE", "LPAR", "LSQB", "LAYOUT_OPEN"})
CLOSERS = frozenset({"RBRACE", "RPAR", "RSQB"})

_LIST = Spacing(comma=", ")
_FIELDS = Spacing(comma=" ", between=" ")
_PADDED = Spacing(comma=", ", pad=" ")
_PAIR = Spacing(comma=", ", colon=": ")

SPACING: dict[str, Spacing] = {
    **dict.fromkeys(
        (
            "dimension_sharding", "donor", "maximal_mesh_sharding", "named_axes", "named_sharding", "names", "origin_node", "output_aliases",
            "shapes", "sharding_metadata", "slice_ranges", "whole_mesh_sharding",
        ),
        _LIST,
    ),
    # Fields are separated by spaces. XLA also accepts commas between some of them, but prints no
    # commas.
    **dict.fromkeys(
        (
            "file_location", "file_name", "function_name", "metadata", "operand", "origin_leaf", "signature_parameter", "sparsity_config",
            "stack_frame", "tensor_sparsity", "tiled_sharding", "window",
        ),
        _FIELDS,
    ),
    "buffer_donor": _PADDED,
    "debug_entry": _LIST,
    "domain": Spacing(comma=", ", between=", "),
    "entry_layout": Spacing(comma=", ", marks="shapes"),
    "input_output_alias": _PADDED,
    "input_output_pair": _PAIR,
    "mesh_replica_groups": Spacing(lead={"mesh_devices": " ", "LBRACE": " "}),
    "operands": Spacing(comma=", ", marks="operands"),
    "output_alias": _PAIR,
    "recovery": Spacing(comma=",\n  ", colon=" : "),
    "sharding_part": Spacing(comma=", ", between=" "),
    "signature": Spacing(comma=", ", lead={"ARROW": " ", "shape": " "}),
    "tuple_shape": Spacing(comma=", ", marks="shapes"),
    "tuple_sharding": Spacing(comma=", ", marks="shapes"),
    "typed_tuple": _PADDED,
}  # fmt: skip
"""The spacing of each grammar rule, by name."""
