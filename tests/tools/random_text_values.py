"""Random values in text form: shapes, literals, and attribute values of each kind.

Each function takes the random generator and returns a value that hlotool and XLA accept;
`random_texts` decides which values an opcode gets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random

from hlotool.opdefs.codecs.enums import ENUMS
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import Layout
from hlotool.shapes.shape import Shape, array_shape, tuple_shape

__all__ = ["ARRAY_TYPES", "VALUES", "array", "element_type", "literal", "metadata", "shape", "sharding"]

ARRAY_TYPES = sorted(name for name in ELEMENT_TYPES if Shape(name).is_array)
_COMMON_TYPES = ("f32", "f32", "s32", "bf16", "pred", "u32", "f64", "s8", "c64")
_STRINGS = ("x", "a/b", "jit(f)/mul", "tab\\there", 'q\\"q', "\\303\\251", "it\\'s", "a b", "{", "}", "// no comment", "/*", "\\\\")
_DIMENSIONS = (0, 1, 1, 2, 2, 3, 4, 7, 8, 128)


def element_type(r: Random) -> str:
    return r.choice(_COMMON_TYPES) if r.random() < 0.7 else r.choice(ARRAY_TYPES)


def array(r: Random, rank: int | None = None, kind: str | None = None, *, odd: bool = True) -> Shape:
    """Returns a static array; with `odd`, it may have tiles, a memory space or any layout order."""
    rank = r.choice((0, 1, 1, 2, 2, 3, 4)) if rank is None else rank
    order = list(range(rank - 1, -1, -1))
    if odd and r.random() < 0.2:
        r.shuffle(order)
    layout = Layout(tuple(order))
    if odd and r.random() < 0.1:
        layout = Layout(
            tuple(order),
            tiles=r.choice(((), ((8, 128),), ((8, 128), (2, 1)), ((-1, 4),))),
            memory_space=r.choice((0, 1, 5)),
            element_size_in_bits=r.choice((0, 4)),
            tail_padding_alignment_in_elements=r.choice((1, 1, 8)),
        )
    return Shape(kind or element_type(r), tuple(r.choice(_DIMENSIONS) for _ in range(rank)), (), layout)


def shape(r: Random, depth: int = 0) -> Shape:
    """Returns an array, or rarely a dynamic array, a token or a tuple."""
    if depth < 2 and r.random() < 0.15:
        return tuple_shape(shape(r, depth + 1) for _ in range(r.choice((0, 1, 2, 3, 7))))
    if r.random() < 0.05:
        return Shape("token")
    made = array(r)
    if made.dimensions and r.random() < 0.05:
        return array_shape(made.element_type, made.dimensions, tuple(r.random() < 0.5 for _ in made.dimensions))
    return made


# ---- literals ---------------------------------------------------------------------------------------------------------


def literal(r: Random, of: Shape) -> str:
    """Returns a literal in XLA's spelling."""
    if of.is_tuple:
        return "( " + ", ".join(literal(r, element) for element in of.elements) + " )" if of.elements else "()"
    # XLA invents the values of an elided constant and prints them if there are few.
    if prod(of.dimensions) > 10 and r.random() < 0.2:
        return "{...}"
    return _dense(r, of.element_type, of.dimensions)


def _dense(r: Random, kind: str, dimensions: Sequence[int]) -> str:
    if not dimensions:
        return _element(r, kind)
    inside = ", ".join(_dense(r, kind, dimensions[1:]) for _ in range(dimensions[0]))
    return "{ " + inside + " }" if len(dimensions) > 1 else "{" + inside + "}"


def _element(r: Random, kind: str) -> str:
    row = ELEMENT_TYPES[kind]
    if row.kind == "pred":
        return r.choice(("true", "false", "0", "1"))
    if row.is_integral:
        return str(r.choice((0, row.maximum, row.minimum, r.randint(row.minimum, row.maximum))))
    if row.kind == "complex":
        return f"({_number(r)}, {_number(r)})"
    if row.float_format is not None and row.float_format.nonfinite == "e8m0":
        return r.choice(("1", "2", "0.5", "4"))
    small = row.bits <= 8
    return r.choice(("0", "1", "-1", "0.5", "-0.5", "1.5")) if small else r.choice((_number(r), "inf", "-inf", "nan", "-nan"))


