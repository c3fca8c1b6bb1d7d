"""Costs of instructions.

The expected numbers agree with XLA's HloCostAnalysis unless a comment explains the difference.
"""

from __future__ import annotations

import pytest

import hlotool
from hlotool.analysis.cost import Cost, module_cost
from hlotool.analysis.loops import known_trip_count

COMPUTATIONS = """
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
above { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE }
pair {
  a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3)
  x = f32[] add(a, c) y = f32[] exponential(b) ROOT t = (f32[], f32[]) tuple(x, y)
}
wave { x = f32[8,16] parameter(0) y = f32[8,16] tanh(x) ROOT z = f32[8,16] add(y, x) }
double { x = f32[8,16] parameter(0) ROOT y = f32[8,16] add(x, x) }
below { i = s32[] parameter(0) n = s32[] constant(10) ROOT t = pred[] compare(i, n), direction=LT }
always { i = s32[] parameter(0) ROOT t = pred[] constant(true) }
next { i = s32[] parameter(0) o = s32[] constant(1) ROOT t = s32[] add(i, o) }
"""
OPERANDS = """
  p = f32[8,16] parameter(0)
  q = f32[16,4] parameter(1)
  i = s32[3,1] parameter(2)
  u = f32[3,16] parameter(3)
  w = f32[7,14] parameter(4)
  c = c64[8,16] parameter(5)
  f = pred[] parameter(6)
  k = u64[3] parameter(7)
  m = f32[2,5,5] parameter(8)
  n = f32[2,5,3] parameter(9)
  x = f32[2,10,10,4] parameter(10)
  h = f32[3,3,4,8] parameter(11)
  g = f32[3,3,1,8] parameter(12)
  l = f32[4,10,10,4] parameter(13)
  small = f32[2,5,5,4] parameter(14)
  z = f32[] constant(0)
  s = s32[] constant(0)
"""
SCATTERED = "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
CONVOLUTION = "dim_labels=b01f_01io->b01f"
COSTS = {
    # Elementwise: one operation per element; transcendental functions are counted separately.
    "f32[8,16] negate(p)": (128, 0),
    "f32[8,16] tanh(p)": (0, 128),
    "f32[8,16] sqrt(p)": (0, 128),
    "f32[8,16] power(p, p)": (0, 128),
    "f32[8,16] atan2(p, p)": (0, 128),
    "f32[8,16] divide(p, p)": (128, 0),
    "f32[8,16] clamp(p, p, p)": (128, 0),
    "s32[8,16] convert(p)": (128, 0),
    # No operations.
    "f32[8,16] copy(p)": (0, 0),
    "f32[16,8] transpose(p), dimensions={1,0}": (0, 0),
    "f32[10,16] pad(p, z), padding=1_1x0_0": (0, 0),
    "f32[2,16] dynamic-slice(p, s, s), dynamic_slice_sizes={2,16}": (0, 0),
    "f32[3,16] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}": (0, 0),
    # Contractions.
    "f32[8,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}": (1024, 0),
    "f32[8,16,16,4] dot(p, q)": (2 * 8 * 16 * 16 * 4, 0),
    f"f32[2,8,8,8] convolution(x, h), window={{size=3x3}}, {CONVOLUTION}": (73728, 0),
    f"f32[2,10,10,8] convolution(x, h), window={{size=3x3 pad=1_1x1_1}}, {CONVOLUTION}": (100352, 0),
    f"f32[2,5,5,8] convolution(x, h), window={{size=3x3 pad=0_1x1_1 stride=2x2}}, {CONVOLUTION}": (25088, 0),
    f"f32[2,11,11,8] convolution(small, h), window={{size=3x3 pad=2_2x2_2 lhs_dilate=2x2}}, {CONVOLUTION}": (28800, 0),
    f"f32[2,7,5,8] convolution(small, h), window={{size=3x3 pad=2_2x1_1 stride=2x3 lhs_dilate=3x4}}, {CONVOLUTION}": (3584, 0),
    f"f32[2,8,8,8] convolution(x, h), window={{size=3x3 pad=1_1x1_1 rhs_dilate=2x2}}, {CONVOLUTION}": (61952, 0),
    f"f32[2,6,6,8] convolution(x, h), window={{size=3x3 pad=-1_-1x-1_-1}}, {CONVOLUTION}": (41472, 0),
    f"f32[2,8,8,8] convolution(x, g), window={{size=3x3}}, {CONVOLUTION}, feature_group_count=4": (18432, 0),
    f"f32[1,8,8,8] convolution(l, h), window={{size=3x3}}, {CONVOLUTION}, batch_group_count=4": (36864, 0),
    "f32[8,4] convolution(p, q), dim_labels=bf_io->bf": (1024, 0),
    # Reducers and similar computations run for every element except the first.
    "f32[8] reduce(p, z), dimensions={1}, to_apply=add": (120, 0),
    "(f32[8], f32[8]) reduce(p, p, z, z), dimensions={1}, to_apply=pair": (120, 120),
    "f32[7,14] reduce-window(p, z), window={size=2x3}, to_apply=add": (490, 0),
    "f32[8,16] select-and-scatter(p, w, z), window={size=2x3}, select=above, scatter=add": (588, 0),
    "f32[8,16] map(p, p), dimensions={0,1}, to_apply=add": (128, 0),
    f"f32[8,16] scatter(p, i, u), {SCATTERED}, to_apply=add": (48, 0),
    "f32[8,16] sort(p), dimensions={1}, to_apply=above": (896, 0),
    # Other operations.
    "c64[8,16] fft(c), fft_type=FFT, fft_length={8,16}": (12288, 0),
    "f32[2,5,5] cholesky(m), lower=true": (83, 0),
    "f32[2,5,3] triangular-solve(m, n), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE": (300, 0),
    "f32[8,16] rng(z, z), distribution=rng_uniform": (0, 128),
    "(u64[3], u32[8,16]) rng-bit-generator(k), algorithm=rng_philox": (0, 131),
    "(f32[8,16], f32[7,14]) all-reduce(p, w), to_apply=add": (226, 0),
    "f32[16,16] all-gather(p), replica_groups={{0,1}}, dimensions={0}": (0, 0),
    # Called computations.
    "f32[8,16] call(p), to_apply=wave": (128, 128),
    "f32[8,16] fusion(p), kind=kLoop, calls=wave": (128, 128),
    "f32[8,16] conditional(f, p, p), true_computation=wave, false_computation=double": (128, 128),
    # All iterations are counted if the trip count is known; otherwise, one iteration is counted.
    # XLA always counts one iteration.
    "s32[] while(s), condition=below, body=next": (20, 0),
    'f32[] while(z), condition=always, body=next, backend_config={"known_trip_count":{"n":"7"}}': (7, 0),
    "s32[] while(s), condition=always, body=next": (1, 0),
    # XLA counts -1 for unknown costs.
    'f32[8,16] custom-call(p), custom_call_target="f"': (0, 0),
    # XLA counts 70 because it leaves out the rows of the result.
    "f32[8,4] ragged-dot(p, r, sizes), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}": (1024, 0),
}


