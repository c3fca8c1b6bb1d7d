"""Examples for the docstrings of generated methods. All of them run as doctests.

`dev.methods` inserts them.
"""

from __future__ import annotations

__all__ = ["ELEMENTWISE", "EXAMPLES"]

ELEMENTWISE: dict[str, tuple[str, str]] = {
    "abs": ("[-1.5, 2.0]", "array([1.5, 2. ], dtype=float32)"),
    "acos": ("[0.0, 1.0]", "array([1.5708, 0.    ], dtype=float32)"),
    "acosh": ("[1.0, 2.0]", "array([0.   , 1.317], dtype=float32)"),
    "asin": ("[0.0, 1.0]", "array([0.    , 1.5708], dtype=float32)"),
    "asinh": ("[0.0, 1.0]", "array([0.    , 0.8814], dtype=float32)"),
    "atanh": ("[0.0, 0.5]", "array([0.    , 0.5493], dtype=float32)"),
    "cbrt": ("[-8.0, 27.0]", "array([-2.,  3.], dtype=float32)"),
    "ceil": ("[-1.5, 1.5]", "array([-1.,  2.], dtype=float32)"),
    "cosh": ("[0.0, 1.0]", "array([1.    , 1.5431], dtype=float32)"),
    "cos": ("[0.0, 1.0]", "array([1.    , 0.5403], dtype=float32)"),
    "clz": ("[1, 255]", "array([31, 24], dtype=int32)"),
    "erf": ("[0.0, 0.5]", "array([0.    , 0.5205], dtype=float32)"),
    "exp": ("[0.0, 1.0]", "array([1.    , 2.7183], dtype=float32)"),
    "expm1": ("[0.0, 1.0]", "array([0.    , 1.7183], dtype=float32)"),
    "floor": ("[-1.5, 1.5]", "array([-2.,  1.], dtype=float32)"),
    "imag": ("[3.0 + 4.0j, 5.0]", "array([4., 0.], dtype=float32)"),
    "is_finite": ('[1.0, float("inf"), float("nan")]', "array([ True, False, False])"),
    "log": ("[1.0, 10.0, -1.0]", "array([0.    , 2.3026,    nan], dtype=float32)"),
    "log1p": ("[0.0, 1.0]", "array([0.    , 0.6931], dtype=float32)"),
    "logistic": ("[0.0, 2.0]", "array([0.5   , 0.8808], dtype=float32)"),
    "neg": ("[1, -2]", "array([-1,  2], dtype=int32)"),
    "not_": ("[5, -1]", "array([-6,  0], dtype=int32)"),
    "population_count": ("[7, 255]", "array([3, 8], dtype=int32)"),
    "real": ("[3.0 + 4.0j, 5.0]", "array([3., 5.], dtype=float32)"),
    "round_nearest_afz": ("[0.5, 1.5, 2.5]", "array([1., 2., 3.], dtype=float32)"),
    "round_nearest_even": ("[0.5, 1.5, 2.5]", "array([0., 2., 2.], dtype=float32)"),
    "rsqrt": ("[4.0, 0.0]", "array([0.5, inf], dtype=float32)"),
    "sign": ("[-2.0, -0.0, 3.0]", "array([-1., -0.,  1.], dtype=float32)"),
    "sin": ("[0.0, 1.0]", "array([0.    , 0.8415], dtype=float32)"),
    "sinh": ("[0.0, 1.0]", "array([0.    , 1.1752], dtype=float32)"),
    "sqrt": ("[4.0, -1.0]", "array([ 2., nan], dtype=float32)"),
    "tan": ("[0.0, 1.0]", "array([0.    , 1.5574], dtype=float32)"),
    "tanh": ("[0.0, 1.0]", "array([0.    , 0.7616], dtype=float32)"),
    "add": ("[[1, 2], [3, 4]], [10, 20], [0]", "array([[11, 12],\n       [23, 24]], dtype=int32)"),
    "and_": ("[12, 5], [10, 3]", "array([8, 1], dtype=int32)"),
    "atan2": ("[1.0, 1.0], [0.0, -1.0]", "array([1.5708, 2.3562], dtype=float32)"),
    "complex": ("[1.0, 2.0], 3.0", "array([1.+3.j, 2.+3.j], dtype=complex64)"),
    "div": ("[7, -7, 7], [2, 2, 0]", "array([ 3, -3, -1], dtype=int32)"),
    "max": ('[1.0, 5.0], [3.0, float("nan")]', "array([ 3., nan], dtype=float32)"),
    "min": ("[1.0, 5.0], [3.0, 2.0]", "array([1., 2.], dtype=float32)"),
    "mulhi": ("[2**30], 8", "array([2], dtype=int32)"),
    "mul": ("[2, 3], 10", "array([20, 30], dtype=int32)"),
    "or_": ("[12, 5], [10, 3]", "array([14,  7], dtype=int32)"),
    "pow": ("[2.0, 9.0], [10.0, 0.5]", "array([1024.,    3.], dtype=float32)"),
    "rem": ("[7, -7, 7], [3, 3, 0]", "array([ 1, -1,  7], dtype=int32)"),
    "shift_left": ("[1, 1], [4, 32]", "array([16,  0], dtype=int32)"),
    "shift_right_arithmetic": ("[-8, -8], [1, 32]", "array([-4, -1], dtype=int32)"),
    "shift_right_logical": ("[-8, -8], [28, 32]", "array([15,  0], dtype=int32)"),
    "sub": ("[[1, 2], [3, 4]], [1, 2], [1]", "array([[0, 0],\n       [2, 2]], dtype=int32)"),
    "xor": ("[12, 5], [10, 3]", "array([6, 6], dtype=int32)"),
    "eq": ("[1, 2, 3], 2", "array([False,  True, False])"),
    "ne": ("[1, 2, 3], 2", "array([ True, False,  True])"),
    "ge": ("[1, 2, 3], 2", "array([False,  True,  True])"),
    "gt": ("[1, 2, 3], 2", "array([False, False,  True])"),
    "le": ("[1, 2, 3], 2", "array([ True,  True, False])"),
    "lt": ("[1, 2, 3], 2", "array([ True, False, False])"),
    "eq_total_order": ('[-0.0, float("nan")], [0.0, float("nan")]', "array([False,  True])"),
    "ne_total_order": ('[-0.0, float("nan")], [0.0, float("nan")]', "array([ True, False])"),
    "ge_total_order": ('[-0.0, float("nan")], [0.0, float("nan")]', "array([False,  True])"),
    "gt_total_order": ('[-0.0, float("nan")], [0.0, 1.0]', "array([False,  True])"),
    "le_total_order": ('[-0.0, float("nan")], [0.0, 1.0]', "array([ True, False])"),
    "lt_total_order": ('[-0.0, float("nan")], [0.0, float("nan")]', "array([ True, False])"),
}
"""The arguments and results of elementwise methods.

The results of inexact functions are rounded to four decimal places.
"""

