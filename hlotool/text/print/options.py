"""Print options, under XLA's names."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PrintOptions"]


@dataclass(frozen=True, repr=False)
class PrintOptions:
    """The options of XLA's HloPrintOptions, with XLA's defaults except for `print_large_constants`.

    With `lossless`, the default, the text keeps order and names of the module, and every number parses back bit for bit. Without it,
    the text has XLA's order, names and rounding.

    >>> PrintOptions.short_parsable().print_percent
    False
    """

    lossless: bool = True
    print_large_constants: bool = True
    print_only_essential_constants: bool = False
    print_metadata: bool = True
    print_metadata_only_op_name: bool = False
    print_backend_config: bool = True
    sort_backend_config: bool = False
    print_infeed_outfeed_config: bool = True
    print_original_value: bool = True
    print_result_shape: bool = True
    print_operand_shape: bool = False
    print_operand_names: bool = True
    print_operand_index_annotation_interval: int = 5
    print_ids: bool = True
    print_program_shape: bool = True
    print_percent: bool = True
    print_control_dependencies: bool = True
    print_extra_attributes: bool = True
    print_frontend_attributes: bool = True
    print_subcomputation_mode: str = "names"
    compact_operands: bool = False
    include_layout_in_shapes: bool = True
    canonicalize_instruction_names: bool = False
    canonicalize_computations: bool = False
    indent_amount: int = 0
    is_in_nested_computation: bool = False
    syntax_sugar_async_ops: bool = True
    print_name_after_closing_brace: bool = False
    print_full_replica_group_list: bool = False
    print_replica_groups_without_subaxes: bool = False
    print_parameter_number: bool = True
    print_channel_id: bool = True
    print_inline_stack_frames: bool = False
    compact_gte: bool = False

    @classmethod
    def xla_default(cls) -> PrintOptions:
        """XLA's default print, byte for byte."""
        return cls(lossless=False, print_large_constants=False)

    @classmethod
    def short_parsable(cls) -> PrintOptions:
        """The form of XLA's dump files, without control dependencies, metadata and signatures."""
        return cls(
            lossless=False,
            print_metadata=False,
            print_operand_index_annotation_interval=0,
            print_program_shape=False,
            print_percent=False,
            print_control_dependencies=False,
        )

    @classmethod
    def canonical(cls) -> PrintOptions:
        """A form that does not depend on names: instructions are `tmp_N`, called computations are in full, operands have shapes."""
        return cls(
            lossless=False,
            print_large_constants=False,
            print_metadata=False,
            print_backend_config=False,
            print_operand_shape=True,
            print_operand_index_annotation_interval=0,
            print_program_shape=False,
            print_percent=False,
            print_control_dependencies=False,
            print_subcomputation_mode="full",
            canonicalize_instruction_names=True,
        )

    @classmethod
    def fingerprint(cls) -> PrintOptions:
        """The form that XLA hashes into a module's fingerprint; it does not parse."""
        return cls(
            lossless=False,
            print_large_constants=False,
            print_only_essential_constants=True,
            print_metadata=False,
            print_backend_config=False,
            print_infeed_outfeed_config=False,
            print_operand_shape=True,
            print_operand_index_annotation_interval=0,
            print_ids=False,
            print_program_shape=False,
            print_percent=False,
            print_control_dependencies=False,
            print_subcomputation_mode="full",
            canonicalize_instruction_names=True,
            canonicalize_computations=True,
            print_full_replica_group_list=True,
        )
