"""Special shapes in the cases: no rule changes or replaces an array with a special shape.

A special shape has a memory space, tiles, larger or distributed elements, or a dynamic size.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from case_files import read_cases

import hlotool
from hlotool.analysis.simplify import constant_value
from hlotool.optimizer.opt_options import OptimizeOptions
from hlotool.record import replace
from hlotool.shapes.layout import default_layout
from hlotool.shapes.shape import Shape, array_shape

HERE = Path(__file__).parent
_COMMENT = re.compile(r"^//[^\n]*\n", re.MULTILINE)
# The rules in these files build arrays of other shapes, but cannot choose a memory space, tiles or
# dynamic sizes for them.
SHAPING = (
    "broadcast",
    "concatenate",
    "dynamic_slice",
    "empty_operands",
    "gather_scatter",
    "iota",
    "pad",
    "rearranged_operands",
    "reshape",
    "slice",
    "transpose",
)
# Operations that may be rewritten, since the memory space and size of their results do not matter.
INSENSITIVE = ("iota", "set-dimension-size")
CASES = [
    (topic, number, _COMMENT.sub("", case.text))
    for topic in SHAPING
    for number, case in enumerate(read_cases(HERE / f"{topic}.hlo"), 1)
    if "// fast-math" not in case.text
]


def special_shapes(shape: Shape) -> list[Shape]:
    """Returns the special variants of an array shape."""
    layout = shape.layout or default_layout(shape.rank)
    return [
        shape.with_layout(replace(layout, memory_space=1)),
        shape.with_layout(replace(layout, tiles=((8, 128),))),
        shape.with_layout(replace(layout, element_size_in_bits=64)),
        shape.with_layout(replace(layout, split_configs=((0, ()),))),
        array_shape(shape.element_type, shape.dimensions, (True,) + (False,) * (shape.rank - 1)),
    ]


@pytest.mark.parametrize(("topic", "number", "text"), CASES, ids=lambda value: str(value) if not isinstance(value, str) or "\n" not in value else "")
def test_special_shapes(topic: str, number: int, text: str) -> None:
    arrays = [x for x in hlotool.parse(text).entry.instructions if x.shape.is_array and x.shape.dimensions]
    names = [x.name for x in arrays if x.op.name not in INSENSITIVE and constant_value(x) is None]
    for name in names:
        for k in range(5):
            module = hlotool.parse(text)
            x = module.entry[name]
            with hlotool.Rewriter(module) as rewriter:
                rewriter.update(x, shape=special_shapes(x.shape)[k])
            if any(d.severity == "error" for d in hlotool.verify(module)):
                continue
            after = hlotool.optimize(module, topic, options=OptimizeOptions(explain=True))
            shapes = {y.name: y.shape for y in after.entry.instructions}
            rewritten = {rewrite.instruction for rewrite in after.report.rewrites}
            assert shapes.get(name) == x.shape, f"{x.shape} {x}\n{after}"
            assert name not in rewritten, f"{x.shape} {x}\n{after}"
