"""Spaces between the parts of each grammar rule, as XLA prints them: the one table of the formatter's style.

Rules that are not listed have no spaces. Comments and line breaks are not decided here.
"""

from __future__ import annotations

from hlotool.record import Record

__all__ = ["CLOSERS", "OPENERS", "SPACING", "TIGHT", "Spacing"]


class Spacing(Record):
    """`comma` and `colon` are written in place of these marks, `pad` inside brackets, `between` where two parts meet without a mark.

    `lead` is what stands before parts of certain types, whatever they meet; `marks` says that XLA numbers every fifth of the list's
    members, and which of its print options that follows.
    """

    comma: str = ","
    pad: str = ""
    between: str = ""
    colon: str = ":"
    lead: dict[str, str] = {}  # noqa: RUF012  # never changed
    marks: str = ""


TIGHT = Spacing()

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
    # Fields side by side; the commas that XLA takes between some of them are not what it prints.
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
"""By grammar rule."""