@pytest.mark.parametrize("instruction", COSTS)
def test_costs(instruction):
    more = "  r = f32[3,16,4] parameter(15)\n  sizes = s32[3] parameter(16)\n" if "ragged" in instruction else ""
    module = hlotool.parse(f"HloModule m\n{COMPUTATIONS}\nENTRY e {{{OPERANDS}{more}\n  ROOT result = {instruction}\n}}\n")
    assert module_cost(module)[:2] == COSTS[instruction]


def test_operations_in_other_threads():
    """Checks that a start counts its computation and the matching done does not count it again."""
    text = "  s = ((f32[8,16]), f32[8,16], s32[]) async-start(p), calls=double\n  ROOT d = f32[8,16] async-done(s)\n"
    module = hlotool.parse(f"HloModule m\n{COMPUTATIONS}\nENTRY e {{\n  p = f32[8,16] parameter(0)\n{text}}}\n")
    assert module_cost(module) == Cost(128, 0, 1536)


@pytest.mark.parametrize(
    ("config", "count"), [('{"n":"3"}', 3), ('{"n":"-3"}', None), ('{"n":"x"}', 10), ("3", 10), ('{"m":"3"}', 10), ('{"n":1e999}', 10)]
)
def test_known_trip_counts(config, count):
    """Checks that the trip count is computed from constants if the configuration has none."""
    loop = f'while(s), condition=below, body=next, backend_config={{"known_trip_count":{config}}}'
    module = hlotool.parse(f"HloModule m\n{COMPUTATIONS}\nENTRY e {{\n  s = s32[] constant(0)\n  ROOT w = s32[] {loop}\n}}\n")
    assert known_trip_count(module.entry.root) == count


def test_calls_add_up():
    text = f"{COMPUTATIONS}\nENTRY e {{ p = f32[8,16] parameter(0) q = f32[8,16] call(p), to_apply=wave ROOT r = f32[8,16] call(q), to_apply=wave }}"
    assert module_cost(hlotool.parse(text)) == Cost(256, 256, 2 * 2560)


