"""What each diagnostic code means, in a sentence or two: a table for `verifier.explanations`.

Rules of one file each say more in their docstrings; nothing is decided by what stands here.
"""

from __future__ import annotations

__all__ = ["SUMMARIES"]

_TEXT = """
S001 Token sequence does not match the HLO grammar. Recover at the next line and keep going so one run reports many errors.
S002 An operand name is not defined in the same computation. Suggest the nearest name by edit distance.
S003 Two instructions of one computation have the same name.
S004 The same instruction name is used in two computations. XLA renames on load, so names in later reports will differ from the file.
S005 Two computations have the same name.
S006 A computation attribute (to_apply, calls, body, condition, branch_computations, select, scatter, called_computations) names a computation that
     is not defined above the use.
S007 No instruction is marked ROOT; XLA silently takes the last one.
S008 More than one ROOT in a computation.
S009 No computation is marked ENTRY; XLA takes the last one in the file.
S010 More than one ENTRY computation.
S011 A computation has no instruction, so no root.
S012 The opcode is not known. Suggest the nearest; recognise op names of StableHLO/MHLO and of old HLO.
S013 Operand count differs from the arity of the opcode.
S014 A required attribute is absent (e.g. dimensions of transpose, direction of compare, index of get-tuple-element).
S015 The attribute is not allowed for this opcode. List the allowed ones.
S016 The same attribute is given twice.
S017 The attribute value has the wrong syntactic kind (scalar for list, name for integer ...).
S018 An enumerated attribute has an unknown value (direction, fft_type, kind, distribution, algorithm, custom_call_schedule, api_version,
     operand_precision ...).
S019 parameter(n) with n < 0.
S020 Two parameters of a computation have the same number.
S021 Parameter numbers of a computation are not exactly 0..n-1.
S022 An operand is written with a shape that is not compatible with the shape of its definition.
S023 The result shape in the computation header is not compatible with the ROOT shape.
S024 Parameter names or shapes in the computation header differ from the parameter instructions. XLA reads and ignores them, so a hand edit can
     leave a lie in the file.
S025 control-predecessors names an instruction not defined earlier in the computation.
S026 The operand exists only in another computation; HLO has no captures.
S027 An operand is defined later in the same computation.
S028 Data edges plus control edges of one computation contain a cycle. In text this shows as a forward or self reference; print the whole cycle.
S029 The call graph has a cycle (a computation reaches itself).
S030 The constant literal has too few or too many elements, or a wrong nesting, for its shape.
S031 A literal value does not fit the element type.
S032 A literal value has the wrong kind for the element type (float for integer, number for complex ...).
S033 The file does not start with HloModule. XLA accepts it and invents a name.
S034 Text follows the last computation, e.g. a second module in a concatenated dump.
S035 parameter/constant/iota/... written with instruction operands.
S036 Unknown primitive type in a shape; also case errors and NumPy/MLIR spellings.
S037 The result shape is omitted for an opcode whose shape cannot be inferred (parameter, constant, reshape, iota, custom-call ...).
S038 metadata={...} has an unknown or ill-typed field.
S039 A backend_config in braces, or a string starting with "{", is not valid JSON (XLA keeps the string and fails late).
S040 origin={...} (original value) does not have the same tuple leaves as the shape.
S041 stack_frame_id in metadata is not in the StackFrames table of the module, or the parent chain has a cycle.
S042 A custom-call has both to_apply and calls.
S043 ROOT is not the last line of its computation. Legal, but diffs and readers expect it last unless the module is scheduled.
S044 A computation stands after ENTRY; nothing can call it, because callees must come first.
S045 constant({...}): the dump was printed without large constants. Shapes can be verified, values cannot be run, folded or compared.
S046 A primitive type name (s2, u1, s4, u8, f16, pred, token, opaque ...) used as an instruction name, with or without %. Without % also keywords
     and literal words: true false nan inf ROOT ENTRY HloModule FileNames maximal replicated manual last_tile_dim_replicate.
S047 Control characters, non-UTF-8 bytes, CRLF or trailing white space; XLA accepts most, tools differ.
S048 A name has characters outside [A-Za-z0-9_.-] or does not start with a letter or underscore (2x3 and 1a are also bad).
T001 Operands of an elementwise op have different dimensions.
T002 Operands of an elementwise op have different element types (f32 with bf16 is T085).
T003 The written result shape differs from the shape inferred from operands and attributes. The general rule after most T rules; print both.
T004 Result of an elementwise op has more dimensions or larger dimensions than an operand (size 1 or scalar stretched).
T005 Op defined for floating (and complex) types only: exponential, log, sqrt, rsqrt, cbrt, tanh, logistic, sine, cosine, tan, erf, expm1, log1p,
     floor, ceil, round, is-finite, atan2 ...
T006 popcnt and count-leading-zeros need an integral operand.
T007 not/and/or/xor need pred or integral types; shifts need integral types.
T008 sign, negate, abs with a type outside their domain (negate/abs on pred or unsigned as XLA defines it).
T009 compare and is-finite give pred with the operand dimensions.
T010 The type= attribute of compare does not suit the operand type (FLOAT/TOTALORDER for floats, SIGNED, UNSIGNED).
T011 Complex operands allow only EQ and NE.
T012 complex(re, im) needs two f32 or two f64 operands; real/imag give the component type.
T013 First operand of select must be pred, a scalar or of the dimensions of the others.
T014 On-true and on-false of select have different shapes or types; tuples are not allowed.
T015 clamp(min, x, max): one element type; min and max are scalars or have the dimensions of x.
T016 Number of broadcast dimensions differs from the operand rank.
T017 A broadcast dimension is out of range, or the result size there differs from the operand size.
T018 broadcast dimensions repeat a result dimension.
T019 broadcast dimensions are not increasing, so the op also transposes. Legal, but several backends want them sorted.
T020 broadcast, reshape, transpose, slice, copy ... change the element type.
T021 reshape (or bitcast) changes the number of elements.
T022 reshape changes the element type.
T023 transpose dimensions are not a permutation of 0..rank-1.
T024 Result dimensions are not the permuted operand dimensions.
T025 slice={...} does not have one [start:limit:stride] per dimension.
T026 start < 0, limit < start, or limit > dimension size.
T027 Slice stride is not positive.
T028 dynamic-slice / dynamic-update-slice need one scalar index per dimension (or one rank-1 index vector of that length).
T029 Start indices are not integral, not scalar, or do not all have the same type.
T030 A slice size is negative, exceeds the dimension, or the number of sizes differs from the rank.
T031 The update of dynamic-update-slice has another rank or is larger than the operand.
T032 Operand and update element types differ.
T033 Operands of concatenate differ in rank, or in a dimension that is not concatenated.
T034 Operands of concatenate have different element types.
T035 The concatenate dimension is out of range, or not exactly one.
T036 padding= does not have one low_high[_interior] entry per dimension.
T037 The padding value is not a scalar of the operand type.
T038 Interior padding is negative.
T039 Negative low/high padding makes a dimension negative.
T040 reverse dimensions out of range or repeated.
T041 iota result is a scalar, or iota_dimension is out of range.
T042 iota of a type other than integral, floating or complex.
T043 Bit widths of bitcast-convert do not divide; or the last dimension does not match the ratio when widths differ.
T044 bitcast-convert between complex and real types.
T045 A dot dimension number is out of range or repeated between contracting and batch dimensions.
T046 lhs and rhs have different numbers of contracting (or batch) dimensions.
T047 Paired contracting dimensions have different sizes.
T048 Paired batch dimensions have different sizes.
T049 Dot result is not batch dims + lhs free dims + rhs free dims.
T050 dim_labels are malformed, or their rank differs from lhs, rhs or result.
T051 lhs features != rhs input features * feature_group_count.
T052 feature_group_count / batch_group_count not positive, both > 1, or not dividing the features / batch.
T053 window= rank or sizes differ from the spatial kernel dimensions.
T054 Window size, stride or dilation is not positive.
T055 fft_length has no entry or more than the rank, or differs from the innermost sizes (IRFFT: last is n/2+1).
T056 FFT/IFFT/IRFFT need complex, RFFT needs f32/f64 operands.
T057 Operands need rank >= 2, a square, equal batch dims, matching shared dim, floating or complex type.
T058 Operand needs rank >= 2, square minor dims, floating or complex type.
T059 rng needs two scalar operands of the result type; rng_normal needs floats.
T060 rng-bit-generator gives (state, bits) with the state shape equal to the operand; state size suits the algorithm.
T061 rng-get-and-update-state gives u64[2].
T062 gather offset_dims / collapsed_slice_dims / operand_batching_dims unsorted, repeated, out of range; offset + collapsed + batching != operand
     rank.
T063 slice_sizes: one per operand dimension, 0 <= size <= dim; collapsed and batching dims must be 0 or 1.
T064 start_index_map length differs from the index vector size, has repeats, or is out of range; index_vector_dim out of range; indices not
     integral.
T065 update_window_dims / inserted_window_dims / input_batching_dims unsorted, repeated or out of range; window rank + inserted + batching !=
     operand rank.
T066 Update window bounds exceed operand dims, or update scatter dims differ from the indices dims.
T067 scatter_dims_to_operand_dims length, range or uniqueness.
T068 get-tuple-element index out of range.
T069 get-tuple-element of a non-tuple.
T070 get-tuple-element result differs from the tuple element shape.
T071 tuple result shape differs from its operand shapes.
T072 dimension out of range, or result not s32[].
T073 dimension out of range, size operand not s32[], or result is not the operand shape with that dimension dynamic.
T074 feature_index out of range; scale/offset/mean/variance not rank 1 of the feature size; operand not floating.
T075 topk k exceeds the last dimension.
T076 sort operands differ in dimensions, or the sort dimension is out of range.
T077 The literal of a constant does not have its shape (proto level; in text see S030). Rejected by XLA: verifier, only on protos / API objects.
     jaxlib 0.10.2: no text case.
T078 A token operand is expected: operand 0 of infeed, 1 of outfeed, 1 of send, 0 of recv, 1 of add-dependency, all of after-all.
T079 infeed gives (data, token[]).
T080 outfeed_shape differs from operand 0; the result is token[].
T081 opt-barrier, copy, domain, add-dependency give the shape of operand 0.
T082 Dynamic dimensions (<=n) of operands and result disagree with the propagation rules (bound or dynamism differs).
T083 Unbounded dynamic size (?) where the pipeline does not allow it.
T084 Negative dimension, or element count / byte size overflows int64.
T085 Floating operands of different precision in one op, outside the pass-through and dot/convolution/collective ops.
T086 partition-id and replica-id give u32[].
T087 ragged-dot: dims as dot; exactly one lhs ragged dim; group sizes shape and group dims consistent.
T088 scaled-dot: scale ranks equal operand ranks, each operand dim a multiple of the scale dim, one contracting dim, not both scales scalar.
T089 stochastic-convert: float operand, unsigned random operand of the same dims and bit width.
T090 dynamic-reshape: same element count and type, one s32[] size per result dimension.
T091 Source shape is not the shape of the windowed operand.
T092 reduce dimensions out of range or repeated.
T093 reduce result is not the operand without the reduced dimensions.
T094 reduce/reduce-window: odd operand count, inputs of different dims, or an init value that is not a scalar of the accumulator type.
T095 Window rank differs from operand rank, or result dims are not floor((padded - dilated size) / stride) + 1.
T096 map dimensions must be 0..rank-1 and all operands have the same dims.
T097 Operand not floating, exponent_bits < 1 or mantissa_bits < 0.
T098 result_accuracy on an op that does not take it.
T099 An array op gets a tuple or token operand.
T100 convert keeps dimensions.
T101 A b(...) buffer type in an entry parameter, or as operand/result of an op that is not Pin/Unpin/CreateBuffer, while, call, tuple, gte or
     dynamic-update-slice.
T102 A buffer value is written (aliased into an output) by more than one user.
T103 Pin/Unpin/CreateBuffer: operand count, array vs buffer, equal shapes, exactly one aliasing pair.
T104 scan: exactly one dimension in range and of equal size in inputs and outputs; operand, carry and result counts and shapes agree with to_apply.
T105 collective-broadcast / collective-permute results have the operand shapes.
T106 A scan that is not associative in a layout-sensitive module: XLA expands it to a loop before it assigns layouts.
L001 minor_to_major has another number of entries than the shape has dimensions.
L002 minor_to_major repeats a dimension.
L003 minor_to_major names a dimension out of range.
L004 A tile has no entry, or an entry that is not positive (nor *).
L005 The first tile has more dimensions than the array.
L006 E(n) is smaller than the type width, or set on a type that is not sub-byte.
L007 s4/u4/s2/u2/pred-like sub-byte type without E(n) in a module with layouts: 1 byte per element is assumed. State it so that sizes are
     comparable.
L008 An op that must keep layouts has operand and result of the same rank with different minor_to_major (elementwise, slice, concatenate ...). Only
     after layout assignment.
L009 bitcast between shapes of different byte size (layout-sensitive; padding included unless allowed).
L010 bitcast between host memory S(5) and device memory (constants excepted).
L011 bitcast whose operand and result are not the same bytes in the same order given both layouts; it scrambles data unless that is meant.
L012 reshape outside fusions is not a physical bitcast (target pipelines that require it after layout assignment).
L013 copy from host S(5) to device also changes minor_to_major or tiling.
L014 copy between host and device memory changes the element type.
L015 dynamic-slice moves data from device to host memory.
L016 dynamic-update-slice on a host buffer gives a device result.
L017 copy, dynamic-slice or dynamic-update-slice moves data between memory space S(1) and another one. Error only where layout_sensitive=True was
     asked for explicitly, never under auto: real TPU modules do it. (The same caution holds for L008, L015 and L016 on post-optimisation modules.)
L018 Any S(5) layout when the target has no host memory space.
L019 A layout-constrained custom-call has a result or operand_layout_constraints entry without layout.
L020 operand_layout_constraints: count differs from the operands, or a shape is not compatible with its operand.
L021 ROOT layout differs from the result layout in entry_computation_layout (tiles, padding and memory space ignored). Layout-sensitive only.
L022 A parameter layout differs from entry_computation_layout. Layout-sensitive only.
L023 Some all-reduce ops have constrain_layout=true and others not.
L024 get-tuple-element / tuple / opt-barrier / call / while result has another layout than its source. Layout-sensitive only.
L025 Layout of an operand differs from the parameter it is bound to (fusion, call, while, conditional). Layout-sensitive only.
L026 copy-start: the two buffers must have the operand minor_to_major; copy-done: source and destination equal but for memory space.
L027 SC(dim:indices): dimension out of range or repeated, indices not increasing, or beyond the dimension.
L028 L(n) tail padding alignment not positive.
L029 Some arrays of the module have layouts and some do not; layout-sensitive checks are unreliable.
L030 S(n) with n outside the known set for the chosen target (0 default, 1 fast, 5 host; others per backend).
L031 An op other than copy, copy-start/done, dynamic-slice, dynamic-update-slice, fusion, custom-call changes memory space between operand and
     result.
L032 A layout written on a tuple, token or opaque shape.
L033 #(type) or *(type) in a layout: only sparse arrays have indices and pointers, and XLA no longer has sparse arrays.
C001 call operand count differs from the parameter count of to_apply.
C002 A call operand shape differs from the parameter shape.
C003 call result shape differs from the ROOT of to_apply.
C004 while body or condition does not have exactly one parameter.
C005 while operand shape differs from the body or condition parameter.
C006 ROOT of the body differs from the loop state shape. For tuples name the first differing index.
C007 ROOT of the condition is not pred[].
C008 First operand of conditional is not scalar pred or s32.
C009 conditional has not 1 + number of branches operands; pred selector needs exactly two branches.
C010 A branch does not have one parameter, or its shape differs from the branch operand.
C011 A branch ROOT differs from the conditional shape.
C012 fusion operand count differs from the fused parameters.
C013 A fused parameter shape differs from its operand.
C014 fusion shape differs from the fused ROOT.
C015 A non-root instruction of a fused computation has no user and no side effect.
C016 The fused ROOT has users in its computation.
C017 One computation is the body of two fusion instructions.
C018 A fused computation is also called by something that is not a fusion.
C019 fusion without kind=, or with an unknown kind.
C020 reduce/reduce-window computation does not have 2N parameters.
C021 Reducer ROOT is not a scalar (or tuple of N scalars) of the accumulator types.
C022 Reducer parameter types differ from accumulator or input element types.
C023 scatter computation is not (T, T) -> T on scalars of the operand types (2N parameters).
C024 select-and-scatter: select is not (T, T) -> pred[]; scatter is not (T, T) -> T.
C025 sort comparator does not have 2N parameters, ordered lhs0 rhs0 lhs1 rhs1 ...
C026 sort comparator does not return pred[].
C027 sort comparator parameter type differs from its operand element type.
C028 sort comparator uses LE, GE or another relation that is not a strict weak order.
C029 map computation: one scalar parameter per operand of its element type, scalar result.
C030 all-reduce / reduce-scatter computation is not a binary scalar function of the operand type.
C031 The reducer of a collective is not one of add, multiply, minimum, maximum, and, or (xor) of its two parameters; most backends reject it or fall
     to a grammar path.
C032 Reducer of reduce/reduce-window/scan is not commutative and associative; the order is unspecified.
C033 The init value is not the identity of the reducer (it may be applied several times or dropped).
C034 call with is_composite=true: composite.name missing or empty, composite.version not a non-negative integer, composite.attributes empty.
C035 output_to_operand_aliasing on call.
C036 output_to_operand_aliasing of fusion/custom-call: operand number or shape index out of range.
C037 Aliased operand and output subshapes differ.
C038 A called computation has another execution_thread than the caller (async-start excepted).
C039 to_apply/calls on an op that calls nothing.
C040 scan to_apply parameters, carries or results do not match.
C041 custom-call GetRngSeed has operands or a result other than u64[].
C042 The ENTRY computation is called, or is a fused computation.
C043 A collective, infeed/outfeed, send/recv or custom-call with side effects inside a fused computation.
C044 custom-call without target, or with an empty one.
C045 A pred selector goes with true_computation/false_computation, an s32 selector with branch_computations; XLA rejects the other form.
A001 async-start never reaches an async-done (through updates, tuples, gte, while carries).
A002 One async-start is finished by two async-done.
A003 async-done/async-update operand does not trace back to async-start/async-update.
A004 async-start/update shape is not ((operands), result, contexts...).
A005 Operand count or shapes of async-start differ from its shape index 0 / the wrapped parameters.
A006 async-done shape, or shape index 1, differs from the wrapped ROOT.
A007 The wrapped computation on the main thread holds more than parameters and the root (unless marked as a collectives group).
A008 async_execution_thread differs from the execution_thread of the wrapped computation.
A009 An async-start/update feeds two updates or a done and an update.
A010 async-update is not on a chain that ends in async-done.
A011 A computation wrapped by async-start is also called by a non-async op.
A012 The value of async-start/update is used by an op other than update, done, tuple, gte, while, call, conditional, opt-barrier.
A013 all-reduce-start, all-gather-start, collective-permute-start, copy-start, send, recv must have exactly one consumer, the matching done.
A014 A start op has two consumers.
A015 A done op does not take the matching start op.
A016 Done shape differs from the start result element.
A017 all-gather-start is (operand, result); collective-permute-start is (operand, result, contexts...).
A018 copy-start is (dest, source, u32[]).
A019 copy-done gives element 0 of its copy-start.
A020 send is (data, u32[], token[]).
A021 recv is (data, u32[], token[]); recv-done is (data, token[]).
A022 send/recv and its done have different channel ids.
A023 send/recv and its done differ in is_host_transfer.
A024 send/recv has no or several users (and is not the root of an async computation).
A025 Two host-transfer send/recv on one channel are not identical apart from operand identity.
A026 In a scheduled module, two sends (or two recvs) follow each other, or a collective stands between a send and its recv: devices can deadlock.
A027 source-target pairs of a send/recv contain a cycle or repeat a source or target.
A028 is_scheduled=true and an instruction stands before an operand or control predecessor. In text the loader already demands definition before use;
     this matters for protos, for schedules given apart, and after edits.
A029 A schedule misses an instruction, lists one twice, or lacks a live non-fused computation (external schedule or proto).
A030 A start op is directly followed by its done in a scheduled module: no overlap.
A031 output_to_operand_aliasing of async-start/update: operand number, indices, output index empty, or shapes differ.
A032 async-update: shape must extend the previous bound operands/results, new operands must match the newly bound entries.
A033 metadata scheduling_name differs from the instruction name, with no .clone/.remat suffix (renamed after scheduling; profiles will not join).
A034 More than N (config) async collectives or copies are in flight at one point of the schedule.
A035 Peak live bytes of the schedule exceed memory_budget in the config; report point, top buffers and aliasing savings.
A036 control-predecessors repeats a data dependence or is transitively implied.
A037 send-done/recv-done operand is not send/recv (or a tuple element of one).
P001 replica_groups contains an empty group. ({} as a whole is fine: one group of all.)
P002 An id occurs twice in replica_groups.
P003 The ids are not exactly 0..n-1.
P004 The number of ids differs from replica_count (cross-replica), num_partitions (cross-partition) or their product (flattened); skipped where the
     header leaves the count at 1.
P005 Groups of different size (allowed only for all-reduce).
P006 use_global_device_ids=true with channel_id but empty replica_groups.
P007 use_global_device_ids=true without channel_id.
P008 Result size along the gather dimension is not operand size times group size.
P009 all-gather / reduce-scatter / all-to-all dimension out of range.
P010 Operand size is not result size times group size.
P011 Tuple all-to-all: operand count differs from group size; array form: split dimension not divisible by it.
P012 Operands of tuple all-to-all have different shapes.
P013 A source occurs twice in source_target_pairs.
P014 A target occurs twice.
P015 A source or target is negative or not below replica_count / num_partitions.
P016 In-place collective-permute: four operands (input, output, input offsets, output offsets) with matching tuple structure.
P017 ragged-all-to-all: six operands, offsets and sizes of one shape, rank 1 or 2, integral.
P018 channel_id is not positive.
P019 Product of tile dimensions differs from the number of listed (or iota) devices.
P020 Tile rank (without replicated subgroup dims) differs from the array rank.
P021 A device occurs twice in a tile assignment.
P022 A device id is negative or not below the device count of the module (num_partitions).
P023 Tuple sharding has another number of leaves than the shape.
P024 A single sharding on a tuple shape, or a tuple sharding on an array.
P025 replicated/manual/unknown with devices, or maximal without exactly one device, or tiled with a single device.
P026 V2 iota: reshape dims, transpose perm and tile dims do not agree.
P027 while, its body parameter, body ROOT and condition parameter carry different shardings.
P028 conditional and its branch ROOTs carry different shardings.
P029 A tile assignment does not use all num_partitions devices.
P030 V2 replica_groups=[a,b]<=[n]: a*b != n, or the transpose is not a permutation.
P031 parameter_replication has another number of entries than the parameter has leaves.
P032 Two different collectives share one channel_id (allowed by XLA, breaks some runtimes and trace joins).
P033 All groups have one member: the collective is a copy.
P034 All source-target pairs are self pairs, or an id receives nothing and gets zeros without any mask on the result.
P035 partition-id with num_partitions=1, or replica-id with replica_count=1: constant 0.
P036 sharding= or custom-call Sharding / SPMDFullToShardShape left in a module that already contains partition-level collectives.
P037 A dimension is not divisible by its tile count: the partitioner pads, each shard computes on waste.
P038 A collective stands in a conditional branch whose selector is not provably equal on all members: deadlock risk.
P039 Named sharding: unknown axis name, axis used twice, mesh size differs from device list.
P040 Reduction collective on a type the transport does not reduce (pred, complex, f8, s4).
M001 entry_computation_layout has another number of parameters than ENTRY.
M002 A parameter shape in entry_computation_layout differs from the instruction.
M003 The result shape in entry_computation_layout differs from the ENTRY ROOT.
M004 input_output_alias: output index is not valid in the result shape.
M005 input_output_alias: parameter number out of range.
M006 input_output_alias: shape index is not valid in the parameter.
M007 An output index is aliased twice.
M008 A parameter index is aliased to two outputs.
M009 Aliased parameter or output subshape is a tuple or token.
M010 Aliased parameter and output have different byte sizes (layout-sensitive).
M011 must-alias pair differs in shape, layout or memory space in entry_computation_layout.
M012 buffer_donor: parameter number out of range.
M013 buffer_donor: shape index invalid or not an array.
M014 A donated buffer is also in input_output_alias.
M015 Alias kind other than may-alias / must-alias.
M016 replica_count or num_partitions below 1.
M017 Unknown attribute in the HloModule line.
M018 allow_spmd_sharding_propagation_to_parameters/output: length is neither 1 nor the number of parameters/leaves.
M019 Empty or missing module name.
M020 An output has the shape of an unused-after parameter and neither aliasing nor donation is set (opt-in).
M021 The aliased parameter is still read after the aliased output is produced (scheduled module), so a copy is needed.
M022 Header of a scheduled or layout-assigned module lacks entry_computation_layout.
M023 frontend_attributes is not name="string" or name={json}.
M024 Header attributes out of canonical order (fmt owns this). Rejected by XLA: not at all. jaxlib 0.10.2: no text case.
M025 Dynamic parameter binding of the proto names a missing parameter, index or dimension. Rejected by XLA: only on protos / API objects. jaxlib
     0.10.2: no text case.
M026 The file name or neighbours say after_optimizations, yet the header lacks is_scheduled=true; liveness reports are then guesses.
R001 The module, or an instruction of it, is something that the interpreter cannot run.
R002 The arguments do not fit the parameters of the entry computation in number, shape or type.
R003 A constant whose value the text leaves out, as {...}, is needed for the run.
R004 An instruction cannot be computed on the values that it meets.
R005 The run would take more steps, memory or time than it was allowed.
R006 An instruction computes a NaN or an infinity from finite operands, and `hlotool run --check-nans` was asked to stop there.
R007 Devices wait for each other forever, or one runs a collective more often than another.
W001 Instruction without users, not ROOT, no side effect, not a parameter.
W002 Parameter without users (ENTRY: info only, the signature is fixed).
W003 Computation not reachable from ENTRY.
W004 Two computations are equal up to names and metadata.
W005 Two instructions of a computation have equal opcode, operands and attributes (no side effect).
W006 Constant larger than max_constant_bytes (default 1 MiB) or written out in full above max_literal_elements.
W007 reshape/bitcast/transpose/convert/copy/broadcast/slice/pad/reverse/concatenate that returns its operand unchanged.
W008 copy of a copy, or copy whose source is dead afterwards and layouts agree.
W009 convert of convert where the inner one loses no information the outer keeps (or the pair is a round trip that loses precision; say which).
W010 transpose of transpose; print the composed permutation.
W011 reshape of reshape, bitcast of bitcast.
W012 f64 or c128 in the module (opt-in allow list for science codes).
W013 s64/u64 arrays other than scalars and RNG state.
W014 ENTRY parameter or result layout is not row-major: the host pays a transpose.
W015 infeed, outfeed, host send/recv, host copy S(5) or host callback custom-call inside a while body (transitively).
W016 Instruction without op_name (opt-in threshold on coverage per module).
W017 A costly op in a while body depends only on loop-invariant state.
W018 while with constant trip count 0 or 1.
W019 add 0, multiply 1, and true, max with -inf, not not, negate negate, x-x (floats: only value-safe ones by default).
W020 get-tuple-element of a tuple built in the same computation.
W021 All operands are constants and the result is below the folding limit.
W022 A constant whose elements are all equal is written out; a broadcast of a scalar is smaller.
W023 A synchronous collective in a scheduled module (no start/done): blocks the core.
W024 Several small all-reduce/all-gather with equal groups and reducer and no dependence between them.
W025 all-reduce whose only user is a dynamic-slice by partition id: a reduce-scatter.
W026 all-gather whose users only take the own shard.
W027 With the given tiling the padded bytes exceed ratio (default 2x) of the data.
W028 custom-call target not in the known list of the chosen target/config.
W029 custom-call with the old API version or with side effect but no token/order.
W030 rng, scatter with unique_indices=false on floats, select-and-scatter ...: run-to-run differences possible.
W031 Sum in bf16/f16/f8 over more than N elements.
W032 nan or inf in a constant, except as init of max/min.
W033 Division or remainder by a constant zero.
W034 Constant start index of dynamic-slice/update/gather/scatter out of bounds: XLA clamps (or drops, for scatter).
W035 s32/u8.. index arithmetic or iota over a dimension larger than the type.
W036 dynamic-slice with all-constant indices: use slice.
W037 A while tuple element is passed through unchanged and never read (or never used after).
W038 reduce over no dimension, or over dimensions of size 1.
W039 An array with a zero dimension.
W040 Dot or convolution dims not multiples of the configured tile (8/16/128).
W041 In an after-optimizations module, an elementwise op outside fusions feeds another one.
W042 fusion with more than N operands (register or argument limits).
W043 copy that only changes layout right after a transpose (or two opposite copies).
W044 Instruction named .remat or .clone: report recomputed bytes and flops (info).
W045 concatenate with one operand.
W046 select, conditional or clamp with a constant selector.
W047 sort without is_stable=true and with several operands and a comparator on the first only.
W048 Old attribute or op spelling accepted for compatibility. Rejected by XLA: not at all. jaxlib 0.10.2: no text case.
W049 Some names have % and some not, or operand shapes are printed on some lines only.
W050 A suppression comment or config entry that hides nothing.
W051 Sharding custom-call chained to an equal sharding.
W052 reduce of a broadcast along the broadcast dimension: a multiply.
W053 gather with a constant or single index, or one-hot dot: a slice.
W054 pad immediately sliced back, or slice of pad.
W055 ENTRY has more than N (default 2000) parameters, or a flat tuple parameter: launch overhead.
"""


def _entries() -> dict[str, str]:
    found: dict[str, str] = {}
    code = ""
    for line in _TEXT.strip().splitlines():
        if line.startswith(" "):
            found[code] += " " + line.strip()
        else:
            code, _, found[code] = line.partition(" ")
    return found


SUMMARIES: dict[str, str] = _entries()
"""By code."""