EXAMPLES: dict[str, str] = {
    "batch_norm_grad": """
>>> b = hlotool.Builder("demo")
>>> x, means = [[1.0, 10.0], [3.0, 30.0]], [2.0, 20.0]
>>> gradients = b.batch_norm_grad(x, [1.0, 2.0], means, [1.0, 100.0], [[1.0, 0.0], [0.0, 1.0]], 0.0, 1)
>>> hlotool.evaluate(b.build(gradients), [])[1:]
(array([-1.,  1.], dtype=float32), array([1., 1.], dtype=float32))
""",
    "batch_norm_inference": """
>>> b = hlotool.Builder("demo")
>>> x = [[1.0, 10.0], [3.0, 30.0]]
>>> hlotool.evaluate(b.build(b.batch_norm_inference(x, [1.0, 2.0], [0.0, 5.0], [2.0, 20.0], [1.0, 100.0], 0.0, 1)), [])
array([[-1.,  3.],
       [ 1.,  7.]], dtype=float32)
""",
    "batch_norm_training": """
>>> b = hlotool.Builder("demo")
>>> result = b.batch_norm_training([[1.0, 10.0], [3.0, 30.0]], [1.0, 2.0], [0.0, 5.0], 0.0, 1)
>>> [value.tolist() for value in hlotool.evaluate(b.build(result), [])]
[[[-1.0, 3.0], [1.0, 7.0]], [2.0, 20.0], [1.0, 100.0]]
""",
    "cholesky": """
>>> b = hlotool.Builder("demo")
>>> hlotool.evaluate(b.build(b.cholesky([[4.0, 2.0], [2.0, 5.0]], True)), [])
array([[2., 0.],
       [1., 2.]], dtype=float32)
""",
    "fft": """
>>> b = hlotool.Builder("demo")
>>> hlotool.evaluate(b.build(b.fft([1.0, 2.0, 3.0, 4.0], "RFFT", [4])), [])
array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
""",
    "get_tuple_element": """
>>> b = hlotool.Builder("demo")
>>> pair = b.tuple([b.constant(1.0), b.constant([2, 3])])
>>> hlotool.evaluate(b.build(b.get_tuple_element(pair, 1)), [])
array([2, 3], dtype=int32)
""",
    "optimization_barrier": """
>>> b = hlotool.Builder("demo")
>>> hlotool.evaluate(b.build(b.optimization_barrier([1.0, 2.0])), [])
array([1., 2.], dtype=float32)
""",
    "reduce_precision": """
>>> b = hlotool.Builder("demo")
>>> hlotool.evaluate(b.build(b.reduce_precision([1.1, 70000.0], 5, 10)), [])
array([1.0996094,       inf], dtype=float32)
""",
    "partition_id": """
>>> b = hlotool.Builder("demo", num_partitions=2)
>>> hlotool.evaluate_replicas(b.build(b.partition_id()), [[], []], num_partitions=2)
[array(0, dtype=uint32), array(1, dtype=uint32)]
""",
    "replica_id": """
>>> b = hlotool.Builder("demo", replica_count=2)
>>> hlotool.evaluate_replicas(b.build(b.replica_id()), [[], []])
[array(0, dtype=uint32), array(1, dtype=uint32)]
""",
    "top_k": """
>>> b = hlotool.Builder("demo")
>>> hlotool.evaluate(b.build(b.top_k([3.0, 1.0, 4.0, 1.0, 5.0], 2, True)), [])
(array([5., 4.], dtype=float32), array([4, 2], dtype=int32))
""",
    "triangular_solve": """
>>> b = hlotool.Builder("demo")
>>> a, y = [[2.0, 0.0], [1.0, 4.0]], [[2.0], [9.0]]
>>> hlotool.evaluate(b.build(b.triangular_solve(a, y, True, True, False, "NO_TRANSPOSE")), [])
array([[1.],
       [2.]], dtype=float32)
""",
    "add_dependency": """
>>> b = hlotool.Builder("demo")
>>> hlotool.evaluate(b.build(b.add_dependency([1.0, 2.0], b.after_all())), [])
array([1., 2.], dtype=float32)
""",
    "all_gather_start": """
>>> b = hlotool.Builder("demo", replica_count=2)
>>> start = b.all_gather_start([b.parameter(0, "s32[1]")], [0], "(s32[1], s32[2])")
>>> hlotool.evaluate_replicas(b.build(b.all_gather_done(start)), [[[1]], [[2]]])
[array([1, 2], dtype=int32), array([1, 2], dtype=int32)]
""",
    "all_gather_done": """
>>> b = hlotool.Builder("demo", replica_count=2)
>>> start = b.all_gather_start([b.parameter(0, "s32[1]")], [0], "(s32[1], s32[2])")
>>> start, b.all_gather_done(start)
(<op all-gather-start = (s32[1], s32[2]) all-gather-start>, <op all-gather-done = s32[2] all-gather-done>)
""",
    "all_reduce_start": """
>>> b = hlotool.Builder("demo", replica_count=2)
>>> start = b.all_reduce_start([b.parameter(0, "s32[2]")], b.trace(lambda x, y: x + y, "s32[]", "s32[]"))
>>> hlotool.evaluate_replicas(b.build(b.all_reduce_done(start)), [[[1, 2]], [[30, 40]]])
[array([31, 42], dtype=int32), array([31, 42], dtype=int32)]
""",
    "all_reduce_done": """
>>> b = hlotool.Builder("demo", replica_count=2)
>>> start = b.all_reduce_start([b.parameter(0, "s32[2]")], b.trace(lambda x, y: x + y, "s32[]", "s32[]"))
>>> start, b.all_reduce_done(start)
(<op all-reduce-start = s32[2] all-reduce-start>, <op all-reduce-done = s32[2] all-reduce-done>)
""",
    "bitcast": """
>>> b = hlotool.Builder("demo")
>>> hlotool.evaluate(b.build(b.bitcast([[1, 2, 3], [4, 5, 6]], "s32[3,2]{0,1}")), [])
array([[1, 4],
       [2, 5],
       [3, 6]], dtype=int32)
""",
    "collective_permute_start": """
>>> b = hlotool.Builder("demo", replica_count=2)
>>> start = b.collective_permute_start([b.parameter(0, "s32[2]")], [(0, 1), (1, 0)], "(s32[2], s32[2])")
>>> hlotool.evaluate_replicas(b.build(b.collective_permute_done(start)), [[[1, 2]], [[3, 4]]])
[array([3, 4], dtype=int32), array([1, 2], dtype=int32)]
""",
    "collective_permute_done": """
>>> b = hlotool.Builder("demo", replica_count=2)
>>> start = b.collective_permute_start([b.parameter(0, "s32[2]")], [(0, 1), (1, 0)], "(s32[2], s32[2])")
>>> start, b.collective_permute_done(start)
(<op collective-permute-start = (s32[2], s32[2]) collective-permute-start>, <op collective-permute-done = s32[2] collective-permute-done>)
""",
    "copy": """
>>> b = hlotool.Builder("demo")
>>> columns = b.copy([[1, 2], [3, 4]], "s32[2,2]{0,1}")
>>> columns.shape.text
's32[2,2]{0,1}'
>>> hlotool.evaluate(b.build(columns), [])
array([[1, 2],
       [3, 4]], dtype=int32)
""",
    "copy_start": """
>>> b = hlotool.Builder("demo")
>>> start = b.copy_start([1.0, 2.0], "(f32[2]{0:S(1)}, f32[2], u32[])")
>>> hlotool.evaluate(b.build(b.copy_done(start)), [])
array([1., 2.], dtype=float32)
""",
    "copy_done": """
>>> b = hlotool.Builder("demo")
>>> start = b.copy_start([1.0, 2.0], "(f32[2]{0:S(1)}, f32[2], u32[])")
>>> b.copy_done(start).shape.text
'f32[2]{0:S(1)}'
""",
    "domain": """
>>> from hlotool.shapes.values import DomainMetadata
>>> b = hlotool.Builder("demo")
>>> hlotool.evaluate(b.build(b.domain([1.0, 2.0], DomainMetadata("sharding", "{replicated}", "{maximal device=1}"))), [])
array([1., 2.], dtype=float32)
""",
    "fusion": """
>>> b = hlotool.Builder("demo")
>>> calls = b.trace(lambda x, y: (x + y) * y, "f32[2]", "f32[2]")
>>> hlotool.evaluate(b.build(b.fusion([b.constant([1.0, 2.0]), b.constant([3.0, 4.0])], "kLoop", calls)), [])
array([12., 24.], dtype=float32)
""",
}
"""Statements and their output, for all other methods."""
