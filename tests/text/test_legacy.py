"""Old spellings: linear search, hints, and sparse dots, which keep their meaning.

Spellings without an equivalent have a hint.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scaling import slowdown

import hlotool
from hlotool.text.legacy.rewrite import old_spellings

# The maximum factor by which the time may grow if a text becomes eight times as long.
MAX_RATIO = 32
FAMILIES: dict[str, Callable[[int], str]] = {
    "attributes inside attributes": lambda n: "x = a(), b={ " * n + "}" * n,
    "attributes closed by other brackets": lambda n: "x = a(), b={ " * n + ")" * n,
    "open attributes": lambda n: "x = a(), b={ " * n,
    "open operands": lambda n: "x = a(" * n,
    "open shapes": lambda n: "x = (" * n,
    "sorts inside sorts": lambda n: "x = f32[2] sort(a), b={ " * n + "}" * n,
    "closing brackets": lambda n: "x = a()" + "}" * n,
    "empty layouts after a word": lambda n: "x = " + "a" * 200 * n + "[" + "]{}," * 70,
    "empty layouts": lambda n: "x = f32[" + "]{}," * n,
    "literals with shapes": lambda n: f"x = f32[{n}] constant(f32[{n}] {{{'1, ' * n}}})",
    "bits of pred": lambda n: f"x = (pred[{n}], s32[]) constant(( pred[{n}] {{{'10 ' * n}}}, s32[] 1 ))",
    "open literals": lambda n: "x = pred[2] constant(" * n,
    "shapes of pred": lambda n: f"x = () constant(({'pred[2] ' * n}))",
    "sparse literals": lambda n: f"x = f32[{n}]sparse{{1}} constant({{{', '.join(f'{k}: 1' for k in range(n))}}})",
    "strings": lambda n: 'x = a(), b="{" ' * n,
    "open strings": lambda n: '"\n' * n,
    "open comments": lambda n: "/* \n" * n,
    "names that are keywords": lambda n: "unknown = f32[] negate(unknown) " * n,
    "keywords and many words": lambda n: "token = token[] after-all() x = f32[] add(" + "a b, " * n + ")",
    "sparse dots": lambda n: "a = f32[2,2] parameter(0) x = f32[2,4] dot(a, a, a), sparsity=L.1@2:4 " * n,
    "descriptors": lambda n: "x = f32[2,4] dot(a, a, a), sparsity=" + "L.1@2:4_" * n,
    "layouts of sparse arrays": lambda n: "x = f32[2]{0:" + "D(D)P((s32[1]))" * n + "} a()",
    "functions of topk": lambda n: "c {\n" * n + "x = f32[2] topk(a), to_apply=c " * n,
    "operands without a definition": lambda n: "x = broadcast-dim-one(y) " * n,
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_search_is_linear(name: str) -> None:
    make = FAMILIES[name]
    assert slowdown(old_spellings, make(500), make(4_000), MAX_RATIO, negligible=0.2) <= MAX_RATIO


@pytest.mark.parametrize(
    ("instruction", "hint"),
    [
        ("dot(p, f32[<=4,2] q, u16[<=2,1] m), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sparsity=L.1@2:4", "until 2025"),
        ("dot(p, p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sparsity=L.1@2:5", "until 2025"),
        ("dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={1}, operand_precision={PACKED_NIBBLE,packed_nibble}", "until 2025"),
        ('custom-call-start(p), custom_call_target="t"', "until 2022"),
        ("index(p, p)", "until 2017"),
        ("update(p, p, p)", "until 2017"),
        ("broadcast-dim-one(q)", "until 2018"),
        ("scan(p, p, p), dimensions={0}, to_apply=f", "until 2026"),
        ("topk(p), k=1, to_apply=f", "until 2023"),
        ("pipelined-ring(p)", "use a custom-call for an operation of another compiler"),
        ("negate(p), stage=4", "'negate' takes: "),
    ],
)
def test_the_first_error_has_a_hint(instruction: str, hint: str) -> None:
    shape = "(f32[2], u32[])" if "start" in instruction else "f32[2,4]"
    text = f"ENTRY e {{\n  p = f32[2,4] parameter(0)\n  ROOT r = {shape} {instruction}\n}}\n"
    for legacy in (False, True):
        with pytest.raises(hlotool.ParseError) as raised:
            hlotool.parse(text, legacy=legacy)
        assert hint in (raised.value.diagnostics[0].hint or "")


@st.composite
def packed_operands(draw: st.DrawFn) -> tuple[int, int, np.ndarray, np.ndarray]:
    """Draws the number of kept elements per group, the group size, positions and values."""
    kept, group = draw(st.sampled_from([(1, 2), (1, 4), (2, 4), (1, 16), (4, 16)]))
    rows, groups = draw(st.integers(1, 3)), draw(st.integers(1, 9))
    positions = draw(st.permutations(range(group)).map(lambda order: sorted(order[:kept])))
    indices = np.array([[[(position + k) % group for position in positions] for k in range(groups)] for _ in range(rows)])
    values = np.arange(1, rows * groups * kept + 1, dtype=np.float32).reshape(rows, groups, kept)
    return kept, group, np.sort(indices, axis=2), values


@given(packed_operands(), st.sampled_from(["L", "R"]))
def test_a_sparse_dot_is_the_dot_of_the_dense_operand(packed: tuple[int, int, np.ndarray, np.ndarray], side: str) -> None:
    kept, group, indices, values = packed
    rows, groups = values.shape[:2]
    dense = np.zeros((rows, groups, group), np.float32)
    np.put_along_axis(dense, indices, values, 2)
    dense = dense.reshape(rows, -1)
    other = np.arange(dense.shape[1] * 2, dtype=np.float32).reshape(2, -1)
    bits = (group - 1).bit_length()
    flat = indices.reshape(rows, -1)
    positions = np.zeros((rows, -(-flat.shape[1] * bits // 16)), np.uint16)
    for k in range(flat.shape[1]):
        positions[:, k * bits // 16] |= (flat[:, k] << (k * bits % 16)).astype(np.uint16)
    sparse = f"f32[{rows},{groups * kept}] parameter", f"f32[2,{dense.shape[1]}] parameter"
    lhs, rhs = sparse if side == "L" else sparse[::-1]
    result = f"{rows},2" if side == "L" else f"2,{rows}"
    text = f"""ENTRY e {{
      a = {lhs}(0)
      b = {rhs}(1)
      m = u16[{rows},{positions.shape[1]}] parameter(2)
      ROOT d = f32[{result}] dot(a, b, m), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}, sparsity={side}.1@{kept}:{group}
    }}"""
    operands = [values.reshape(rows, -1), other]
    wanted = dense @ other.T
    found = hlotool.evaluate(hlotool.parse(text, legacy=True), [*(operands if side == "L" else operands[::-1]), positions])
    np.testing.assert_array_equal(found, wanted if side == "L" else wanted.T)
