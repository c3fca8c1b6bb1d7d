"""The diagnostic codes, a row for each: stable, never reused; the rules themselves live with the parser, the op table and the verifier."""

from __future__ import annotations

__all__ = ["CODE_NAMES", "DEFAULT_LINTS", "FAMILIES", "is_default", "severity_of", "summary_of"]

FAMILIES: dict[str, tuple[str, str]] = {
    "S": ("structure, names and syntax", "structure"),
    "T": ("types and shapes", "types"),
    "L": ("layouts and memory spaces", "layouts"),
    "C": ("called computations", "calls"),
    "A": ("async operations and schedules", "async"),
    "P": ("parallelism: collectives and shardings", "parallelism"),
    "M": ("module header and aliasing", "module"),
    "R": ("running", "running"),
    "W": ("warnings", "warnings"),
}
"""What the codes of a letter are about, and the page of `docs/rules` that describes them."""

# Name, level and summary by code. An "error" is reported unless it is ignored, and so is a "warning"; "on-demand" is a warning that is reported
# only where it is selected. Errors are what XLA refuses or miscompiles; warnings are legal, but doubtful. XLA's own tests hold T011 for valid.
# A034 and A035 need a limit to find anything.
# fmt: off
_ROWS: dict[str, tuple[str, str, str]] = {
    "S001": ("syntax-error", "error", ("Token sequence does not match the HLO grammar. Recover at the next line and keep going so one run reports "
        "many errors.")),
    "S002": ("undefined-operand", "error", "An operand name is not defined in the same computation. Suggest the nearest name by edit distance."),
    "S003": ("duplicate-instruction", "error", "Two instructions of one computation have the same name."),
    "S004": ("name-not-unique-in-module", "on-demand", ("The same instruction name is used in two computations. XLA renames on load, so names in "
        "later reports will differ from the file.")),
    "S005": ("duplicate-computation", "error", "Two computations have the same name."),
    "S006": ("undefined-computation", "error", ("A computation attribute (to_apply, calls, body, condition, branch_computations, select, scatter, "
        "called_computations) names a computation that is not defined above the use.")),
    "S007": ("missing-root", "warning", "No instruction is marked ROOT; XLA silently takes the last one."),
    "S008": ("multiple-roots", "error", "More than one ROOT in a computation."),
    "S009": ("no-entry", "warning", "No computation is marked ENTRY; XLA takes the last one in the file."),
    "S010": ("multiple-entry", "error", "More than one ENTRY computation."),
    "S011": ("empty-computation", "error", "A computation has no instruction, so no root."),
    "S012": ("unknown-opcode", "error", "The opcode is not known. Suggest the nearest; recognize op names of StableHLO/MHLO and of old HLO."),
    "S013": ("wrong-operand-count", "error", "Operand count differs from the arity of the opcode."),
    "S014": ("missing-attribute", "error", ("A required attribute is absent (e.g. dimensions of transpose, direction of compare, index of "
        "get-tuple-element).")),
    "S015": ("unknown-attribute", "error", "The attribute is not allowed for this opcode. List the allowed ones."),
    "S016": ("duplicate-attribute", "error", "The same attribute is given twice."),
    "S017": ("attribute-value-kind", "error", "The attribute value has the wrong syntactic kind (scalar for list, name for integer ...)."),
    "S018": ("bad-enum-value", "error", ("An enumerated attribute has an unknown value (direction, fft_type, kind, distribution, algorithm, "
        "custom_call_schedule, api_version, operand_precision ...).")),
    "S019": ("negative-parameter-number", "error", "parameter(n) with n < 0."),
    "S020": ("duplicate-parameter-number", "error", "Two parameters of a computation have the same number."),
    "S021": ("parameter-number-gap", "error", "Parameter numbers of a computation are not exactly 0..n-1."),
    "S022": ("operand-annotation-mismatch", "error", "An operand is written with a shape that is not compatible with the shape of its definition."),
    "S023": ("signature-result-mismatch", "error", "The result shape in the computation header is not compatible with the ROOT shape."),
    "S024": ("signature-parameters-mismatch", "warning", ("Parameter names or shapes in the computation header differ from the parameter "
        "instructions. XLA reads and ignores them, so a hand edit can leave a lie in the file.")),
    "S025": ("undefined-control-predecessor", "error", "control-predecessors names an instruction not defined earlier in the computation."),
    "S026": ("operand-in-other-computation", "error", "The operand exists only in another computation; HLO has no captures."),
    "S027": ("forward-reference", "error", "An operand is defined later in the same computation."),
    "S028": ("dependency-cycle", "error", ("Data edges plus control edges of one computation contain a cycle. In text this shows as a forward or "
        "self reference; print the whole cycle.")),
    "S029": ("recursive-call", "error", "The call graph has a cycle (a computation reaches itself)."),
    "S030": ("literal-count", "error", "The constant literal has too few or too many elements, or a wrong nesting, for its shape."),
    "S031": ("literal-out-of-range", "error", "A literal value does not fit the element type."),
    "S032": ("literal-kind", "error", "A literal value has the wrong kind for the element type (float for integer, number for complex ...)."),
    "S033": ("missing-header", "on-demand", "The file does not start with HloModule. XLA accepts it and invents a name."),
    "S034": ("trailing-text", "error", "Text follows the last computation, e.g. a second module in a concatenated dump."),
    "S035": ("parameter-with-operand", "error", "parameter/constant/iota/... written with instruction operands."),
    "S036": ("unknown-type", "error", "Unknown primitive type in a shape; also case errors and NumPy/MLIR spellings."),
    "S037": ("shape-not-inferable", "error", ("The result shape is omitted for an opcode whose shape cannot be inferred (parameter, constant, "
        "reshape, iota, custom-call ...).")),
    "S038": ("metadata-field", "error", "metadata={...} has an unknown or ill-typed field."),
    "S039": ("backend-config-json", "on-demand", ('A backend_config in braces, or a string starting with "{", is not valid JSON (XLA keeps the '
        "string and fails late).")),
    "S040": ("original-value-structure", "error", "origin={...} (original value) does not have the same tuple leaves as the shape."),
    "S041": ("stack-frame-index", "on-demand", ("stack_frame_id in metadata is not in the StackFrames table of the module, or the parent chain has "
        "a cycle.")),
    "S042": ("both-to-apply-and-calls", "error", "A custom-call has both to_apply and calls."),
    "S043": ("root-not-last", "on-demand", ("ROOT is not the last line of its computation. Legal, but diffs and readers expect it last unless the "
        "module is scheduled.")),
    "S044": ("computation-after-entry", "warning", "A computation stands after ENTRY; nothing can call it, because callees must come first."),
    "S045": ("elided-constant", "warning", ("constant({...}): the dump was printed without large constants. Shapes can be verified, values cannot "
        "be run, folded or compared.")),
    "S046": ("reserved-name", "error", ("A primitive type name (s2, u1, s4, u8, f16, pred, token, opaque ...) used as an instruction name, with or "
        "without %. Without % also keywords and literal words: true false nan inf ROOT ENTRY HloModule FileNames maximal replicated manual "
        "last_tile_dim_replicate.")),
    "S047": ("non-ascii-or-tab", "on-demand", "Control characters, non-UTF-8 bytes, CRLF or trailing white space; XLA accepts most, tools differ."),
    "S048": ("name-characters", "error", ("A name has characters outside [A-Za-z0-9_.-] or does not start with a letter or underscore (2x3 and 1a "
        "are also bad).")),
    "T001": ("elementwise-shape", "error", "Operands of an elementwise op have different dimensions."),
    "T002": ("elementwise-type", "error", "Operands of an elementwise op have different element types (f32 with bf16 is T085)."),
    "T003": ("result-shape", "error", ("The written result shape differs from the shape inferred from operands and attributes. The general rule "
        "after most T rules; print both.")),
    "T004": ("implicit-broadcast", "error", ("Result of an elementwise op has more dimensions or larger dimensions than an operand (size 1 or "
        "scalar stretched).")),
    "T005": ("needs-float", "error", ("Op defined for floating (and complex) types only: exponential, log, sqrt, rsqrt, cbrt, tanh, logistic, "
        "sine, cosine, tan, erf, expm1, log1p, floor, ceil, round, is-finite, atan2 ...")),
    "T006": ("needs-integral", "error", "popcnt and count-leading-zeros need an integral operand."),
    "T007": ("needs-pred-or-integral", "error", "not/and/or/xor need pred or integral types; shifts need integral types."),
    "T008": ("needs-signed", "error", "sign, negate, abs with a type outside their domain (negate/abs on pred or unsigned as XLA defines it)."),
    "T009": ("predicate-result", "error", "compare and is-finite give pred with the operand dimensions."),
    "T010": ("compare-type", "error", ("The type= attribute of compare does not suit the operand type (FLOAT/TOTALORDER for floats, SIGNED, "
        "UNSIGNED).")),
    "T011": ("compare-complex-order", "on-demand", "Complex operands allow only EQ and NE."),
    "T012": ("complex-parts", "error", "complex(re, im) needs two f32 or two f64 operands; real/imag give the component type."),
    "T013": ("select-predicate", "error", "First operand of select must be pred, a scalar or of the dimensions of the others."),
    "T014": ("select-branches", "error", "On-true and on-false of select have different shapes or types; tuples are not allowed."),
    "T015": ("clamp-operands", "error", "clamp(min, x, max): one element type; min and max are scalars or have the dimensions of x."),
    "T016": ("broadcast-rank", "error", "Number of broadcast dimensions differs from the operand rank."),
    "T017": ("broadcast-size", "error", "A broadcast dimension is out of range, or the result size there differs from the operand size."),
    "T018": ("broadcast-duplicate", "error", "broadcast dimensions repeat a result dimension."),
    "T019": ("broadcast-order", "on-demand", ("broadcast dimensions are not increasing, so the op also transposes. Legal, but several backends "
        "want them sorted.")),
    "T020": ("broadcast-type", "error", "broadcast, reshape, transpose, slice, copy ... change the element type."),
    "T021": ("reshape-count", "error", "reshape (or bitcast) changes the number of elements."),
    "T022": ("reshape-type", "error", "reshape changes the element type."),
    "T023": ("transpose-permutation", "error", "transpose dimensions are not a permutation of 0..rank-1."),
    "T024": ("transpose-result", "error", "Result dimensions are not the permuted operand dimensions."),
    "T025": ("slice-rank", "error", "slice={...} does not have one [start:limit:stride] per dimension."),
    "T026": ("slice-bounds", "error", "start < 0, limit < start, or limit > dimension size."),
    "T027": ("slice-stride", "error", "Slice stride is not positive."),
    "T028": ("dynamic-slice-indices", "error", ("dynamic-slice / dynamic-update-slice need one scalar index per dimension (or one rank-1 index "
        "vector of that length).")),
    "T029": ("dynamic-slice-index-type", "error", "Start indices are not integral, not scalar, or do not all have the same type."),
    "T030": ("dynamic-slice-size", "error", "A slice size is negative, exceeds the dimension, or the number of sizes differs from the rank."),
    "T031": ("dynamic-update-shape", "error", "The update of dynamic-update-slice has another rank or is larger than the operand."),
    "T032": ("dynamic-update-type", "error", "Operand and update element types differ."),
    "T033": ("concat-dims", "error", "Operands of concatenate differ in rank, or in a dimension that is not concatenated."),
    "T034": ("concat-type", "error", "Operands of concatenate have different element types."),
    "T035": ("concat-dimension", "error", "The concatenate dimension is out of range, or not exactly one."),
    "T036": ("pad-rank", "error", "padding= does not have one low_high[_interior] entry per dimension."),
    "T037": ("pad-value", "error", "The padding value is not a scalar of the operand type."),
    "T038": ("pad-interior", "error", "Interior padding is negative."),
    "T039": ("pad-negative-size", "error", "Negative low/high padding makes a dimension negative."),
    "T040": ("reverse-dims", "error", "reverse dimensions out of range or repeated."),
    "T041": ("iota-dimension", "error", "iota result is a scalar, or iota_dimension is out of range."),
    "T042": ("iota-type", "error", "iota of a type other than integral, floating or complex."),
    "T043": ("bitcast-convert-width", "error", ("Bit widths of bitcast-convert do not divide; or the last dimension does not match the ratio when "
        "widths differ.")),
    "T044": ("bitcast-convert-complex", "error", "bitcast-convert between complex and real types."),
    "T045": ("dot-dimension", "error", "A dot dimension number is out of range or repeated between contracting and batch dimensions."),
    "T046": ("dot-count", "error", "lhs and rhs have different numbers of contracting (or batch) dimensions."),
    "T047": ("dot-contracting-size", "error", "Paired contracting dimensions have different sizes."),
    "T048": ("dot-batch-size", "error", "Paired batch dimensions have different sizes."),
    "T049": ("dot-result-dims", "error", "Dot result is not batch dims + lhs free dims + rhs free dims."),
    "T050": ("conv-dim-labels", "error", "dim_labels are malformed, or their rank differs from lhs, rhs or result."),
    "T051": ("conv-feature", "error", "lhs features != rhs input features * feature_group_count."),
    "T052": ("conv-groups", "error", "feature_group_count / batch_group_count not positive, both > 1, or not dividing the features / batch."),
    "T053": ("conv-window", "error", "window= rank or sizes differ from the spatial kernel dimensions."),
    "T054": ("window-positive", "error", "Window size, stride or dilation is not positive."),
    "T055": ("fft-length", "error", "fft_length has no entry or more than the rank, or differs from the innermost sizes (IRFFT: last is n/2+1)."),
    "T056": ("fft-type", "error", "FFT/IFFT/IRFFT need complex, RFFT needs f32/f64 operands."),
    "T057": ("triangular-solve", "error", "Operands need rank >= 2, a square, equal batch dims, matching shared dim, floating or complex type."),
    "T058": ("cholesky", "error", "Operand needs rank >= 2, square minor dims, floating or complex type."),
    "T059": ("rng-operands", "error", "rng needs two scalar operands of the result type; rng_normal needs floats."),
    "T060": ("rng-bit-generator", "error", ("rng-bit-generator gives (state, bits) with the state shape equal to the operand; state size suits the "
        "algorithm.")),
    "T061": ("rng-state", "error", "rng-get-and-update-state gives u64[2]."),
    "T062": ("gather-dims", "error", ("gather offset_dims / collapsed_slice_dims / operand_batching_dims unsorted, repeated, out of range; offset "
        "+ collapsed + batching != operand rank.")),
    "T063": ("gather-slice-sizes", "error", "slice_sizes: one per operand dimension, 0 <= size <= dim; collapsed and batching dims must be 0 or 1."),
    "T064": ("gather-index-map", "error", ("start_index_map length differs from the index vector size, has repeats, or is out of range; "
        "index_vector_dim out of range; indices not integral.")),
    "T065": ("scatter-dims", "error", ("update_window_dims / inserted_window_dims / input_batching_dims unsorted, repeated or out of range; window "
        "rank + inserted + batching != operand rank.")),
    "T066": ("scatter-updates", "error", "Update window bounds exceed operand dims, or update scatter dims differ from the indices dims."),
    "T067": ("scatter-index-map", "error", "scatter_dims_to_operand_dims length, range or uniqueness."),
    "T068": ("tuple-index", "error", "get-tuple-element index out of range."),
    "T069": ("tuple-operand", "error", "get-tuple-element of a non-tuple."),
    "T070": ("tuple-element-shape", "error", "get-tuple-element result differs from the tuple element shape."),
    "T071": ("tuple-shape", "error", "tuple result shape differs from its operand shapes."),
    "T072": ("get-dimension-size", "error", "dimension out of range, or result not s32[]."),
    "T073": ("set-dimension-size", "error", ("dimension out of range, size operand not s32[], or result is not the operand shape with that "
        "dimension dynamic.")),
    "T074": ("batch-norm", "error", "feature_index out of range; scale/offset/mean/variance not rank 1 of the feature size; operand not floating."),
    "T075": ("topk-k", "error", "topk k exceeds the last dimension."),
    "T076": ("sort-dimension", "error", "sort operands differ in dimensions, or the sort dimension is out of range."),
    "T077": ("constant-shape", "error", ("The literal of a constant does not have its shape (proto level; in text see S030). Rejected by XLA: "
        "verifier, only on protos / API objects. jaxlib 0.10.2: no text case.")),
    "T078": ("token-operand", "error", ("A token operand is expected: operand 0 of infeed, 1 of outfeed, 1 of send, 0 of recv, 1 of "
        "add-dependency, all of after-all.")),
    "T079": ("infeed-shape", "error", "infeed gives (data, token[])."),
    "T080": ("outfeed-shape", "error", "outfeed_shape differs from operand 0; the result is token[]."),
    "T081": ("passthrough-shape", "error", "opt-barrier, copy, domain, add-dependency give the shape of operand 0."),
    "T082": ("dynamic-dimension", "error", ("Dynamic dimensions (<=n) of operands and result disagree with the propagation rules (bound or "
        "dynamism differs).")),
    "T083": ("unbounded-dynamic", "error", "Unbounded dynamic size (?) where the pipeline does not allow it."),
    "T084": ("shape-overflow", "error", "Negative dimension, or element count / byte size overflows int64."),
    "T085": ("mixed-precision", "error", ("Floating operands of different precision in one op, outside the pass-through and "
        "dot/convolution/collective ops.")),
    "T086": ("id-result", "error", "partition-id and replica-id give u32[]."),
    "T087": ("ragged-dot", "error", "ragged-dot: dims as dot; exactly one lhs ragged dim; group sizes shape and group dims consistent."),
    "T088": ("scaled-dot", "error", ("scaled-dot: scale ranks equal operand ranks, each operand dim a multiple of the scale dim, one contracting "
        "dim, not both scales scalar.")),
    "T089": ("stochastic-convert", "error", "stochastic-convert: float operand, unsigned random operand of the same dims and bit width."),
    "T090": ("dynamic-reshape", "error", "dynamic-reshape: same element count and type, one s32[] size per result dimension."),
    "T091": ("select-and-scatter-source", "error", "Source shape is not the shape of the windowed operand."),
    "T092": ("reduce-dims", "error", "reduce dimensions out of range or repeated."),
    "T093": ("reduce-result", "error", "reduce result is not the operand without the reduced dimensions."),
    "T094": ("reduce-operands", "error", ("reduce/reduce-window: odd operand count, inputs of different dims, or an init value that is not a "
        "scalar of the accumulator type.")),
    "T095": ("reduce-window-shape", "error", ("Window rank differs from operand rank, or result dims are not floor((padded - dilated size) / "
        "stride) + 1.")),
    "T096": ("map-dimensions", "error", "map dimensions must be 0..rank-1 and all operands have the same dims."),
    "T097": ("reduce-precision", "error", "Operand not floating, exponent_bits < 1 or mantissa_bits < 0."),
    "T098": ("result-accuracy", "error", "result_accuracy on an op that does not take it."),
    "T099": ("non-array-operand", "error", "An array op gets a tuple or token operand."),
    "T100": ("convert-dims", "error", "convert keeps dimensions."),
    "T101": ("buffer-entry-parameter", "error", ("A b(...) buffer type in an entry parameter, or as operand/result of an op that is not "
        "Pin/Unpin/CreateBuffer, while, call, tuple, gte or dynamic-update-slice.")),
    "T102": ("buffer-two-writers", "error", "A buffer value is written (aliased into an output) by more than one user."),
    "T103": ("pin-unpin-shape", "error", "Pin/Unpin/CreateBuffer: operand count, array vs buffer, equal shapes, exactly one aliasing pair."),
    "T104": ("scan-shape", "error", ("scan: exactly one dimension in range and of equal size in inputs and outputs; operand, carry and result "
        "counts and shapes agree with to_apply.")),
    "T105": ("collective-broadcast-shape", "error", "collective-broadcast / collective-permute results have the operand shapes."),
    "T106": ("scan-unexpanded", "error", ("A scan that is not associative in a layout-sensitive module: XLA expands it to a loop before it assigns "
        "layouts.")),
    "L001": ("layout-rank", "error", "minor_to_major has another number of entries than the shape has dimensions."),
    "L002": ("layout-duplicate", "error", "minor_to_major repeats a dimension."),
    "L003": ("layout-range", "error", "minor_to_major names a dimension out of range."),
    "L004": ("tile-size", "error", "A tile has no entry, or an entry that is not positive (nor *)."),
    "L005": ("tile-rank", "on-demand", "The first tile has more dimensions than the array."),
    "L006": ("element-size", "error", "E(n) is smaller than the type width, or set on a type that is not sub-byte."),
    "L007": ("sub-byte-unpacked", "on-demand", ("s4/u4/s2/u2/pred-like sub-byte type without E(n) in a module with layouts: 1 byte per element is "
        "assumed. State it so that sizes are comparable.")),
    "L008": ("layout-change", "error", ("An op that must keep layouts has operand and result of the same rank with different minor_to_major "
        "(elementwise, slice, concatenate ...). Only after layout assignment.")),
    "L009": ("bitcast-size", "error", "bitcast between shapes of different byte size (layout-sensitive; padding included unless allowed)."),
    "L010": ("bitcast-memory-space", "error", "bitcast between host memory S(5) and device memory (constants excepted)."),
    "L011": ("bitcast-not-bitcast", "on-demand", ("bitcast whose operand and result are not the same bytes in the same order given both layouts; "
        "it scrambles data unless that is meant.")),
    "L012": ("reshape-not-bitcast", "error", ("reshape outside fusions is not a physical bitcast (target pipelines that require it after layout "
        "assignment).")),
    "L013": ("host-copy-layout", "error", "copy from host S(5) to device also changes minor_to_major or tiling."),
    "L014": ("host-copy-type", "error", "copy between host and device memory changes the element type."),
    "L015": ("slice-to-host", "error", "dynamic-slice moves data from device to host memory."),
    "L016": ("update-from-host", "error", "dynamic-update-slice on a host buffer gives a device result."),
    "L017": ("fast-memory-transition", "error", ("copy, dynamic-slice or dynamic-update-slice moves data between memory space S(1) and another "
        "one. Error only where layout_sensitive=True was asked for explicitly, never under auto: real TPU modules do it. (The same caution holds "
        "for L008, L015 and L016 on post-optimization modules.)")),
    "L018": ("host-memory-forbidden", "error", "Any S(5) layout when the target has no host memory space."),
    "L019": ("custom-call-layouts", "error", "A layout-constrained custom-call has a result or operand_layout_constraints entry without layout."),
    "L020": ("custom-call-constraints", "error", ("operand_layout_constraints: count differs from the operands, or a shape is not compatible with "
        "its operand.")),
    "L021": ("entry-result-layout", "error", ("ROOT layout differs from the result layout in entry_computation_layout (tiles, padding and memory "
        "space ignored). Layout-sensitive only.")),
    "L022": ("entry-parameter-layout", "error", "A parameter layout differs from entry_computation_layout. Layout-sensitive only."),
    "L023": ("constrain-layout-mix", "error", "Some all-reduce ops have constrain_layout=true and others not."),
    "L024": ("tuple-layout", "error", ("get-tuple-element / tuple / opt-barrier / call / while result has another layout than its source. "
        "Layout-sensitive only.")),
    "L025": ("call-boundary-layout", "error", ("Layout of an operand differs from the parameter it is bound to (fusion, call, while, conditional). "
        "Layout-sensitive only.")),
    "L026": ("copy-start-layout", "error", ("copy-start: the two buffers must have the operand minor_to_major; copy-done: source and destination "
        "equal but for memory space.")),
    "L027": ("split-config", "error", "SC(dim:indices): dimension out of range or repeated, indices not increasing, or beyond the dimension."),
    "L028": ("tail-padding", "error", "L(n) tail padding alignment not positive."),
    "L029": ("partial-layouts", "on-demand", "Some arrays of the module have layouts and some do not; layout-sensitive checks are unreliable."),
    "L030": ("unknown-memory-space", "on-demand", ("S(n) with n outside the known set for the chosen target (0 default, 1 fast, 5 host; others per "
        "backend).")),
    "L031": ("memory-space-change", "error", ("An op other than copy, copy-start/done, dynamic-slice, dynamic-update-slice, fusion, custom-call "
        "changes memory space between operand and result.")),
    "L032": ("nested-tuple-layout", "error", "A layout written on a tuple, token or opaque shape."),
    "L033": ("sparse-layout", "error", ("#(type) or *(type) in a layout: only sparse arrays have indices and pointers, and XLA no longer has "
        "sparse arrays.")),
    "C001": ("call-operands", "error", "call operand count differs from the parameter count of to_apply."),
    "C002": ("call-operand-shape", "error", "A call operand shape differs from the parameter shape."),
    "C003": ("call-result", "error", "call result shape differs from the ROOT of to_apply."),
    "C004": ("while-parameters", "error", "while body or condition does not have exactly one parameter."),
    "C005": ("while-init", "error", "while operand shape differs from the body or condition parameter."),
    "C006": ("while-body-result", "error", "ROOT of the body differs from the loop state shape. For tuples name the first differing index."),
    "C007": ("while-condition-result", "error", "ROOT of the condition is not pred[]."),
    "C008": ("conditional-selector", "error", "First operand of conditional is not scalar pred or s32."),
    "C009": ("conditional-operands", "error", "conditional has not 1 + number of branches operands; pred selector needs exactly two branches."),
    "C010": ("conditional-parameter", "error", "A branch does not have one parameter, or its shape differs from the branch operand."),
    "C011": ("conditional-result", "error", "A branch ROOT differs from the conditional shape."),
    "C012": ("fusion-operands", "error", "fusion operand count differs from the fused parameters."),
    "C013": ("fusion-parameter-shape", "error", "A fused parameter shape differs from its operand."),
    "C014": ("fusion-result", "error", "fusion shape differs from the fused ROOT."),
    "C015": ("fusion-dead-instruction", "error", "A non-root instruction of a fused computation has no user and no side effect."),
    "C016": ("fusion-root-used", "error", "The fused ROOT has users in its computation."),
    "C017": ("fusion-shared", "error", "One computation is the body of two fusion instructions."),
    "C018": ("fusion-body-called", "error", "A fused computation is also called by something that is not a fusion."),
    "C019": ("fusion-kind", "error", "fusion without kind=, or with an unknown kind."),
    "C020": ("reducer-parameters", "error", "reduce/reduce-window computation does not have 2N parameters."),
    "C021": ("reducer-result", "error", "Reducer ROOT is not a scalar (or tuple of N scalars) of the accumulator types."),
    "C022": ("reducer-parameter-type", "error", "Reducer parameter types differ from accumulator or input element types."),
    "C023": ("scatter-computation", "error", "scatter computation is not (T, T) -> T on scalars of the operand types (2N parameters)."),
    "C024": ("select-computation", "error", "select-and-scatter: select is not (T, T) -> pred[]; scatter is not (T, T) -> T."),
    "C025": ("comparator-parameters", "error", "sort comparator does not have 2N parameters, ordered lhs0 rhs0 lhs1 rhs1 ..."),
    "C026": ("comparator-result", "error", "sort comparator does not return pred[]."),
    "C027": ("comparator-type", "error", "sort comparator parameter type differs from its operand element type."),
    "C028": ("comparator-order", "on-demand", "sort comparator uses LE, GE or another relation that is not a strict weak order."),
    "C029": ("map-computation", "error", "map computation: one scalar parameter per operand of its element type, scalar result."),
    "C030": ("collective-reducer", "error", "all-reduce / reduce-scatter computation is not a binary scalar function of the operand type."),
    "C031": ("reducer-not-recognised", "on-demand", ("The reducer of a collective is not one of add, multiply, minimum, maximum, and, or (xor) of "
        "its two parameters; most backends reject it or fall to a grammar path.")),
    "C032": ("reducer-not-associative", "on-demand", ("Reducer of reduce/reduce-window/scan is not commutative and associative; the order is "
        "unspecified.")),
    "C033": ("reducer-init", "on-demand", "The init value is not the identity of the reducer (it may be applied several times or dropped)."),
    "C034": ("composite-attributes", "error", ("call with is_composite=true: composite.name missing or empty, composite.version not a non-negative "
        "integer, composite.attributes empty.")),
    "C035": ("call-aliasing", "error", "output_to_operand_aliasing on call."),
    "C036": ("aliasing-index", "error", "output_to_operand_aliasing of fusion/custom-call: operand number or shape index out of range."),
    "C037": ("aliasing-shape", "error", "Aliased operand and output subshapes differ."),
    "C038": ("thread-mismatch", "error", "A called computation has another execution_thread than the caller (async-start excepted)."),
    "C039": ("called-computations-on-plain-op", "error", "to_apply/calls on an op that calls nothing."),
    "C040": ("scan-computation", "error", "scan to_apply parameters, carries or results do not match."),
    "C041": ("rng-seed-call", "error", "custom-call GetRngSeed has operands or a result other than u64[]."),
    "C042": ("entry-called", "error", "The ENTRY computation is called, or is a fused computation."),
    "C043": ("collective-in-fusion", "on-demand", ("A collective, infeed/outfeed, send/recv or custom-call with side effects inside a fused "
        "computation.")),
    "C044": ("custom-call-target", "error", "custom-call without target, or with an empty one."),
    "C045": ("conditional-attribute-form", "error", ("A pred selector goes with true_computation/false_computation, an s32 selector with "
        "branch_computations; XLA rejects the other form.")),
    "A001": ("async-start-unpaired", "error", "async-start never reaches an async-done (through updates, tuples, gte, while carries)."),
    "A002": ("async-start-two-dones", "error", "One async-start is finished by two async-done."),
    "A003": ("async-done-operand", "error", "async-done/async-update operand does not trace back to async-start/async-update."),
    "A004": ("async-shape", "error", "async-start/update shape is not ((operands), result, contexts...)."),
    "A005": ("async-operands", "error", "Operand count or shapes of async-start differ from its shape index 0 / the wrapped parameters."),
    "A006": ("async-result", "error", "async-done shape, or shape index 1, differs from the wrapped ROOT."),
    "A007": ("async-wraps-one-op", "error", ("The wrapped computation on the main thread holds more than parameters and the root (unless marked as "
        "a collectives group).")),
    "A008": ("async-thread", "error", "async_execution_thread differs from the execution_thread of the wrapped computation."),
    "A009": ("async-update-forked", "error", "An async-start/update feeds two updates or a done and an update."),
    "A010": ("async-update-orphan", "error", "async-update is not on a chain that ends in async-done."),
    "A011": ("async-computation-called", "error", "A computation wrapped by async-start is also called by a non-async op."),
    "A012": ("async-value-used", "error", ("The value of async-start/update is used by an op other than update, done, tuple, gte, while, call, "
        "conditional, opt-barrier.")),
    "A013": ("collective-start-unpaired", "error", ("all-reduce-start, all-gather-start, collective-permute-start, copy-start, send, recv must "
        "have exactly one consumer, the matching done.")),
    "A014": ("collective-start-two-dones", "error", "A start op has two consumers."),
    "A015": ("collective-done-operand", "error", "A done op does not take the matching start op."),
    "A016": ("collective-done-shape", "error", "Done shape differs from the start result element."),
    "A017": ("all-gather-start-shape", "error", "all-gather-start is (operand, result); collective-permute-start is (operand, result, contexts...)."),
    "A018": ("copy-start-shape", "error", "copy-start is (dest, source, u32[])."),
    "A019": ("copy-done-shape", "error", "copy-done gives element 0 of its copy-start."),
    "A020": ("send-shape", "error", "send is (data, u32[], token[])."),
    "A021": ("recv-shape", "error", "recv is (data, u32[], token[]); recv-done is (data, token[])."),
    "A022": ("channel-pair", "error", "send/recv and its done have different channel ids."),
    "A023": ("host-transfer-pair", "error", "send/recv and its done differ in is_host_transfer."),
    "A024": ("send-unpaired", "error", "send/recv has no or several users (and is not the root of an async computation)."),
    "A025": ("host-channel-reuse", "error", "Two host-transfer send/recv on one channel are not identical apart from operand identity."),
    "A026": ("send-recv-order", "error", ("In a scheduled module, two sends (or two recvs) follow each other, or a collective stands between a "
        "send and its recv: devices can deadlock.")),
    "A027": ("send-recv-cycle", "error", "source-target pairs of a send/recv contain a cycle or repeat a source or target."),
    "A028": ("schedule-order", "error", ("is_scheduled=true and an instruction stands before an operand or control predecessor. In text the loader "
        "already demands definition before use; this matters for protos, for schedules given apart, and after edits.")),
    "A029": ("schedule-coverage", "error", ("A schedule misses an instruction, lists one twice, or lacks a live non-fused computation (external "
        "schedule or proto).")),
    "A030": ("async-overlap-none", "on-demand", "A start op is directly followed by its done in a scheduled module: no overlap."),
    "A031": ("async-aliasing", "error", ("output_to_operand_aliasing of async-start/update: operand number, indices, output index empty, or shapes "
        "differ.")),
    "A032": ("async-update-prefix", "error", ("async-update: shape must extend the previous bound operands/results, new operands must match the "
        "newly bound entries.")),
    "A033": ("scheduling-name", "on-demand", ("metadata scheduling_name differs from the instruction name, with no .clone/.remat suffix (renamed "
        "after scheduling; profiles will not join).")),
    "A034": ("in-flight-limit", "warning", "More than N (config) async collectives or copies are in flight at one point of the schedule."),
    "A035": ("peak-memory", "warning", ("Peak live bytes of the schedule exceed memory_budget in the config; report point, top buffers and "
        "aliasing savings.")),
    "A036": ("unscheduled-control", "on-demand", "control-predecessors repeats a data dependence or is transitively implied."),
    "A037": ("send-recv-done-operand", "error", "send-done/recv-done operand is not send/recv (or a tuple element of one)."),
    "P001": ("replica-group-empty", "error", "replica_groups contains an empty group. ({} as a whole is fine: one group of all.)"),
    "P002": ("replica-group-repeat", "error", "An id occurs twice in replica_groups."),
    "P003": ("replica-group-gap", "error", "The ids are not exactly 0..n-1."),
    "P004": ("replica-group-count", "error", ("The number of ids differs from replica_count (cross-replica), num_partitions (cross-partition) or "
        "their product (flattened); skipped where the header leaves the count at 1.")),
    "P005": ("replica-group-uniform", "error", "Groups of different size (allowed only for all-reduce)."),
    "P006": ("flattened-needs-groups", "error", "use_global_device_ids=true with channel_id but empty replica_groups."),
    "P007": ("global-ids-need-channel", "error", "use_global_device_ids=true without channel_id."),
    "P008": ("all-gather-size", "error", "Result size along the gather dimension is not operand size times group size."),
    "P009": ("collective-dimension", "error", "all-gather / reduce-scatter / all-to-all dimension out of range."),
    "P010": ("reduce-scatter-size", "error", "Operand size is not result size times group size."),
    "P011": ("all-to-all-count", "error", ("Tuple all-to-all: operand count differs from group size; array form: split dimension not divisible by "
        "it.")),
    "P012": ("all-to-all-shapes", "error", "Operands of tuple all-to-all have different shapes."),
    "P013": ("permute-source-repeat", "error", "A source occurs twice in source_target_pairs."),
    "P014": ("permute-target-repeat", "error", "A target occurs twice."),
    "P015": ("permute-range", "error", "A source or target is negative or not below replica_count / num_partitions."),
    "P016": ("permute-inplace", "error", ("In-place collective-permute: four operands (input, output, input offsets, output offsets) with matching "
        "tuple structure.")),
    "P017": ("ragged-all-to-all", "error", "ragged-all-to-all: six operands, offsets and sizes of one shape, rank 1 or 2, integral."),
    "P018": ("channel-id-positive", "error", "channel_id is not positive."),
    "P019": ("sharding-tile-count", "error", "Product of tile dimensions differs from the number of listed (or iota) devices."),
    "P020": ("sharding-rank", "error", "Tile rank (without replicated subgroup dims) differs from the array rank."),
    "P021": ("sharding-device-repeat", "error", "A device occurs twice in a tile assignment."),
    "P022": ("sharding-device-range", "error", "A device id is negative or not below the device count of the module (num_partitions)."),
    "P023": ("sharding-tuple-count", "error", "Tuple sharding has another number of leaves than the shape."),
    "P024": ("sharding-tuple-kind", "error", "A single sharding on a tuple shape, or a tuple sharding on an array."),
    "P025": ("sharding-kind-devices", "error", ("replicated/manual/unknown with devices, or maximal without exactly one device, or tiled with a "
        "single device.")),
    "P026": ("sharding-iota", "error", "V2 iota: reshape dims, transpose perm and tile dims do not agree."),
    "P027": ("while-sharding", "error", "while, its body parameter, body ROOT and condition parameter carry different shardings."),
    "P028": ("conditional-sharding", "error", "conditional and its branch ROOTs carry different shardings."),
    "P029": ("sharding-device-count", "error", "A tile assignment does not use all num_partitions devices."),
    "P030": ("replica-groups-iota", "error", "V2 replica_groups=[a,b]<=[n]: a*b != n, or the transpose is not a permutation."),
    "P031": ("parameter-replication", "error", "parameter_replication has another number of entries than the parameter has leaves."),
    "P032": ("channel-reuse", "on-demand", "Two different collectives share one channel_id (allowed by XLA, breaks some runtimes and trace joins)."),
    "P033": ("degenerate-group", "on-demand", "All groups have one member: the collective is a copy."),
    "P034": ("permute-identity", "on-demand", ("All source-target pairs are self pairs, or an id receives nothing and gets zeros without any mask "
        "on the result.")),
    "P035": ("partition-id-outside-spmd", "on-demand", "partition-id with num_partitions=1, or replica-id with replica_count=1: constant 0."),
    "P036": ("sharding-after-partitioning", "on-demand", ("sharding= or custom-call Sharding / SPMDFullToShardShape left in a module that already "
        "contains partition-level collectives.")),
    "P037": ("uneven-sharding", "on-demand", "A dimension is not divisible by its tile count: the partitioner pads, each shard computes on waste."),
    "P038": ("collective-in-branch", "on-demand", ("A collective stands in a conditional branch whose selector is not provably equal on all "
        "members: deadlock risk.")),
    "P039": ("mesh-axis", "error", "Named sharding: unknown axis name, axis used twice, mesh size differs from device list."),
    "P040": ("collective-operand-type", "on-demand", "Reduction collective on a type the transport does not reduce (pred, complex, f8, s4)."),
    "M001": ("entry-layout-parameters", "error", "entry_computation_layout has another number of parameters than ENTRY."),
    "M002": ("entry-layout-parameter-shape", "error", "A parameter shape in entry_computation_layout differs from the instruction."),
    "M003": ("entry-layout-result-shape", "error", "The result shape in entry_computation_layout differs from the ENTRY ROOT."),
    "M004": ("alias-output-index", "error", "input_output_alias: output index is not valid in the result shape."),
    "M005": ("alias-parameter-number", "error", "input_output_alias: parameter number out of range."),
    "M006": ("alias-parameter-index", "error", "input_output_alias: shape index is not valid in the parameter."),
    "M007": ("alias-output-twice", "error", "An output index is aliased twice."),
    "M008": ("alias-parameter-twice", "error", "A parameter index is aliased to two outputs."),
    "M009": ("alias-not-array", "error", "Aliased parameter or output subshape is a tuple or token."),
    "M010": ("alias-size", "error", "Aliased parameter and output have different byte sizes (layout-sensitive)."),
    "M011": ("must-alias-shape", "error", "must-alias pair differs in shape, layout or memory space in entry_computation_layout."),
    "M012": ("donor-parameter", "error", "buffer_donor: parameter number out of range."),
    "M013": ("donor-index", "error", "buffer_donor: shape index invalid or not an array."),
    "M014": ("donor-aliased", "error", "A donated buffer is also in input_output_alias."),
    "M015": ("alias-kind", "error", "Alias kind other than may-alias / must-alias."),
    "M016": ("count-positive", "error", "replica_count or num_partitions below 1."),
    "M017": ("unknown-module-attribute", "error", "Unknown attribute in the HloModule line."),
    "M018": ("propagation-list-length", "error", ("allow_spmd_sharding_propagation_to_parameters/output: length is neither 1 nor the number of "
        "parameters/leaves.")),
    "M019": ("module-name", "error", "Empty or missing module name."),
    "M020": ("missed-donation", "on-demand", ("An output has the shape of an unused-after parameter and neither aliasing nor donation is set "
        "(opt-in).")),
    "M021": ("alias-forces-copy", "on-demand", ("The aliased parameter is still read after the aliased output is produced (scheduled module), so a "
        "copy is needed.")),
    "M022": ("entry-layout-missing", "on-demand", "Header of a scheduled or layout-assigned module lacks entry_computation_layout."),
    "M023": ("frontend-attribute-syntax", "error", 'frontend_attributes is not name="string" or name={json}.'),
    "M024": ("header-order", "on-demand", ("Header attributes out of canonical order (fmt owns this). Rejected by XLA: not at all. jaxlib 0.10.2: "
        "no text case.")),
    "M025": ("dynamic-parameter-binding", "error", ("Dynamic parameter binding of the proto names a missing parameter, index or dimension. "
        "Rejected by XLA: only on protos / API objects. jaxlib 0.10.2: no text case.")),
    "M026": ("schedule-flag-missing", "on-demand", ("The file name or neighbors say after_optimizations, yet the header lacks is_scheduled=true; "
        "liveness reports are then guesses.")),
    "R001": ("not-runnable", "error", "The module, or an instruction of it, is something that the interpreter cannot run."),
    "R002": ("wrong-arguments", "error", "The arguments do not fit the parameters of the entry computation in number, shape or type."),
    "R003": ("unknown-constant", "error", "A constant whose value the text leaves out, as {...}, is needed for the run."),
    "R004": ("evaluation-failed", "error", "An instruction cannot be computed on the values that it meets."),
    "R005": ("run-limit", "error", "The run would take more steps, memory or time than it was allowed."),
    "R006": ("nonfinite-result", "error", ("An instruction computes a NaN or an infinity from finite operands, and `hlotool run --check-nans` "
        "was asked to stop there.")),
    "R007": ("devices-out-of-step", "error", "Devices wait for each other forever, or one runs a collective more often than another."),
    "W001": ("dead-instruction", "warning", "Instruction without users, not ROOT, no side effect, not a parameter."),
    "W002": ("unused-parameter", "on-demand", "Parameter without users (ENTRY: info only, the signature is fixed)."),
    "W003": ("dead-computation", "warning", "Computation not reachable from ENTRY."),
    "W004": ("duplicate-computation", "on-demand", "Two computations are equal up to names and metadata."),
    "W005": ("duplicate-instruction", "on-demand", "Two instructions of a computation have equal opcode, operands and attributes (no side effect)."),
    "W006": ("large-constant", "on-demand", ("Constant larger than max_constant_bytes (default 1 MiB) or written out in full above "
        "max_literal_elements.")),
    "W007": ("identity-reshape", "on-demand", ("reshape/bitcast/transpose/convert/copy/broadcast/slice/pad/reverse/concatenate that returns its "
        "operand unchanged.")),
    "W008": ("redundant-copy", "warning", "copy of a copy, or copy whose source is dead afterwards and layouts agree."),
    "W009": ("convert-chain", "on-demand", ("convert of convert where the inner one loses no information the outer keeps (or the pair is a round "
        "trip that loses precision; say which).")),
    "W010": ("transpose-chain", "on-demand", "transpose of transpose; print the composed permutation."),
    "W011": ("reshape-chain", "on-demand", "reshape of reshape, bitcast of bitcast."),
    "W012": ("f64-use", "on-demand", "f64 or c128 in the module (opt-in allow list for science codes)."),
    "W013": ("wide-integer", "on-demand", "s64/u64 arrays other than scalars and RNG state."),
    "W014": ("non-default-layout", "on-demand", "ENTRY parameter or result layout is not row-major: the host pays a transpose."),
    "W015": ("host-transfer-in-loop", "warning", ("infeed, outfeed, host send/recv, host copy S(5) or host callback custom-call inside a while "
        "body (transitively).")),
    "W016": ("missing-metadata", "on-demand", "Instruction without op_name (opt-in threshold on coverage per module)."),
    "W017": ("loop-invariant", "on-demand", "A costly op in a while body depends only on loop-invariant state."),
    "W018": ("trip-count", "on-demand", "while with constant trip count 0 or 1."),
    "W019": ("algebraic-identity", "on-demand", ("add 0, multiply 1, and true, max with -inf, not not, negate negate, x-x (floats: only value-safe "
        "ones by default).")),
    "W020": ("gte-of-tuple", "on-demand", "get-tuple-element of a tuple built in the same computation."),
    "W021": ("constant-foldable", "on-demand", "All operands are constants and the result is below the folding limit."),
    "W022": ("splat-as-literal", "on-demand", "A constant whose elements are all equal is written out; a broadcast of a scalar is smaller."),
    "W023": ("sync-collective", "on-demand", "A synchronous collective in a scheduled module (no start/done): blocks the core."),
    "W024": ("combinable-collectives", "on-demand", ("Several small all-reduce/all-gather with equal groups and reducer and no dependence between "
        "them.")),
    "W025": ("all-reduce-then-slice", "on-demand", "all-reduce whose only user is a dynamic-slice by partition id: a reduce-scatter."),
    "W026": ("all-gather-then-slice", "on-demand", "all-gather whose users only take the own shard."),
    "W027": ("tile-padding-waste", "on-demand", "With the given tiling the padded bytes exceed ratio (default 2x) of the data."),
    "W028": ("unknown-custom-call", "on-demand", "custom-call target not in the known list of the chosen target/config."),
    "W029": ("custom-call-api", "on-demand", "custom-call with the old API version or with side effect but no token/order."),
    "W030": ("nondeterministic", "on-demand", ("rng, scatter with unique_indices=false on floats, select-and-scatter ...: run-to-run differences "
        "possible.")),
    "W031": ("low-precision-reduction", "on-demand", "Sum in bf16/f16/f8 over more than N elements."),
    "W032": ("nonfinite-constant", "on-demand", "nan or inf in a constant, except as init of max/min."),
    "W033": ("division-by-zero", "warning", "Division or remainder by a constant zero."),
    "W034": ("index-out-of-bounds", "on-demand", ("Constant start index of dynamic-slice/update/gather/scatter out of bounds: XLA clamps (or "
        "drops, for scatter).")),
    "W035": ("index-overflow", "on-demand", "s32/u8.. index arithmetic or iota over a dimension larger than the type."),
    "W036": ("constant-dynamic-slice", "on-demand", "dynamic-slice with all-constant indices: use slice."),
    "W037": ("unused-loop-state", "on-demand", "A while tuple element is passed through unchanged and never read (or never used after)."),
    "W038": ("empty-reduce", "on-demand", "reduce over no dimension, or over dimensions of size 1."),
    "W039": ("zero-size", "on-demand", "An array with a zero dimension."),
    "W040": ("unaligned-dot", "on-demand", "Dot or convolution dims not multiples of the configured tile (8/16/128)."),
    "W041": ("unfused-chain", "on-demand", "In an after-optimizations module, an elementwise op outside fusions feeds another one."),
    "W042": ("fusion-too-wide", "on-demand", "fusion with more than N operands (register or argument limits)."),
    "W043": ("transpose-of-layout", "on-demand", "copy that only changes layout right after a transpose (or two opposite copies)."),
    "W044": ("remat-clone", "on-demand", "Instruction named .remat or .clone: report recomputed bytes and flops (info)."),
    "W045": ("concat-of-one", "on-demand", "concatenate with one operand."),
    "W046": ("constant-select", "on-demand", "select, conditional or clamp with a constant selector."),
    "W047": ("sort-unstable", "on-demand", "sort without is_stable=true and with several operands and a comparator on the first only."),
    "W048": ("legacy-spelling", "on-demand", ("Old attribute or op spelling accepted for compatibility. Rejected by XLA: not at all. jaxlib "
        "0.10.2: no text case.")),
    "W049": ("mixed-name-style", "on-demand", "Some names have % and some not, or operand shapes are printed on some lines only."),
    "W050": ("unused-suppression", "warning", "A suppression comment or config entry that hides nothing."),
    "W051": ("custom-call-sharding-noise", "on-demand", "Sharding custom-call chained to an equal sharding."),
    "W052": ("broadcast-reduce", "on-demand", "reduce of a broadcast along the broadcast dimension: a multiply."),
    "W053": ("gather-as-slice", "on-demand", "gather with a constant or single index, or one-hot dot: a slice."),
    "W054": ("padded-dimension-growth", "on-demand", "pad immediately sliced back, or slice of pad."),
    "W055": ("suspicious-parameter-count", "on-demand", ("ENTRY has more than N (default 2000) parameters, or a flat tuple parameter: launch "
        "overhead.")),
}
# fmt: on

CODE_NAMES: dict[str, str] = {code: name for code, (name, _, _) in _ROWS.items()}
"""The name of each code, family by family."""

DEFAULT_LINTS: tuple[str, ...] = tuple(code for code, (_, level, _) in _ROWS.items() if level == "warning")
"""The warnings that are reported without being asked for."""


def severity_of(code: str) -> str:
    """What a finding of this code is by default.

    >>> severity_of("T003"), severity_of("T019")
    ('error', 'warning')
    """
    return "error" if _ROWS[code][1] == "error" else "warning"


def is_default(code: str) -> bool:
    """Whether findings of this code are reported without being asked for.

    >>> is_default("T003"), is_default("W001"), is_default("W012")
    (True, True, False)
    """
    return _ROWS[code][1] != "on-demand"


def summary_of(code: str) -> str:
    """What the rule says, in a sentence or two; the rule's own docstring says more.

    >>> summary_of("S005")
    'Two computations have the same name.'
    """
    return _ROWS[code][2]