def _number(r: Random) -> str:
    return r.choice(("0", "1", "-1", "0.0", "2.5", "1e3", "-1.25e-2", "65504", "5.", f"{r.uniform(-9, 9):.6g}", f"{r.random():.9g}"))


# ---- attribute values -------------------------------------------------------------------------------------------------


def _int(r: Random) -> str:
    return str(r.choice((0, 1, 1, 2, 3, 7, 100)))


def _ints(r: Random) -> str:
    return "{" + ",".join(_int(r) for _ in range(r.choice((0, 1, 1, 2, 3)))) + "}"


def _string(r: Random) -> str:
    return '"' + "".join(r.choice(_STRINGS) for _ in range(r.choice((0, 1, 1, 2)))) + '"'


def _nonempty_string(r: Random) -> str:
    return '"' + r.choice(_STRINGS) + '"'


def _dictionary(r: Random) -> str:
    return r.choice(('{"a":1}', "{}", '{"k":{"s":"}"},"l":[1,2]}', '{mesh = #sdy.mesh<["x"=8]>}', '{ "a" : "b c" }'))


def _enum(name: str) -> Callable[[Random], str]:
    return lambda r: r.choice(ENUMS[name].words)


def _window(r: Random) -> str:
    rank = r.choice((1, 2, 2, 3))

    def values(options: Sequence[object]) -> str:
        return "x".join(str(r.choice(options)) for _ in range(rank))

    parts = ["size=" + values((1, 2, 3))]
    if r.random() < 0.5:
        parts.append("stride=" + values((1, 2)))
    if r.random() < 0.5:
        parts.append("pad=" + values(("0_0", "1_1", "-1_2")))
    if r.random() < 0.3:
        parts.append("lhs_dilate=" + values((1, 2)))
    if r.random() < 0.3:
        parts.append("rhs_dilate=" + values((1, 2)))
    if r.random() < 0.2:
        parts.append("rhs_reversal=" + values((0, 1)))
    return "{" + " ".join(parts) + "}"


def _replica_groups(r: Random) -> str:
    return r.choice(("{}", "{{0,1},{2,3}}", "{{0}}", "[2,4]<=[8]", "[4,2]<=[2,4]T(1,0)", "[1,8]<=[8]"))


def _aliases(r: Random) -> str:
    return r.choice(("{}", "{{}: (0, {})}", "{{0}: (0, {}), {1}: (1, {0,1})}"))


def _slice_ranges(r: Random) -> str:
    stride = r.random() < 0.4

    def one() -> str:
        start = r.choice((0, 1, 2))
        return f"[{start}:{start + r.choice((0, 1, 5))}" + (f":{r.choice((1, 2))}]" if stride else "]")

    return "{" + ", ".join(one() for _ in range(r.choice((0, 1, 2, 3)))) + "}"


def _padding(r: Random) -> str:
    interior = r.random() < 0.5
    return "x".join(r.choice(("0_0", "1_2", "-1_0", "3_-2")) + (r.choice(("_0", "_1")) if interior else "") for _ in range(r.choice((1, 2, 3))))


def metadata(r: Random, frames: int = 0) -> str:
    """Returns metadata with fields in XLA's order.

    `frames` is the number of rows of the module's StackFrames table.
    """
    fields = []
    for name in ("op_type", "op_name", "source_file"):
        if r.random() < 0.5:
            fields.append(f"{name}={_string(r)}")
    for name in ("source_line", "source_end_line", "source_column", "source_end_column"):
        if r.random() < 0.3:
            fields.append(f"{name}={_int(r)}")
    if r.random() < 0.1:
        fields.append("profile_type={0,1}")
    if r.random() < 0.1:
        fields.append(f"deduplicated_name={_string(r)}")
    if r.random() < 0.1:
        fields.append('scheduling_name="s.1"')
    if frames and r.random() < 0.5:
        fields.append(f"stack_frame_id={r.randint(1, frames)}")
    if r.random() < 0.1:
        fields.append(f"metadata_payload={_string(r)}")
    return "{" + " ".join(fields) + "}"


