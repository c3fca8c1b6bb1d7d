"""Opcodes that name or group values: parameter, constant, tuple and get-tuple-element.

The number of a parameter and the literal of a constant are not attributes, since they are written
in the parentheses after the opcode.
"""

from __future__ import annotations

from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.base import op, require
from hlotool.opdefs.constraints import difference
from hlotool.opdefs.inference import count, written_shape_needed
from hlotool.opdefs.kinds import Int, Replication
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import FORWARDS, FREE, HOLDS_BUFFERS, LAYOUT_KEPT, MIXED_PRECISION, STRUCTURAL
from hlotool.shapes.shape import Shape, compatible, tuple_shape

__all__ = ["constant", "get_tuple_element", "parameter", "tuple_"]


def _one_flag_for_each_leaf(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    flags = attributes.get("parameter_replication")
    if flags is None or result is None:
        return
    leaves = sum(1 for _ in result.leaves())
    if len(flags) != leaves:
        raise Violation("P031", "parameter_replication", f"parameter_replication needs {count(leaves, 'flag')} (one per array), got {len(flags)}")


@op(infers=False, check_parsed=_one_flag_for_each_leaf, traits=(STRUCTURAL, FREE, HOLDS_BUFFERS))
def parameter(*, parameter_replication: Replication | None = None) -> Shape:
    """Returns the computation's parameter with the given number.

    x = f32[4] parameter(0)
    """
    written_shape_needed("parameter")


@op(infers=False, traits=(STRUCTURAL, FREE))
def constant() -> Shape:
    """Returns a constant value.

    c = f32[2] constant({1, 2})
    """
    written_shape_needed("constant")


def _tuple_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    if result is None:
        return
    if not result.is_tuple:
        raise Violation("T071", "shape", f"'tuple' gives a tuple, but {result.text_without_layout} is written")
    if len(result.elements) != len(operands):
        raise Violation("T071", "operands", f"'tuple' must have one element per operand in its shape ({len(operands)}), got {len(result.elements)}")


@op("tuple", check_parsed=_tuple_rule, result_code="T071", traits=(MIXED_PRECISION, LAYOUT_KEPT, STRUCTURAL, FREE, FORWARDS, HOLDS_BUFFERS))
def tuple_(*operands: Shape) -> Shape:
    """Groups values into a tuple.

    r = (f32[4], s32[]) tuple(f32[4] x, s32[] i)
    """
    return tuple_shape(operands)


# The search for the intended element covers only the first elements. It is repeated for each user
# of a tuple, so searching long tuples would take quadratic time.
_MAX_GUESSED = 64


def _verify_element(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    elements, index = operands[0].elements, attributes["index"]
    if not compatible(elements[index], result):
        meant = [k for k, element in enumerate(elements[:_MAX_GUESSED]) if compatible(element, result)]
        hint = f"did you mean index={meant[0]}?" if len(meant) == 1 else None
        where, element, written = difference(elements[index], result)
        raise Violation("T070", "result", f"{where}element {index} of the tuple is {element}, but {written} is written", hint)


@op(verify=_verify_element, result_code="T070", traits=(MIXED_PRECISION, LAYOUT_KEPT, STRUCTURAL, FREE, FORWARDS, HOLDS_BUFFERS))
def get_tuple_element(operand: Shape, *, index: Int) -> Shape:
    """Returns one element of a tuple.

    r = s32[] get-tuple-element((f32[4], s32[]) x), index=1
    """
    if not operand.is_tuple:
        raise Violation("T069", "operands", f"the operand of 'get-tuple-element' must be a tuple, got {operand.text_without_layout}")
    elements = operand.elements
    require(0 <= index < len(elements), "T068", "index", f"index {index} is out of range for a tuple with {count(len(elements), 'element')}")
    return elements[index]
