"""Builder methods for opcodes: their names and argument order, as in XLA's documentation.

If an opcode is not in `METHODS`, its method has the opcode's name, with `_` in place of `-`.
"""

from __future__ import annotations

__all__ = ["INTERNAL", "METHODS", "SIGNATURES", "method_name"]

METHODS: dict[str, str] = {
    "and": "and_",
    "bitcast-convert": "bitcast_convert_type",
    "broadcast": "broadcast_in_dim",
    "concatenate": "concat_in_dim",
    "convert": "convert_element_type",
    "convolution": "conv_general_dilated",
    "cosine": "cos",
    "count-leading-zeros": "clz",
    "divide": "div",
    "dot": "dot_general",
    "exponential": "exp",
    "exponential-minus-one": "expm1",
    "log-plus-one": "log1p",
    "maximum": "max",
    "minimum": "min",
    "multiply": "mul",
    "negate": "neg",
    "not": "not_",
    "opt-barrier": "optimization_barrier",
    "or": "or_",
    "popcnt": "population_count",
    "power": "pow",
    "recv": "recv_with_token",
    "remainder": "rem",
    "reverse": "rev",
    "rng": "rng_uniform",
    "send": "send_with_token",
    "sine": "sin",
    "subtract": "sub",
    "topk": "top_k",
    "while": "while_",
}
"""The names of the builder methods, by opcode."""

SIGNATURES: dict[str, str] = {
    "batch-norm-grad": "operand scale batch_mean=mean batch_var=variance grad_output epsilon feature_index",
    "batch-norm-inference": "operand scale offset mean variance epsilon feature_index",
    "batch-norm-training": "operand scale offset epsilon feature_index",
    "cholesky": "a lower",
    "fft": "operand fft_type fft_length",
    "get-tuple-element": "tuple_data=operand index",
    "opt-barrier": "operand",
    "partition-id": "shape?",
    "reduce-precision": "operand exponent_bits mantissa_bits",
    "replica-id": "",
    "topk": "operand k largest",
    "triangular-solve": "a b left_side lower unit_diagonal transpose_a",
}
"""Arguments of methods that only forward their arguments, in the order of XLA's documentation.

An entry such as `batch_mean=mean` renames an operand or attribute. These methods, the methods in
`INTERNAL` and the methods for elementwise opcodes are generated; all other methods are in
`builder.composites`.
"""

INTERNAL: dict[str, str] = {
    "add-dependency": "operand token",
    "all-gather-done": "operand",
    "all-reduce-done": "operand",
    "all-reduce-start": "operands to_apply replica_groups channel_id use_global_device_ids constrain_layout mode",
    "all-gather-start": "operands dimensions shape replica_groups channel_id use_global_device_ids constrain_layout",
    "bitcast": "operand shape",
    "collective-permute-done": "operand",
    "collective-permute-start": "operands source_target_pairs shape channel_id slice_sizes",
    "copy": "operand shape?",
    "copy-done": "operand",
    "copy-start": "operand shape cross_program_prefetch_index",
    "domain": "operand domain",
    "fusion": "operands kind calls output_to_operand_aliasing",
}
"""Arguments of methods for opcodes that appear in dumps but are not meant for users."""


def method_name(opcode: str) -> str:
    """Returns the name of the method that adds an instruction with this opcode.

    >>> method_name("negate"), method_name("shift-left")
    ('neg', 'shift_left')
    """
    return METHODS.get(opcode, opcode.replace("-", "_"))