def sharding(r: Random, of: Shape) -> str:
    """Returns a sharding that fits the shape."""
    if of.is_tuple and of.elements and r.random() < 0.5:
        return "{" + ", ".join(_single_sharding(r, leaf) for leaf in of.leaves()) + "}" if any(True for _ in of.leaves()) else "{{replicated}}"
    return _single_sharding(r, of) if not of.is_tuple else r.choice(("{replicated}", "{manual}", "{maximal device=1}"))


def _single_sharding(r: Random, of: Shape) -> str:
    plain = ["{replicated}", "{manual}", "{maximal device=0}", "{unknown}", '{replicated metadata={op_name="x"}}']
    if of.is_array and of.rank:
        ones = ",".join("1" for _ in range(of.rank - 1))
        head = f"2,{ones}" if ones else "2"
        plain += [f"{{devices=[{head}]0,1}}", f"{{devices=[{head}]<=[2]}}", f"{{devices=[{head},2]<=[4] last_tile_dim_replicate}}"]
        plain += [f"{{devices=[{head},2]<=[2,2]T(1,0) last_tile_dims={{manual}}}}", f"{{devices=[{head}]<=[2] shard_as 1}}"]
        dims = ", ".join(["{'x'}"] + ["{}"] * (of.rank - 1))
        plain += [f"{{mesh['x'=2,'y'=4], [{dims}]}}", f"{{mesh['x'=2,'y'=4], [{dims}], replicated={{'y'}}}}"]
    return r.choice(plain)


def _statistics(r: Random) -> str:
    return r.choice(("{visualizing_index=1,mean=2.5}", "{visualizing_index=0,a=1,b=0.5}"))


def _result_accuracy(r: Random) -> str:
    return r.choice(("{mode=highest}", "{mode=default}", "{tolerance={atol=0.5,rtol=0.25,ulps=2}}"))


def _domain(r: Random) -> str:
    return r.choice(('{kind="sharding", entry={maximal device=0}, exit={maximal device=1}}', '{kind="sharding", entry={replicated}, exit={manual}}'))


def _precisions(r: Random) -> str:
    return "{" + ",".join(r.choice(("default", "high", "highest")) for _ in range(2)) + "}"


VALUES: dict[str, Callable[[Random], str]] = {
    **{name: _enum(name) for name in ENUMS},
    "Int": _int,
    "Int32": _int,
    "Bool": lambda r: r.choice(("true", "false")),
    "Number": lambda r: r.choice(("0.001", "1e-05", "0.5", "1", "0")),
    "Text": _nonempty_string,
    "Dims": _ints,
    "SingleDim": lambda r: "{" + _int(r) + "}",
    "FirstDim": lambda r: "{" + _int(r) + "}",
    "IgnoredDims": lambda r: "{" + _int(r) + "}",
    "IntLists": lambda r: r.choice(("{}", "{{0}}", "{{0,1},{2}}")),
    "Pairs": lambda r: r.choice(("{}", "{{0,1}}", "{{0,1},{1,0}}")),
    "SliceSizes": _ints,
    "Window": _window,
    "Padding": _padding,
    "DimLabels": lambda r: r.choice(("b01f_01io->b01f", "bf_io->bf", "b0f_0io->b0f", "f01b_i01o->01bf", "b012f_012io->b012f")),
    "SliceRanges": _slice_ranges,
    "ReplicaGroups": _replica_groups,
    "OperandPrecision": _precisions,
    "OutputAliases": _aliases,
    "ShapeValue": lambda r: array(r).text,
    "ResultAccuracy": _result_accuracy,
    "SparsityConfig": lambda r: "{lhs={sparsity=1x4 dimension=0 stride=1}}",
    "TypedLiteral": lambda r: r.choice(("s32[] 2", "s32[2]{0} {1, 2}", "(s32[] 2, f32[2]{0} {1, 2.5})", "f32[] nan")),
    "Domain": _domain,
    "FrontendAttributes": lambda r: r.choice(('{a="x"}', '{b={"k":1},a="y z"}', "{}", '{k="it\\\'s"}')),
    "Statistics": _statistics,
    "Origin": lambda r: r.choice(('{{"p"}}', '{{"p" {1,0}}}', '{({"p"}, {"q"})}', "{[synthetic_call]}")),
    "BackendConfig": lambda r: _dictionary(r) if r.random() < 0.6 else _string(r),
}
"""Functions by kind of attribute value.

`random_texts` generates the kinds that refer to other parts of the module.
"""
