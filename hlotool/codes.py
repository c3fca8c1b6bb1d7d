"""The table of diagnostic codes, which are stable and never reused.

The rules themselves are defined in the parser, the op table and the verifier.
"""

from __future__ import annotations

__all__ = ["CODE_NAMES", "DEFAULT_LINTS", "FAMILIES", "is_default", "severity_of", "summary_of"]

FAMILIES: dict[str, tuple[str, str]] = {
    "S": ("structure, names and syntax", "structure"),
    "T": ("types and shapes", "types"),
    "L": ("layouts and memory spaces", "layouts"),
    "C": ("called computations", "calls"),
    "A": ("async operations and schedules", "async"),
    "P": ("collectives and shardings", "parallelism"),
    "M": ("module header and aliasing", "module"),
    "R": ("running", "running"),
    "W": ("warnings", "warnings"),
}
"""For each letter, the subject of its codes, and the page of `docs/rules` that describes them."""

# The name, level and summary of each code. An "error" or a "warning" is reported unless it is
# ignored; an "on-demand" warning is reported only if it is selected. Errors are for code that XLA
# rejects or miscompiles, and warnings for code that is legal but doubtful. T011 is a warning since
# XLA's own tests treat such code as valid. A034 and A035 report nothing unless a limit is set.
# fmt: off
_ROWS: dict[str, tuple[str, str, str]] = {
    "S001": ("syntax-error", "error", ("The text does not follow the HLO grammar. Parsing continues at the next line, so that one run reports as "
        "many errors as possible.")),
    "S002": ("undefined-operand", "error", "An operand name is not defined in its computation."),
    "S003": ("duplicate-instruction", "error", "Two instructions of one computation have the same name."),
    "S004": ("name-not-unique-in-module", "on-demand", ("Two computations use the same instruction name. XLA renames one of the instructions when it "
        "reads the module, so later reports by XLA use names that are not in the file.")),
    "S005": ("duplicate-computation", "error", "Two computations have the same name."),
    "S006": ("undefined-computation", "error", ("An attribute (`to_apply`, `calls`, `body`, `condition`, `branch_computations`, `select`, `scatter`, "
        "`called_computations`) names a computation that is not defined above it.")),
    "S007": ("missing-root", "warning", "No instruction of a computation is marked ROOT; XLA silently uses the last instruction."),
    "S008": ("multiple-roots", "error", "A computation has more than one ROOT instruction."),
    "S009": ("no-entry", "warning", "No computation is marked ENTRY; XLA uses the last computation in the file."),
    "S010": ("multiple-entry", "error", "More than one computation is marked ENTRY."),
    "S011": ("empty-computation", "error", "A computation has no instructions, and therefore no root."),
    "S012": ("unknown-opcode", "error", "The opcode does not exist; it may be misspelled, or come from StableHLO, MHLO or an older version of HLO."),
    "S013": ("wrong-operand-count", "error", "An instruction has more or fewer operands than its opcode takes."),
    "S014": ("missing-attribute", "error", ("A required attribute is missing, such as `dimensions` of transpose, `direction` of compare or `index` "
        "of get-tuple-element.")),
    "S015": ("unknown-attribute", "error", "The opcode does not take this attribute."),
    "S016": ("duplicate-attribute", "error", "An attribute is written twice."),
    "S017": ("attribute-value-kind", "error", ("The value of an attribute is of the wrong kind, such as a number instead of a list, or a name "
        "instead of a number.")),
    "S018": ("bad-enum-value", "error", ("The value of an attribute is not one of the names that the attribute accepts, as in `direction=LTE` or "
        "`fft_type=DCT`.")),
    "S019": ("negative-parameter-number", "error", "The number of a parameter is negative."),
    "S020": ("duplicate-parameter-number", "error", "Two parameters of a computation have the same number."),
    "S021": ("parameter-number-gap", "error", "The numbers of a computation's parameters have a gap: they must be 0, 1, 2 and so on."),
    "S022": ("operand-annotation-mismatch", "error", "The shape written before an operand differs from the shape in the operand's definition."),
    "S023": ("signature-result-mismatch", "error", "The result shape in the header of a computation differs from the shape of its ROOT."),
    "S024": ("signature-parameters-mismatch", "warning", ("The parameters in the header of a computation differ in name or shape from its parameter "
        "instructions. XLA ignores the header, so an outdated header goes unnoticed.")),
    "S025": ("undefined-control-predecessor", "error", "`control-predecessors` names an instruction that is not defined earlier in the computation."),
    "S026": ("operand-in-other-computation", "error", ("An operand is defined only in another computation. HLO has no captures: values enter a "
        "computation through its parameters.")),
    "S027": ("forward-reference", "error", "An operand is used before it is defined."),
    "S028": ("dependency-cycle", "error", "Instructions depend on each other in a cycle, through operands or control predecessors."),
    "S029": ("recursive-call", "error", "A computation calls itself, directly or through other computations."),
    "S030": ("literal-count", "error", "The literal of a constant has too few or too many elements for its shape, or is nested differently."),
    "S031": ("literal-out-of-range", "error", "A value in a literal does not fit the element type."),
    "S032": ("literal-kind", "error", ("A value in a literal is of the wrong kind for the element type, such as a float instead of an integer, or a "
        "single number instead of a complex number.")),
    "S033": ("missing-header", "on-demand", "The file does not start with `HloModule`. XLA accepts such a file and makes up a name for the module."),
    "S034": ("trailing-text", "error", "The last computation is followed by more text, such as a second module in a concatenated dump."),
    "S035": ("parameter-with-operand", "error", "An opcode that takes no operands (parameter, constant, iota ...) has operands."),
    "S036": ("unknown-type", "error", "A shape has an unknown element type; the type may be in the wrong case, or come from NumPy or MLIR."),
    "S037": ("shape-not-inferable", "error", ("The result shape is left out, but cannot be inferred from the operands of this opcode (parameter, "
        "constant, reshape, iota, custom-call ...).")),
    "S038": ("metadata-field", "error", "`metadata={...}` has an unknown field, or a field with a value of the wrong type."),
    "S039": ("backend-config-json", "on-demand", ("A `backend_config` that looks like JSON is not valid JSON. XLA keeps the text, and the backend "
        "fails later.")),
    "S040": ("original-value-structure", "error", "`origin={...}` does not have the same tuple structure as the shape of its instruction."),
    "S041": ("stack-frame-index", "on-demand", ("The `stack_frame_id` of an instruction is not in the module's table of stack frames, or its chain "
        "of callers never ends.")),
    "S042": ("both-to-apply-and-calls", "error", "A custom-call has both `to_apply` and `calls`."),
    "S043": ("root-not-last", "on-demand", ("ROOT is not the last instruction of its computation. This is legal, but readers and diffs expect it to "
        "be last unless the module is scheduled.")),
    "S044": ("computation-after-entry", "warning", ("A computation follows ENTRY, where nothing can call it: computations must come before their "
        "callers.")),
    "S045": ("elided-constant", "warning", ("The values of a constant are elided in the dump, as `constant({...})`. The module can be verified, "
        "but it cannot be run, folded or compared.")),
    "S046": ("reserved-name", "error", ("An instruction has the name of an element type (`s2`, `u8`, `f16`, `pred`, `token` ...) or, if written "
        "without `%`, of a keyword (`true`, `nan`, `inf`, `ROOT`, `ENTRY`, `maximal`, `replicated` ...).")),
    "S047": ("non-ascii-or-tab", "on-demand", ("The file has control characters, tabs, bytes that are not valid UTF-8, CRLF line endings or "
        "whitespace at the end of a line. XLA accepts most of them; other tools may not.")),
    "S048": ("name-characters", "error", ("A name has characters other than letters, digits, `_`, `.` and `-`, or does not start with a letter or an "
        "underscore.")),
    "S049": ("other-format", "error", "The text is not HLO, but MLIR, a program, JSON, an XLA report or binary data."),
    "T001": ("elementwise-shape", "error", "Operands of an elementwise op have different dimensions."),
    "T002": ("elementwise-type", "error", ("Operands of an elementwise op have different element types. (For two floating-point types, such as f32 "
        "and bf16, see T085.)")),
    "T003": ("result-shape", "error", "The written result shape differs from the shape inferred from operands and attributes."),
    "T004": ("implicit-broadcast", "error", ("The result of an elementwise op is larger than an operand. HLO does not broadcast implicitly, not even "
        "scalars.")),
    "T005": ("needs-float", "error", ("The op requires floating-point operands, or complex operands if the op is defined for complex numbers "
        "(exponential, log, sqrt, tanh, floor, is-finite, atan2 ...).")),
    "T006": ("needs-integral", "error", "popcnt or count-leading-zeros has an operand that is not of an integer type."),
    "T007": ("needs-pred-or-integral", "error", ("and, or, xor or not has an operand that is neither pred nor of an integer type, or a shift has an "
        "operand that is not of an integer type.")),
    "T008": ("needs-signed", "error", "sign, negate or abs has an operand of a type for which it is not defined."),
    "T009": ("predicate-result", "error", "The result of compare or is-finite is not pred with the dimensions of the operands."),
    "T010": ("compare-type", "error", ("The `type` of compare does not suit its operands: FLOAT and TOTALORDER are for floats, SIGNED and UNSIGNED "
        "for integers.")),
    "T011": ("compare-complex-order", "on-demand", "Complex numbers are compared with a direction other than EQ or NE."),
    "T012": ("complex-parts", "error", ("The operands of complex are not two f32 or two f64 arrays, or the result of complex, real or imag has the "
        "wrong element type.")),
    "T013": ("select-predicate", "error", ("The first operand of select is not pred, or is neither a scalar nor an array with the dimensions of the "
        "other operands.")),
    "T014": ("select-branches", "error", "The second and third operands of select differ in shape or element type, or are tuples."),
    "T015": ("clamp-operands", "error", ("The operands of clamp do not match: all three must have the same element type, and the bounds must be "
        "scalars or have the dimensions of the value.")),
    "T016": ("broadcast-rank", "error", "broadcast has more or fewer `dimensions` than its operand."),
    "T017": ("broadcast-size", "error", ("A dimension of broadcast is out of range, or has a size in the result that differs from the size in the "
        "operand.")),
    "T018": ("broadcast-duplicate", "error", "broadcast maps two operand dimensions to the same result dimension."),
    "T019": ("broadcast-order", "on-demand", ("The `dimensions` of broadcast are not sorted, so it also transposes. This is legal, but several "
        "backends want them sorted.")),
    "T020": ("broadcast-type", "error", ("An op that only moves elements (broadcast, reshape, transpose, slice, copy ...) has a result of a "
        "different element type.")),
    "T021": ("reshape-count", "error", "The result of reshape or bitcast has more or fewer elements than the operand."),
    "T022": ("reshape-type", "error", "The result of reshape has a different element type than the operand."),
    "T023": ("transpose-permutation", "error", "The `dimensions` of transpose are not a permutation of the operand's dimensions."),
    "T024": ("transpose-result", "error", "The result of transpose does not have the permuted dimensions of the operand."),
    "T025": ("slice-rank", "error", "The `slice` attribute does not have one `[start:limit:stride]` for each dimension."),
    "T026": ("slice-bounds", "error", "A slice starts below 0, ends before it starts, or ends after the end of the dimension."),
    "T027": ("slice-stride", "error", "The stride of a slice is not positive."),
    "T028": ("dynamic-slice-indices", "error", ("dynamic-slice or dynamic-update-slice has neither one scalar start index for each dimension, nor "
        "a single index array with one element for each dimension.")),
    "T029": ("dynamic-slice-index-type", "error", "Start indices are not scalar integers of one type."),
    "T030": ("dynamic-slice-size", "error", "A slice size is negative or larger than its dimension, or there is not one size for each dimension."),
    "T031": ("dynamic-update-shape", "error", "The update of dynamic-update-slice has a different rank than the operand, or is larger."),
    "T032": ("dynamic-update-type", "error", "The update of dynamic-update-slice has a different element type than the operand."),
    "T033": ("concat-dims", "error", "The operands of concatenate differ in rank, or in a dimension other than the concatenated one."),
    "T034": ("concat-type", "error", "The operands of concatenate have different element types."),
    "T035": ("concat-dimension", "error", "concatenate does not have exactly one dimension, or its operands do not have that dimension."),
    "T036": ("pad-rank", "error", "The `padding` attribute does not have one `low_high` or `low_high_interior` for each dimension."),
    "T037": ("pad-value", "error", "The padding value is not a scalar of the operand's element type."),
    "T038": ("pad-interior", "error", "Interior padding is negative."),
    "T039": ("pad-negative-size", "error", "Negative padding removes more elements than a dimension has."),
    "T040": ("reverse-dims", "error", "A dimension of reverse is out of range or repeated."),
    "T041": ("iota-dimension", "error", "The result of iota is a scalar, or its `iota_dimension` is out of range."),
    "T042": ("iota-type", "error", "The result of iota is not of an integer, floating-point or complex type."),
    "T043": ("bitcast-convert-width", "error", ("bitcast-convert converts between two types of which neither width is a multiple of the other, or "
        "its last dimension does not make up for the difference in width.")),
    "T044": ("bitcast-convert-complex", "error", "bitcast-convert converts between a complex and a real type."),
    "T045": ("dot-dimension", "error", "A contracting or batch dimension of dot is out of range or listed twice."),
    "T046": ("dot-count", "error", "The two sides of dot have different numbers of contracting or batch dimensions."),
    "T047": ("dot-contracting-size", "error", "A contracting dimension has different sizes on the two sides."),
    "T048": ("dot-batch-size", "error", "A batch dimension has different sizes on the two sides."),
    "T049": ("dot-result-dims", "error", ("The dimensions of dot's result are not the batch dimensions, followed by the remaining dimensions of the "
        "left side and then those of the right side.")),
    "T050": ("conv-dim-labels", "error", "The `dim_labels` of convolution are malformed, or do not fit the ranks of the operands and the result."),
    "T051": ("conv-feature", "error", ("The kernel's input features, times `feature_group_count`, do not equal the features of the convolution's "
        "input.")),
    "T052": ("conv-groups", "error", ("`feature_group_count` or `batch_group_count` is not positive or does not divide the features or the "
        "batch, or both counts are above 1.")),
    "T053": ("conv-window", "error", "The `window` of convolution does not have the sizes of the kernel's spatial dimensions."),
    "T054": ("window-positive", "error", "A window has a size, stride or dilation that is not positive."),
    "T055": ("fft-length", "error", ("`fft_length` is empty, has more entries than the operand has dimensions, or differs from the sizes of the "
        "innermost dimensions.")),
    "T056": ("fft-type", "error", ("The operand of fft has the wrong element type: RFFT needs f32 or f64, and the other types of FFT need "
        "complex numbers.")),
    "T057": ("triangular-solve", "error", ("The operands of triangular-solve do not fit together: the first must be a batch of square matrices, and "
        "the second must match it in batch, rows or columns, and element type.")),
    "T058": ("cholesky", "error", "The operand of cholesky is not a batch of square matrices of a floating-point or complex type."),
    "T059": ("rng-operands", "error", ("rng does not have two scalar operands of the result's type, or draws from a normal distribution in a type "
        "that is not floating-point.")),
    "T060": ("rng-bit-generator", "error", ("The result of rng-bit-generator is not a tuple (state, bits) whose state has the shape of the "
        "operand, or the state does not suit the algorithm.")),
    "T061": ("rng-state", "error", "The result of rng-get-and-update-state is not u64[2]."),
    "T062": ("gather-dims", "error", ("The dimension numbers of gather are unsorted, repeated or out of range, or do not add up to the operand's "
        "rank.")),
    "T063": ("gather-slice-sizes", "error", ("`slice_sizes` of gather does not have one size within bounds for each operand dimension, or a "
        "collapsed or batching dimension has a size above 1.")),
    "T064": ("gather-index-map", "error", ("`start_index_map` of gather repeats a dimension, is out of range or does not have the length of the "
        "index vectors; or `index_vector_dim` is out of range, or the indices are not integers.")),
    "T065": ("scatter-dims", "error", ("The dimension numbers of scatter are unsorted, repeated or out of range, or do not add up to the operand's "
        "rank.")),
    "T066": ("scatter-updates", "error", "The updates of scatter are larger than the operand, or do not have the dimensions of the indices."),
    "T067": ("scatter-index-map", "error", ("`scatter_dims_to_operand_dims` repeats a dimension, is out of range or does not have the length of the "
        "index vectors.")),
    "T068": ("tuple-index", "error", "The index of get-tuple-element is out of range."),
    "T069": ("tuple-operand", "error", "The operand of get-tuple-element is not a tuple."),
    "T070": ("tuple-element-shape", "error", "The result of get-tuple-element does not have the shape of the tuple's element."),
    "T071": ("tuple-shape", "error", "The result of tuple does not have the shapes of its operands."),
    "T072": ("get-dimension-size", "error", "The dimension of get-dimension-size is out of range, or its result is not s32[]."),
    "T073": ("set-dimension-size", "error", ("The dimension of set-dimension-size is out of range, its size is not s32[], or its result does not "
        "have the operand's shape with that dimension made dynamic.")),
    "T074": ("batch-norm", "error", ("A batch norm has a `feature_index` out of range, an operand that is not floating-point, or a scale, offset, "
        "mean or variance that does not have one element for each feature.")),
    "T075": ("topk-k", "error", "`k` of topk is larger than the last dimension."),
    "T076": ("sort-dimension", "error", "The operands of sort have different dimensions, or the dimension to sort is out of range."),
    "T077": ("constant-shape", "error", ("The literal of a constant does not have the constant's shape. In textual HLO, the error is S030; XLA "
        "reports T077 for modules that are built by a program.")),
    "T078": ("token-operand", "error", ("An operand that must be a token is not a token (the operand of infeed, recv or after-all, or the second "
        "operand of outfeed, send or add-dependency).")),
    "T079": ("infeed-shape", "error", "The result of infeed is not a tuple of the data and a token."),
    "T080": ("outfeed-shape", "error", "`outfeed_shape` is not the shape of the first operand, or the result of outfeed is not a token."),
    "T081": ("passthrough-shape", "error", "An op that passes a value on (copy, opt-barrier, domain, add-dependency) changes its shape."),
    "T082": ("dynamic-dimension", "error", ("A result dimension is dynamic (`<=n`) although the operands make it static, or static although they "
        "make it dynamic.")),
    "T083": ("unbounded-dynamic", "error", "A dimension of unbounded size (`?`) is used, but the target does not allow it."),
    "T084": ("shape-overflow", "error", "A dimension is negative, or an array has more bytes than 64 bits can count."),
    "T085": ("mixed-precision", "error", ("Operands have floating-point types of different precision, such as f32 and bf16, in an op that requires "
        "a single type.")),
    "T086": ("id-result", "error", "The result of partition-id or replica-id is not u32[]."),
    "T087": ("ragged-dot", "error", ("The dimensions of ragged-dot are invalid: the op requires the same kinds of dimensions as dot, exactly one "
        "ragged dimension on the left, and group sizes that match the ragged dimension.")),
    "T088": ("scaled-dot", "error", ("The scales of scaled-dot do not fit its operands: each scale must have the operand's rank, and sizes that "
        "divide the operand's sizes.")),
    "T089": ("stochastic-convert", "error", ("The operands of stochastic-convert are not a floating-point array and unsigned random numbers of the "
        "same dimensions and bit width.")),
    "T090": ("dynamic-reshape", "error", ("dynamic-reshape changes the element type or the number of elements, or does not have one s32[] size for "
        "each result dimension.")),
    "T091": ("select-and-scatter-source", "error", "The source of select-and-scatter does not have one element for each position of the window."),
    "T092": ("reduce-dims", "error", "A dimension of reduce is out of range or repeated."),
    "T093": ("reduce-result", "error", "The result of reduce does not have the operand's dimensions without the reduced ones."),
    "T094": ("reduce-operands", "error", ("The operands of reduce or reduce-window are not N arrays of the same dimensions and N scalar init values "
        "of the accumulators' types.")),
    "T095": ("reduce-window-shape", "error", ("The window of reduce-window does not have the operand's rank, or the result does not have one element "
        "for each position of the window.")),
    "T096": ("map-dimensions", "error", "The `dimensions` of map are not all dimensions in order, or its operands have different dimensions."),
    "T097": ("reduce-precision", "error", ("The operand of reduce-precision is not floating-point, `exponent_bits` is below 1 or `mantissa_bits` is "
        "below 0.")),
    "T098": ("result-accuracy", "error", "`result_accuracy` is written on an op that does not take it."),
    "T099": ("non-array-operand", "error", "An op that works on arrays has a tuple, a token or the like as an operand."),
    "T100": ("convert-dims", "error", "The result of convert has different dimensions than the operand."),
    "T101": ("buffer-entry-parameter", "error", ("A buffer, `b(...)`, is a parameter of the entry computation, or an operand or the result of an "
        "op that cannot work on buffers.")),
    "T102": ("buffer-two-writers", "error", "A buffer value is written by more than one instruction."),
    "T103": ("pin-unpin-shape", "error", "A custom-call to Pin, Unpin or CreateBuffer has the wrong operands, result or aliasing."),
    "T104": ("scan-shape", "error", ("The operands, carries and results of scan do not fit its computation, or the scanned dimension is out of range "
        "or differs in size.")),
    "T105": ("collective-broadcast-shape", "error", ("The result of collective-broadcast, collective-reduce or collective-permute does not have the "
        "shape of the operands, or the operand with the roots does not have one number for each of the other operands.")),
    "T106": ("scan-unexpanded", "error", ("A scan that is not associative is left in a module that has layouts: XLA expands it to a loop before it "
        "assigns layouts.")),
    "L001": ("layout-rank", "error", "A layout has more or fewer dimensions than its array."),
    "L002": ("layout-duplicate", "error", "A layout repeats a dimension."),
    "L003": ("layout-range", "error", "A layout contains a dimension that is out of range, or leaves out a dimension."),
    "L004": ("tile-size", "error", "A tile has no sizes, or a size that is not positive."),
    "L005": ("tile-rank", "on-demand", "The first tile has more dimensions than the array."),
    "L006": ("element-size", "error", "An element size `E(n)` is negative, or is written for a type of a byte or more, which is never packed."),
    "L007": ("sub-byte-unpacked", "on-demand", ("A type of less than a byte (s4, u4, s2 ...) has a layout without `E(n)`, so each "
        "element takes a byte.")),
    "L008": ("layout-change", "error", ("An op that keeps layouts (elementwise, slice, concatenate ...) has an operand and a result with different "
        "layouts. Checked only after layout assignment.")),
    "L009": ("bitcast-size", "error", ("The operand and the result of bitcast have different sizes in bytes, both with and without padding; with "
        "`bitcast_may_differ_in_size`, only the sizes without padding count. Checked only when layouts matter.")),
    "L010": ("bitcast-memory-space", "error", "bitcast crosses between host memory and device memory."),
    "L011": ("bitcast-not-bitcast", "on-demand", ("bitcast reads the elements in a different order than a reshape would. This is correct only if a "
        "transposition is intended.")),
    "L012": ("reshape-not-bitcast", "error", "A reshape outside of fusions moves elements in memory, but the target requires it to be a bitcast."),
    "L013": ("host-copy-layout", "error", "A copy from host memory to the device also changes the layout."),
    "L014": ("host-copy-type", "error", "A copy between host and device memory changes the element type."),
    "L015": ("slice-to-host", "error", "dynamic-slice moves data from device memory to host memory."),
    "L016": ("update-from-host", "error", "dynamic-update-slice of a buffer in host memory has a result in device memory."),
    "L017": ("fast-memory-transition", "error", ("copy, dynamic-slice or dynamic-update-slice moves data between fast memory, S(1), and another "
        "memory. Reported only if `layout_sensitive` is set to true, since TPU programs move data in this way.")),
    "L018": ("host-memory-forbidden", "error", "An array is in host memory, S(5), but the target has no host memory."),
    "L019": ("custom-call-layouts", "error", "A custom-call that constrains layouts has a result or a constraint without a layout."),
    "L020": ("custom-call-constraints", "error", ("`operand_layout_constraints` does not have one entry for each operand, or an entry has a "
        "different shape than its operand.")),
    "L021": ("entry-result-layout", "error", ("The layout of the ROOT differs from the result layout in `entry_computation_layout`. Checked only "
        "when layouts matter.")),
    "L022": ("entry-parameter-layout", "error", ("The layout of a parameter differs from the one in `entry_computation_layout`. Checked only when "
        "layouts matter.")),
    "L023": ("constrain-layout-mix", "error", "Some all-reduces of the module have `constrain_layout=true` and others do not."),
    "L024": ("tuple-layout", "error", ("The result of an op that passes values on (get-tuple-element, tuple, opt-barrier, call, while) has a "
        "different layout than the value that is passed on. Checked only when layouts matter.")),
    "L025": ("call-boundary-layout", "error", ("An operand of a call, fusion, while or conditional has a different layout than the parameter that it "
        "becomes. Checked only when layouts matter.")),
    "L026": ("copy-start-layout", "error", ("A layout in the result of copy-start differs from the operand's layout in more than the memory space, "
        "or the result of copy-done has a different layout than the destination.")),
    "L027": ("split-config", "error", ("A split configuration, `SC(dimension:indices)`, contains a dimension that is out of range or repeated, or "
        "has indices that do not increase or are outside of the dimension.")),
    "L028": ("tail-padding", "error", "The tail padding alignment `L(n)` of a layout is not positive."),
    "L029": ("partial-layouts", "on-demand", "Some arrays of the module have layouts and others do not, which makes layout checks unreliable."),
    "L030": ("unknown-memory-space", "on-demand", "A layout has a memory space, `S(n)`, that the chosen target does not have."),
    "L031": ("memory-space-change", "error", ("An op other than a copy, dynamic slice, fusion or custom-call has a result in a different memory "
        "space than its operand.")),
    "L032": ("nested-tuple-layout", "error", "A layout is written on a tuple, token or opaque shape."),
    "L033": ("sparse-layout", "error", ("A layout has index or pointer types, `#(type)` or `*(type)`, which only sparse arrays have; XLA no longer "
        "has sparse arrays.")),
    "C001": ("call-operands", "error", "A call has more or fewer operands than `to_apply` has parameters."),
    "C002": ("call-operand-shape", "error", "An operand of call has a different shape than the parameter of `to_apply`."),
    "C003": ("call-result", "error", "The result of call has a different shape than the ROOT of `to_apply`."),
    "C004": ("while-parameters", "error", "The body or the condition of while does not have exactly one parameter."),
    "C005": ("while-init", "error", "The operand of while has a different shape than the parameter of its body or condition."),
    "C006": ("while-body-result", "error", "The ROOT of the body of while has a different shape than the loop state."),
    "C007": ("while-condition-result", "error", "The ROOT of the condition of while is not pred[]."),
    "C008": ("conditional-selector", "error", "The first operand of conditional is neither pred[] nor s32[]."),
    "C009": ("conditional-operands", "error", ("conditional does not have one operand for each branch after the selector, or does not have two "
        "branches although its selector is of type pred.")),
    "C010": ("conditional-parameter", "error", ("A branch of conditional does not have exactly one parameter, or its parameter has a different shape "
        "than the operand.")),
    "C011": ("conditional-result", "error", "The ROOT of a branch has a different shape than the conditional."),
    "C012": ("fusion-operands", "error", "A fusion has more or fewer operands than its computation has parameters."),
    "C013": ("fusion-parameter-shape", "error", "A parameter of a fused computation has a different shape than the fusion's operand."),
    "C014": ("fusion-result", "error", "The result of a fusion has a different shape than the ROOT of its computation."),
    "C015": ("fusion-dead-instruction", "error", "An instruction in a fused computation has neither users nor a side effect."),
    "C016": ("fusion-root-used", "error", "The ROOT of a fused computation is used within that computation."),
    "C017": ("fusion-shared", "error", "Two fusions share a body."),
    "C018": ("fusion-body-called", "error", "The body of a fusion is also called by an instruction that is not a fusion."),
    "C019": ("fusion-kind", "error", "A fusion has no `kind`, or an unknown one."),
    "C020": ("reducer-parameters", "error", "The computation of reduce or reduce-window does not have two parameters for each input."),
    "C021": ("reducer-result", "error", "A reducer does not return one scalar of the accumulator's type for each input."),
    "C022": ("reducer-parameter-type", "error", "A parameter of a reducer has a different type than the accumulator or the input's elements."),
    "C023": ("scatter-computation", "error", ("The computation of scatter does not take two scalars of the operand's type, and return one, for each "
        "operand.")),
    "C024": ("select-computation", "error", ("`select` of select-and-scatter does not map two scalars to a pred[], or `scatter` does not combine "
        "two scalars into one.")),
    "C025": ("comparator-parameters", "error", ("A sort comparator does not have two parameters for each operand, in the order lhs0, rhs0, lhs1, "
        "rhs1 and so on.")),
    "C026": ("comparator-result", "error", "A sort comparator does not return pred[]."),
    "C027": ("comparator-type", "error", "A parameter of a sort comparator has a different type than the elements of the corresponding operand."),
    "C028": ("comparator-order", "on-demand", "A sort comparator returns true for equal elements (LE, GE ...), so it is not a strict weak order."),
    "C029": ("map-computation", "error", ("The computation of map does not take one scalar of the element type of each operand, or does not return "
        "a scalar.")),
    "C030": ("collective-reducer", "error", ("The computation of all-reduce or reduce-scatter does not combine two scalars of the operand's type "
        "into one.")),
    "C031": ("reducer-not-recognised", "on-demand", ("The reducer of a collective is not a single associative operation on its two parameters (add, "
        "multiply, minimum, maximum, and, or ...). Most backends reject other reducers, or run them slowly.")),
    "C032": ("reducer-not-associative", "on-demand", ("The reducer of reduce or reduce-window is not associative. XLA combines the elements in any "
        "order, so the result may differ between backends.")),
    "C033": ("reducer-init", "on-demand", ("The init value of a reduction is not the identity of its reducer. XLA may apply the init value several "
        "times, or not at all.")),
    "C034": ("composite-attributes", "error", ("A call with `is_composite=true` has no `composite.name`, a `composite.version` that is not a "
        "non-negative integer, or malformed `composite.attributes`.")),
    "C035": ("call-aliasing", "error", "`output_to_operand_aliasing` is written on a call, which cannot alias its operands."),
    "C036": ("aliasing-index", "error", ("`output_to_operand_aliasing` names an operand that does not exist, or an index that the operand or the "
        "result does not have.")),
    "C037": ("aliasing-shape", "error", "`output_to_operand_aliasing` pairs an operand and an output of different shapes."),
    "C038": ("thread-mismatch", "error", "A called computation runs on a different `execution_thread` than its caller."),
    "C039": ("called-computations-on-plain-op", "error", "`to_apply` or `calls` is written on an op that calls nothing."),
    "C040": ("scan-computation", "error", "The computation of scan does not have the parameters, carries or results that its operands require."),
    "C041": ("rng-seed-call", "error", "A custom-call to GetRngSeed has operands, or a result other than u64[]."),
    "C042": ("entry-called", "error", "The entry computation is called, or is the body of a fusion."),
    "C043": ("collective-in-fusion", "on-demand", "A fused computation contains a collective, a transfer or a custom-call with side effects."),
    "C044": ("custom-call-target", "error", "A custom-call has no target, or an empty one."),
    "C045": ("conditional-attribute-form", "error", ("A conditional with a pred selector has `branch_computations`, or one with an s32 selector has "
        "`true_computation` and `false_computation`; XLA rejects both.")),
    "A001": ("async-start-unpaired", "error", "The value of an async-start never reaches an async-done."),
    "A002": ("async-start-two-dones", "error", "Two async-dones end the same async-start."),
    "A003": ("async-done-operand", "error", "The operand of async-done or async-update does not come from an async-start or async-update."),
    "A004": ("async-shape", "error", "The result of async-start or async-update is not a tuple of the operands, the result and any contexts."),
    "A005": ("async-operands", "error", ("The operands of async-start differ in number or shape from the parameters of the wrapped computation, or "
        "from the first element of async-start's result.")),
    "A006": ("async-result", "error", ("The result of async-done, or the second element of async-start's result, has a different shape than the ROOT "
        "of the wrapped computation.")),
    "A007": ("async-wraps-one-op", "error", ("A computation that async-start wraps on the main thread has instructions other than parameters, tuple "
        "elements and a root.")),
    "A008": ("async-thread", "error", "`async_execution_thread` differs from the `execution_thread` of the wrapped computation."),
    "A009": ("async-update-forked", "error", "An async-start or async-update is continued twice: by two updates, or by an update and a done op."),
    "A010": ("async-update-orphan", "error", "An async-update is on a chain that never reaches an async-done."),
    "A011": ("async-computation-called", "error", "A computation that async-start wraps is also called by an op that is not asynchronous."),
    "A012": ("async-value-used", "error", ("An op uses the value of an asynchronous operation that is not done yet. Only async-update, async-done "
        "and ops that pass values on may use it.")),
    "A013": ("collective-start-unpaired", "error", ("A start op (all-reduce-start, all-gather-start, collective-permute-start, copy-start ...) is "
        "not used by exactly one instruction, the matching done op.")),
    "A014": ("collective-start-two-dones", "error", "A start op has two users."),
    "A015": ("collective-done-operand", "error", "The operand of a done op is not the matching start op."),
    "A016": ("collective-done-shape", "error", "The result of a done op does not have the shape that its start op implies."),
    "A017": ("all-gather-start-shape", "error", ("The result of all-gather-start or collective-permute-start is not a tuple of the operand, the "
        "result and, for permutes, any contexts.")),
    "A018": ("copy-start-shape", "error", "The result of copy-start is not a tuple of the destination, the source and a u32[]."),
    "A019": ("copy-done-shape", "error", "The result of copy-done is not the first element of its copy-start."),
    "A020": ("send-shape", "error", "The result of send is not a tuple of the data, a u32[] and a token."),
    "A021": ("recv-shape", "error", ("The result of recv is not a tuple of the data, a u32[] and a token, or the result of recv-done is not a tuple "
        "of the data and a token.")),
    "A022": ("channel-pair", "error", "A send or recv and its done op have different channel ids."),
    "A023": ("host-transfer-pair", "error", "A send or recv and its done op differ in `is_host_transfer`."),
    "A024": ("send-unpaired", "error", "A send or recv does not have exactly one user."),
    "A025": ("host-channel-reuse", "error", "Two transfers to or from the host use the same channel, but are different operations."),
    "A026": ("send-recv-order", "error", ("Devices may wait for each other forever: in the schedule, two sends or two recvs follow each other, or a "
        "collective comes between a send and its recv.")),
    "A027": ("send-recv-cycle", "error", "The source-target pairs of a send or recv repeat a source or a target, form a cycle, or are missing."),
    "A028": ("schedule-order", "error", "In a scheduled module, an instruction comes before one of its operands or control predecessors."),
    "A029": ("schedule-coverage", "error", ("The schedule of a module leaves out an instruction or a called computation, or lists an instruction "
        "twice.")),
    "A030": ("async-overlap-none", "on-demand", ("In a scheduled module, nothing that takes time runs between a start op and its done op, so the "
        "operation overlaps with nothing.")),
    "A031": ("async-aliasing", "error", ("`output_to_operand_aliasing` of async-start or async-update names an operand or index that does not exist, "
        "or pairs different shapes.")),
    "A032": ("async-update-prefix", "error", ("The result of async-update is not the result of the operation that it continues, extended by the new "
        "operands.")),
    "A033": ("scheduling-name", "on-demand", ("An instruction was renamed after scheduling: `scheduling_name` in its metadata is a different name. "
        "Profiles use the old name.")),
    "A034": ("in-flight-limit", "warning", "More asynchronous operations of one kind are in flight at the same time than `in_flight_limit` allows."),
    "A035": ("peak-memory", "warning", "The program needs more memory at one time than `memory_budget` allows."),
    "A036": ("unscheduled-control", "on-demand", ("A control predecessor is redundant: operands or other control predecessors already order the two "
        "instructions.")),
    "A037": ("send-recv-done-operand", "error", "The operand of send-done or recv-done is not a send or recv."),
    "P001": ("replica-group-empty", "error", "`replica_groups` has an empty group. (`replica_groups={}` as a whole means one group of all devices.)"),
    "P002": ("replica-group-repeat", "error", "An id occurs twice in `replica_groups`."),
    "P003": ("replica-group-gap", "error", "The ids in `replica_groups` are not 0, 1, 2 and so on without a gap."),
    "P004": ("replica-group-count", "error", ("`replica_groups` does not have one id for each replica, partition or, with global device ids, device "
        "of the module.")),
    "P005": ("replica-group-uniform", "error", "The groups of a collective differ in size, which only all-reduce allows."),
    "P006": ("flattened-needs-groups", "error", "`use_global_device_ids=true` requires explicit `replica_groups`."),
    "P007": ("global-ids-need-channel", "error", "`use_global_device_ids=true` requires a `channel_id`."),
    "P008": ("all-gather-size", "error", ("Along the gathered dimension, the size of all-gather's result is not the operand's size times "
        "the group size.")),
    "P009": ("collective-dimension", "error", "The dimension of all-gather, reduce-scatter or all-to-all is out of range."),
    "P010": ("reduce-scatter-size", "error", ("Along the scattered dimension, the size of reduce-scatter's operand is not the result's size "
        "times the group size.")),
    "P011": ("all-to-all-count", "error", ("all-to-all does not have one operand for each member of its groups, or splits a dimension that the group "
        "size does not divide.")),
    "P012": ("all-to-all-shapes", "error", "The operands of all-to-all have different shapes, or an operand that is split has a dynamic dimension."),
    "P013": ("permute-source-repeat", "error", "A source occurs twice in `source_target_pairs`."),
    "P014": ("permute-target-repeat", "error", "A target occurs twice in `source_target_pairs`."),
    "P015": ("permute-range", "error", "A source or target in `source_target_pairs` is negative, or not below the number of replicas or partitions."),
    "P016": ("permute-inplace", "error", ("An in-place collective-permute does not have an input, an output and offsets into both, with the same "
        "tuple structure.")),
    "P017": ("ragged-all-to-all", "error", ("The operands of ragged-all-to-all are not an input, an output and four integer arrays of offsets and "
        "sizes that have the same shape, of rank 1 or 2.")),
    "P018": ("channel-id-positive", "error", "The `channel_id` of a collective is not positive."),
    "P019": ("sharding-tile-count", "error", "The product of a tile assignment's sizes is not the number of its devices."),
    "P020": ("sharding-rank", "error", ("A sharding has more or fewer tile dimensions than the array, not counting dimensions for replication and "
        "the like.")),
    "P021": ("sharding-device-repeat", "error", "A device occurs twice in a tile assignment."),
    "P022": ("sharding-device-range", "error", "A device of a sharding is negative, or not below the module's `num_partitions`."),
    "P023": ("sharding-tuple-count", "error", "A tuple of shardings has more or fewer elements than the shape has arrays."),
    "P024": ("sharding-tuple-kind", "error", "A tuple has a single sharding, or an array has a tuple of shardings."),
    "P025": ("sharding-kind-devices", "error", ("A replicated, manual or unknown sharding lists devices, a maximal sharding does not list exactly "
        "one device, or a tiled sharding lists a single device.")),
    "P026": ("sharding-iota", "error", "The parts of an iota sharding, `[tiles]<=[sizes]T(permutation)`, do not fit together."),
    "P027": ("while-sharding", "error", "A while and its body and condition have different shardings."),
    "P028": ("conditional-sharding", "error", "A conditional and the roots of its branches have different shardings."),
    "P029": ("sharding-device-count", "error", "A tile assignment does not use all `num_partitions` devices."),
    "P030": ("replica-groups-iota", "error", "The parts of iota replica groups, `[groups,members]<=[sizes]T(permutation)`, do not fit together."),
    "P031": ("parameter-replication", "error", "`parameter_replication` does not have one flag for each array of the parameter."),
    "P032": ("channel-reuse", "on-demand", ("Two collectives share a `channel_id`. XLA allows this, but some runtimes fail, and traces confuse the "
        "two collectives.")),
    "P033": ("degenerate-group", "on-demand", "Each group of a collective has one member, so the collective only copies."),
    "P034": ("permute-identity", "on-demand", "A collective-permute sends each device its own data, so it only copies."),
    "P035": ("partition-id-outside-spmd", "on-demand", ("partition-id is used in a module with one partition, or replica-id in a module with one "
        "replica, so the id is always 0.")),
    "P036": ("sharding-after-partitioning", "on-demand", ("Shardings, or custom-calls that mark them, are left in a module that is already "
        "partitioned.")),
    "P037": ("uneven-sharding", "on-demand", ("A dimension is not divisible by its number of tiles: the partitioner pads it, and devices compute on "
        "the padding.")),
    "P038": ("collective-in-branch", "on-demand", ("A collective is in a branch of a conditional. If devices take different branches, those that "
        "reach the collective wait forever.")),
    "P039": ("mesh-axis", "error", ("A named sharding uses an axis that does not exist, or uses an axis twice, or the size of its mesh does not "
        "equal its number of devices.")),
    "P040": ("collective-operand-type", "on-demand", ("A collective reduces elements of a type that many runtimes cannot reduce (pred, complex "
        "numbers, 8-bit floats, s4).")),
    "M001": ("entry-layout-parameters", "error", "`entry_computation_layout` has more or fewer parameters than the entry computation."),
    "M002": ("entry-layout-parameter-shape", "error", "A parameter in `entry_computation_layout` differs in shape from the parameter instruction."),
    "M003": ("entry-layout-result-shape", "error", ("The result in `entry_computation_layout` differs in shape from the ROOT of the entry "
        "computation.")),
    "M004": ("alias-output-index", "error", "`input_output_alias` names an output index that the result does not have."),
    "M005": ("alias-parameter-number", "error", "`input_output_alias` names a parameter that does not exist."),
    "M006": ("alias-parameter-index", "error", "`input_output_alias` names an index that the parameter does not have."),
    "M007": ("alias-output-twice", "error", "`input_output_alias` names an output twice."),
    "M008": ("alias-parameter-twice", "error", "`input_output_alias` pairs a parameter with two outputs."),
    "M009": ("alias-not-array", "error", "`input_output_alias` names a tuple or a token; only arrays share memory."),
    "M010": ("alias-size", "error", ("`input_output_alias` pairs a parameter and an output of different sizes in bytes. Checked only when layouts "
        "matter.")),
    "M011": ("must-alias-shape", "error", "A parameter and an output that must alias differ in shape, layout or memory space."),
    "M012": ("donor-parameter", "error", "`buffer_donor` names a parameter that does not exist."),
    "M013": ("donor-index", "error", "`buffer_donor` names an index that the parameter does not have, or the index of a value that is not an array."),
    "M014": ("donor-aliased", "error", "A donated buffer is also in `input_output_alias`."),
    "M015": ("alias-kind", "error", "The kind of an alias is neither may-alias nor must-alias."),
    "M016": ("count-positive", "error", "`replica_count` or `num_partitions` is below 1."),
    "M017": ("unknown-module-attribute", "error", "The header has an unknown attribute."),
    "M018": ("propagation-list-length", "error", ("A list that allows sharding propagation has neither one entry nor one for each parameter or "
        "output.")),
    "M019": ("module-name", "error", "The module has no name."),
    "M020": ("missed-donation", "on-demand", ("A large result could reuse the memory of a parameter of the same shape, but the parameter is neither "
        "aliased nor donated.")),
    "M021": ("alias-forces-copy", "on-demand", ("In a scheduled module, a parameter is read after the output that shares its memory is written, so "
        "the parameter must be copied first.")),
    "M022": ("entry-layout-missing", "on-demand", "The header of a scheduled module has no `entry_computation_layout`."),
    "M023": ("frontend-attribute-syntax", "error", "`frontend_attributes` has a value that is neither a string nor JSON."),
    "M024": ("header-order", "on-demand", "The attributes of the header are not in the order in which XLA prints them. This is legal."),
    "M025": ("dynamic-parameter-binding", "error", ("A dynamic parameter binding names a parameter, index or dimension that does not exist. No text "
        "can express this; XLA reports it for modules built by a program.")),
    "M026": ("schedule-flag-missing", "on-demand", ("The file is named like a dump after optimizations, but the module has no schedule, so memory "
        "reports are guesses.")),
    "R001": ("not-runnable", "error", "The interpreter cannot run the module, or one of its instructions."),
    "R002": ("wrong-arguments", "error", "The arguments do not fit the parameters of the entry computation in number, shape or type."),
    "R003": ("unknown-constant", "error", "The run needs a constant whose values were left out of the dump, as `{...}`."),
    "R004": ("evaluation-failed", "error", "An instruction cannot be computed on the values it is given."),
    "R005": ("run-limit", "error", "The run needs more steps, memory or time than it is allowed."),
    "R006": ("nonfinite-result", "error", ("An instruction computes a NaN or an infinity from finite operands. Reported by `hlotool run` with "
        "`--check-nans` or `--check-infs`.")),
    "R007": ("devices-out-of-step", "error", "Devices wait for each other forever, or one device runs a collective more often than another."),
    "W001": ("dead-instruction", "warning", "An instruction is never used, and has no effect."),
    "W002": ("unused-parameter", "on-demand", "A parameter is never used."),
    "W003": ("dead-computation", "warning", "A computation is never called by the entry computation, directly or through other computations."),
    "W004": ("duplicate-computation", "on-demand", "Two computations are equal up to names and metadata."),
    "W005": ("duplicate-instruction", "on-demand", "Two instructions of a computation compute the same value."),
    "W006": ("large-constant", "on-demand", "A constant has 1 MiB or more, or more than 65,536 elements that are written out."),
    "W007": ("identity-reshape", "on-demand", ("An instruction that moves or converts elements (reshape, transpose, convert, broadcast, slice, pad "
        "...) returns its operand unchanged.")),
    "W008": ("redundant-copy", "warning", "A copy is copied again."),
    "W009": ("convert-chain", "on-demand", ("A value is converted twice although one convert does the same, or is rounded by converting it to "
        "another type and back.")),
    "W010": ("transpose-chain", "on-demand", "A transpose is transposed again; one transpose does both."),
    "W011": ("reshape-chain", "on-demand", "A reshape is reshaped again, or a bitcast is bitcast again; one op does both."),
    "W012": ("f64-use", "on-demand", "The module computes in f64 or c128, which is slow on most accelerators."),
    "W013": ("wide-integer", "on-demand", "An array has 64-bit integers, which some accelerators emulate."),
    "W014": ("non-default-layout", "on-demand", ("A parameter or the result of the program is not in row-major order, so the host has to transpose "
        "it.")),
    "W015": ("host-transfer-in-loop", "warning", "A loop transfers data to or from the host, so the device waits in each iteration."),
    "W016": ("missing-metadata", "on-demand", ("Instructions have no `op_name` in their metadata, so profiles cannot show where the instructions "
        "come from.")),
    "W017": ("loop-invariant", "on-demand", "An expensive instruction in a loop has the same value in each iteration."),
    "W018": ("trip-count", "on-demand", "A loop never runs, or runs exactly once."),
    "W019": ("algebraic-identity", "on-demand", ("The result of an arithmetic instruction is its operand or a constant, as in `x + 0`, `x * 1` or `x "
        "- x`. For floats, only identities that hold for every value are reported.")),
    "W020": ("gte-of-tuple", "on-demand", "get-tuple-element selects an operand of a tuple instruction; the operand can be used directly."),
    "W021": ("constant-foldable", "on-demand", "All operands are constants, so the result is known."),
    "W022": ("splat-as-literal", "on-demand", "A constant whose elements are all equal is written out; a broadcast of a scalar is shorter."),
    "W023": ("sync-collective", "on-demand", "A scheduled module has a synchronous collective, so the device waits instead of computing."),
    "W024": ("combinable-collectives", "on-demand", "Several small collectives that do not depend on each other could be combined into one."),
    "W025": ("all-reduce-then-slice", "on-demand", "Each device uses only its shard of an all-reduce; a reduce-scatter moves fewer bytes."),
    "W026": ("all-gather-then-slice", "on-demand", "Each device uses only a shard of the result of an all-gather."),
    "W027": ("tile-padding-waste", "on-demand", "The tiles of a layout at least double the size of an array."),
    "W028": ("unknown-custom-call", "on-demand", "The target of a custom-call is not a target that ships with XLA or JAX."),
    "W029": ("custom-call-api", "on-demand", ("A custom-call uses the original API version, or has a side effect but neither takes nor returns a "
        "token.")),
    "W030": ("nondeterministic", "on-demand", ("The result may differ from run to run: rng depends on hidden state, and scatter and "
        "select-and-scatter add floats in an unspecified order.")),
    "W031": ("low-precision-reduction", "on-demand", "A sum of more than 1,024 elements is accumulated in 16 bits or fewer."),
    "W032": ("nonfinite-constant", "on-demand", "A constant is NaN, or infinite without being the init value of a maximum or minimum."),
    "W033": ("division-by-zero", "warning", "A number is divided by the constant zero."),
    "W034": ("index-out-of-bounds", "on-demand", "A constant index is out of bounds. XLA clamps it, or drops the update of a scatter."),
    "W035": ("index-overflow", "on-demand", "An index type is too small to count to the end of the dimension."),
    "W036": ("constant-dynamic-slice", "on-demand", "All start indices of a dynamic-slice are constants; a slice does the same."),
    "W037": ("unused-loop-state", "on-demand", "An element of a loop's state is neither read nor changed in the loop."),
    "W038": ("empty-reduce", "on-demand", "reduce over no dimension, or over dimensions of size 1, only reshapes."),
    "W039": ("zero-size", "on-demand", "An array has no elements, since a dimension has size 0."),
    "W040": ("unaligned-dot", "on-demand", "A dimension of dot is not a multiple of 8, so the matrix units also compute on padding."),
    "W041": ("unfused-chain", "on-demand", "Two elementwise instructions of an optimized module are not fused."),
    "W042": ("fusion-too-wide", "on-demand", "A fusion has more than 64 operands."),
    "W043": ("transpose-of-layout", "on-demand", "A layout is changed by a copy directly after a transpose or another copy."),
    "W044": ("remat-clone", "on-demand", "The name of an instruction contains `.remat` or `.clone`: a compiler pass computes its value again."),
    "W045": ("concat-of-one", "on-demand", "concatenate has one operand, so it only copies."),
    "W046": ("constant-select", "on-demand", "The selector of select or conditional, or the value of clamp, is a constant."),
    "W047": ("sort-unstable", "on-demand", ("A sort of several operands compares only the first, and does not set `is_stable=true`: the order of "
        "equal keys is not specified.")),
    "W048": ("legacy-spelling", "on-demand", "An attribute is spelled in an old way that XLA still reads, but no longer prints."),
    "W049": ("mixed-name-style", "on-demand", "Some names have a `%` and others do not, or operands have shapes only on some lines."),
    "W050": ("unused-suppression", "warning", "A suppression, in a comment or in a frontend attribute, hides nothing."),
    "W051": ("custom-call-sharding-noise", "on-demand", "A sharding annotation is followed by an equal annotation."),
    "W052": ("broadcast-reduce", "on-demand", ("reduce combines equal elements, since its operand is a broadcast along the reduced dimensions; for a "
        "sum, a multiplication does the same.")),
    "W053": ("gather-as-slice", "on-demand", "gather takes a single slice; slice or dynamic-slice does the same."),
    "W054": ("padded-dimension-growth", "on-demand", "A slice removes elements that pad has just added."),
    "W055": ("suspicious-parameter-count", "on-demand", ("The entry computation has more than 2,000 parameters, or a tuple parameter with more "
        "than 2,000 arrays, which makes each launch slow.")),
    "W060": ("obsolete-spelling", "warning", ("A file that is read with `--legacy` has an old spelling that XLA no longer reads: an opcode, an "
        "attribute, a layout or a literal.")),
    "W061": ("incomplete-literal", "warning", ("A constant array is written as one number without braces: only its first element gets the number, "
        "and XLA sets the others to 0.")),
    "W062": ("doubtful-exponent", "warning", ("An integer is raised to a constant power that is not from 0 to 63, so XLA's result depends on where "
        "it is computed.")),
}
# fmt: on

CODE_NAMES: dict[str, str] = {code: name for code, (name, _, _) in _ROWS.items()}
"""The names of the codes, grouped by family."""

DEFAULT_LINTS: tuple[str, ...] = tuple(code for code, (_, level, _) in _ROWS.items() if level == "warning")
"""The warnings that are reported by default."""


def severity_of(code: str) -> str:
    """Returns the default severity of findings of this code.

    >>> severity_of("T003"), severity_of("T019")
    ('error', 'warning')
    """
    return "error" if _ROWS[code][1] == "error" else "warning"


def is_default(code: str) -> bool:
    """Returns whether findings of this code are reported by default.

    >>> is_default("T003"), is_default("W001"), is_default("W012")
    (True, True, False)
    """
    return _ROWS[code][1] != "on-demand"


def summary_of(code: str) -> str:
    """Returns a summary of a code's rule in a sentence or two; the rule's docstring says more.

    >>> summary_of("S005")
    'Two computations have the same name.'
    """
    return _ROWS[code][2]
