"""Print options, with XLA's names."""

from __future__ import annotations

from dataclasses import dataclass

from hlotool.option_fields import option

__all__ = ["PrintOptions"]


@dataclass(frozen=True, repr=False)
class PrintOptions:
    """The options of XLA's HloPrintOptions, with XLA's defaults except for `print_large_constants`.

    With `lossless`, the default, the output keeps the order and the names of the module, and every
    number parses back bit for bit. Without `lossless`, it has XLA's order, names and rounding.

    >>> PrintOptions.short_parsable().print_percent
    False
    """

    lossless: bool = option(True, "Keep the order and names of the source, and every bit of its numbers.")
    print_large_constants: bool = option(True, "Print large constants in full instead of as {...}.")
    print_only_essential_constants: bool = option(False, "Print the values of constants only if they are all 0, all 1, or integers.")
    print_metadata: bool = option(True, "Print metadata and stack frame tables.")
    print_metadata_only_op_name: bool = option(False, "Print only the op_name of metadata.")
    print_backend_config: bool = option(True, "Print backend_config.")
    sort_backend_config: bool = option(False, "Sort the keys of backend_config.")
    print_infeed_outfeed_config: bool = option(True, "Print infeed_config and outfeed_config.")
    print_original_value: bool = option(True, "Print the `origin` attribute.")
    print_result_shape: bool = option(True, "Print result shapes.")
    print_operand_shape: bool = option(False, "Print the shapes of operands.")
    print_operand_names: bool = option(True, "Print the names of operands.")
    print_operand_index_annotation_interval: int = option(
        5, "Mark every Nth operand with its number, as in /*index=5*/; 0 turns the marks off.", "count"
    )
    print_ids: bool = option(True, "Print the names of the module and computations, and the suffixes of instruction names.")
    print_program_shape: bool = option(True, "Print the signatures of computations.")
    print_percent: bool = option(True, "Print % before names.")
    print_control_dependencies: bool = option(True, "Print control-predecessors.")
    print_extra_attributes: bool = option(True, "Print the attributes that are specific to an opcode.")
    print_frontend_attributes: bool = option(True, "Print frontend_attributes.")
    print_subcomputation_mode: str = option("names", "Form of called computations.", choices=("names", "full", "non_sequential", "off"))
    compact_operands: bool = option(False, "Print only four operands of instructions that have more.")
    include_layout_in_shapes: bool = option(True, "Print layouts.")
    canonicalize_instruction_names: bool = option(False, "Rename instructions to tmp_0, tmp_1, ...; requires --no-print-percent.")
    canonicalize_computations: bool = option(False, "Print computations in an order that is independent of names.")
    indent_amount: int = option(0, "Indent every line by N steps of two spaces.", "count", most=100)
    is_in_nested_computation: bool = option(False, "Print computations as if they were nested in another.")
    syntax_sugar_async_ops: bool = option(True, "Name async operations after the opcode that they wrap, as in slice-start.")
    print_name_after_closing_brace: bool = option(False, "Repeat the name of a long computation after its closing brace.")
    print_full_replica_group_list: bool = option(False, "Print replica groups as lists of devices.")
    print_replica_groups_without_subaxes: bool = option(False, "Print mesh-based replica groups without sub-axes.")
    print_parameter_number: bool = option(True, "Print the numbers of parameters.")
    print_channel_id: bool = option(True, "Print the numbers of channels.")
    print_inline_stack_frames: bool = option(False, "Print source lines instead of stack_frame_id.")
    compact_gte: bool = option(False, "Print get-tuple-element as a suffix of its operand, as in t#1.")

    @classmethod
    def xla_default(cls) -> PrintOptions:
        """Returns the options for XLA's default output, byte for byte."""
        return cls(lossless=False, print_large_constants=False)

    @classmethod
    def short_parsable(cls) -> PrintOptions:
        """Returns the options of XLA's dump files: no control edges, metadata or signatures."""
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
        """Returns the options for a form that does not depend on names.

        Instructions are called `tmp_N`, called computations are printed in full, and operands have
        shapes.
        """
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
        """Returns the options for the form that XLA hashes as a fingerprint.

        The result does not parse.
        """
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
