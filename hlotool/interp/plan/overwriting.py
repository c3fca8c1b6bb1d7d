"""Finds arrays from outside of a cluster, to overwrite them with a result block by block."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.interp.arrays.dtypes import NUMBERS
from hlotool.interp.plan.forms import Form
from hlotool.interp.plan.fusing import Cluster
from hlotool.interp.plan.operations import Variable

__all__ = ["overwritten_operand"]


def overwritten_operand(cluster: Cluster, result: Variable, dying: Sequence[Variable], axis: int) -> Variable | None:
    """Returns a `dying` variable that the result may overwrite, or None if there is none.

    Each block of this variable is read before the same block of the result is written. `axis` is
    the axis of the domain that is divided into blocks. It is only known at run time whether there
    are other references to the array.
    """
    if cluster.axes[result][: axis + 1] != tuple(range(axis + 1)):
        # The same block of the result is written for several blocks of the domain, and its operands
        # are read again each time.
        return None
    outside = [variable for variable in dying if variable not in cluster.axes and _is_interchangeable(variable, result)]
    return next((variable for variable in outside if _is_read_before(cluster, variable, result)), None)


def _is_interchangeable(operand: Variable, result: Variable) -> bool:
    if operand.is_scalar or operand.constant is not None:
        return False
    one, other = operand.shape, result.shape
    return one.is_array and one.element_type == other.element_type and one.dimensions == other.dimensions


def _is_read_before(cluster: Cluster, operand: Variable, result: Variable) -> bool:
    number = NUMBERS[operand.shape.element_type]
    is_written = False
    for operation in cluster.operations:
        form = cluster.forms[operation]
        is_result = operation.results[0] is result
        for source, spanned in cluster.keys(operation):
            if source is not operand:
                continue
            if spanned != cluster.axes[result]:
                return False
            if number.held != number.computed:
                # The operand's blocks are converted immediately, before anything is written.
                continue
            copies, works_in_place = (form.copies, form.works_in_place) if isinstance(form, Form) else (False, False)
            # A copy may be the block itself, which is read later.
            if is_written or copies or (is_result and not works_in_place):
                return False
        is_written = is_written or is_result
    return True