def test_deep_calls():
    depth = 5_000
    functions = "".join(
        f"call_{k} {{ x = f32[] parameter(0) y = f32[] {f'call(x), to_apply=call_{k - 1}' if k else 'negate(x)'} ROOT z = f32[] add(y, x) }}\n"
        for k in range(depth)
    )
    text = f"{functions}ENTRY e {{ p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=call_{depth - 1} }}"
    assert module_cost(hlotool.parse(text)).flops == depth + 1


def test_large_windows_are_counted_quickly():
    text = "ENTRY e {{ p = f32[1,{0},1] parameter(0) q = f32[{0},1,1] parameter(1) ROOT r = f32[1,1,1] convolution(p, q), window={{size={0}}}, {1} }}"
    assert module_cost(hlotool.parse(text.format(10**12, "dim_labels=b0f_0io->b0f"))).flops == 2 * 10**12
    dilated = "ENTRY e { p = f32[1,3,1] parameter(0) q = f32[2,1,1] parameter(1) ROOT r = f32[1,2000000000,1] convolution(p, q), "
    dilated += "window={size=2 lhs_dilate=1000000000}, dim_labels=b0f_0io->b0f }"
    assert module_cost(hlotool.parse(dilated)).flops == 2 * 4


def test_instructions_that_the_verifier_rejects_cost_no_operations():
    text = "ENTRY e { p = f32[2,3] parameter(0) ROOT r = f32[2,3] dot(p, p), lhs_contracting_dims={7}, rhs_contracting_dims={0} }"
    assert module_cost(hlotool.parse(text)) == Cost(0, 0, 72)


BYTES = {
    "f32[8,16] add(p, p)": 3 * 512,
    "f32[16,8] transpose(p), dimensions={1,0}": 1024,
    "f32[128] bitcast(p)": 0,
    "f32[8,16] constant({...})": 0,
    "f32[8,16] iota(), iota_dimension=0": 512,
    "f32[5,8,16] broadcast(p), dimensions={1,2}": 512 + 2560,
    "f32[16,16] concatenate(p, p), dimensions={0}": 2048,
    # Only the slices are read, and only the updates are written.
    "f32[3,16] slice(p), slice={[0:3], [0:16]}": 2 * 192,
    "f32[3,16] dynamic-slice(p, s, s), dynamic_slice_sizes={3,16}": 2 * 192 + 8,
    "f32[8,16] dynamic-update-slice(p, u, s, s)": 2 * 192 + 8,
    "f32[3,16] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}": 2 * 192 + 12,
    f"f32[8,16] scatter(p, i, u), {SCATTERED}, to_apply=add": 3 * 192 + 12,
    "f32[8] reduce(p, z), dimensions={1}, to_apply=add": 512 + 4 + 32,
    "f32[7,14] reduce-window(p, z), window={size=2x3}, to_apply=add": 512 + 4 + 392,
    "f32[8,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}": 512 + 256 + 128,
    "f32[16,16] all-gather(p), replica_groups={{0,1}}, dimensions={0}": 512 + 1024,
    # Intermediate values of a fusion are not in memory.
    "f32[8,16] fusion(p), kind=kLoop, calls=wave": 1024,
    "f32[1,16] fusion(p, s), kind=kLoop, calls=row": 64 + 4 + 64,
    "f32[8,16] fusion(p, s, v), kind=kLoop, calls=with_row": 64 + 4 + 64,
    "f32[8,16] call(p), to_apply=wave": 5 * 512,
    "f32[8,16] conditional(f, p, p), true_computation=wave, false_computation=double": 5 * 512,
    # Ten iterations; XLA counts one.
    "s32[] while(s), condition=below, body=next": 10 * (4 + 4 + 1 + 4 + 4 + 4),
    # XLA counts -1 for unknown costs.
    'f32[8,16] custom-call(p), custom_call_target="f"': 0,
}
FUSED = """
row {
  x = f32[8,16] parameter(0) i = s32[] parameter(1)
  y = f32[1,16] dynamic-slice(x, i, i), dynamic_slice_sizes={1,16} ROOT z = f32[1,16] add(y, y)
}
with_row {
  x = f32[8,16] parameter(0) i = s32[] parameter(1) v = f32[1,16] parameter(2)
  n = f32[1,16] negate(v) ROOT z = f32[8,16] dynamic-update-slice(x, n, i, i)
}
"""


@pytest.mark.parametrize("instruction", BYTES)
def test_bytes_accessed(instruction):
    text = (
        f"HloModule m\n{COMPUTATIONS}{FUSED}\nENTRY e {{{OPERANDS}\n  v = f32[1,16] slice(u), slice={{[0:1], [0:16]}}\n  ROOT r = {instruction}\n}}\n"
    )
    others = 2 * 64
    assert module_cost(hlotool.parse(text)).bytes_accessed == BYTES[instruction] + others
