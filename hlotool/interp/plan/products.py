"""Statements for dot products of floats: NumPy's product of two views.

The forms of the views are computed once, at compile time; the kernel would compute them in each
call.
"""

from __future__ import annotations

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS
from hlotool.interp.arrays.memory_order import operands_in_layout, orders_of
from hlotool.interp.kernels.contraction import MatrixForm, large_product, matrix_form
from hlotool.interp.plan.operations import Operation, Variable
from hlotool.interp.plan.writer import Writer

__all__ = ["matrix_form_of", "product_form", "write_product"]


def write_product(writer: Writer, operation: Operation) -> bool:
    """Writes a dot product whose arrays have one float type that NumPy computes in.

    Returns False without writing anything if the operation is not such a product.
    """
    form = product_form(operation)
    if form is None:
        return False
    lhs, rhs = operation.reads
    arrays = [f"asarray({writer.name(variable)})" if variable.is_scalar else writer.name(variable) for variable in (lhs, rhs)]
    writer.line(f"a, b = {', '.join(arrays)}")
    if not form.is_large:
        orders = orders_of(operation.instruction)
        is_dense = "a.flags.c_contiguous and b.flags.c_contiguous" if not any(orders) and not form.may_be_symmetric else "False"
        writer.line(f"if not ({is_dense}): a, b = {writer.bind(operands_in_layout(orders))}(a, b)")
    left = _view_expression(writer, "a", lhs, form.lhs_order, form.lhs_sizes)
    right = _view_expression(writer, "b", rhs, form.rhs_order, form.rhs_sizes)
    product = f"{writer.bind(large_product) if form.is_large else writer.bind(np.matmul, 'matmul')}({left}, {right})"
    has_matrix = (*form.lhs_sizes[:-1], form.rhs_sizes[-1]) == form.sizes
    # A scalar result is a matrix of one element at first.
    shaped = product if has_matrix else f"{product}.reshape({writer.bind(form.sizes)}){'' if form.sizes else '[()]'}"
    writer.line(f"{writer.name(operation.results[0])} = {shaped}; a = b = None")
    return True


def product_form(operation: Operation) -> MatrixForm | None:
    """Returns the form of a dot product as a product of matrices.

    Returns None unless the operation is a dot product of arrays of one float type that NumPy
    computes in.
    """
    if len({variable.shape.element_type for variable in (*operation.reads, *operation.results)}) != 1:
        return None
    number = NUMBERS.get(operation.instruction.shape.element_type)
    if number is None or number.kind != "float" or number.held != number.computed:
        return None
    return matrix_form_of(operation)


def matrix_form_of(operation: Operation) -> MatrixForm | None:
    """Returns the form of a dot product as a product of matrices; None for other operations.

    Returns None for dynamic shapes, too, and if the shapes are wrong.
    """
    x, variables = operation.instruction, (*operation.reads, *operation.results)
    if x.opcode != "dot" or any(map(_is_dynamic, variables)):
        return None
    lhs, rhs, result = variables
    names = ("lhs_batch_dims", "lhs_contracting_dims", "rhs_batch_dims", "rhs_contracting_dims")
    lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = [tuple(x.attributes.get(name) or ()) for name in names]
    sizes = lhs.shape.dimensions, rhs.shape.dimensions
    pairs = zip((*lhs_batch, *lhs_contracting), (*rhs_batch, *rhs_contracting), strict=False)
    if len(lhs_contracting) != len(rhs_contracting) or len(lhs_batch) != len(rhs_batch):
        return None
    if any(not (0 <= a < len(sizes[0]) and 0 <= b < len(sizes[1]) and sizes[0][a] == sizes[1][b]) for a, b in pairs):
        # The kernel reports the error.
        return None
    form = matrix_form(*sizes, lhs_batch, lhs_contracting, rhs_batch, rhs_contracting)
    if form.sizes != result.shape.dimensions or any(sorted(order) != list(range(len(order))) for order in (form.lhs_order, form.rhs_order)):
        return None
    return form


def _is_dynamic(variable: Variable) -> bool:
    return not variable.shape.is_array or any(variable.shape.dynamic or ())


def _view_expression(writer: Writer, name: str, variable: Variable, order: tuple[int, ...], sizes: tuple[int, ...]) -> str:
    """Returns the expression for a variable's array of this name, transposed and reshaped."""
    if order != tuple(range(len(order))):
        name += f".transpose({writer.bind(order)})"
    if sizes != tuple([variable.shape.dimensions[k] for k in order]):
        name += f".reshape({writer.bind(sizes)})"
    return name
