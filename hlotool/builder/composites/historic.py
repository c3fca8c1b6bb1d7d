"""Names and forms of the documents of 2017 and 2019, which say what they are today."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.builder.arguments import Operand, Operands
from hlotool.builder.composites.random_numbers import RandomMethods
from hlotool.builder.generated.binary import BinaryMethods
from hlotool.builder.generated.unary import UnaryMethods
from hlotool.builder.op import Op
from hlotool.builder.texts import ShapeLike

__all__ = ["HistoricMethods"]


class HistoricMethods(RandomMethods, BinaryMethods, UnaryMethods):
    """Names of the documents of 2017 and 2019."""

    def logical_and(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Sequence[int] = ()) -> Op:
        """The name of `and_` in 2017 and 2019.

        >>> from hlotool.builder.builder import Builder
        >>> Builder("demo").logical_and([True], [False])
        <op and = pred[1] and>
        """
        return self.and_(lhs, rhs, broadcast_dimensions)

    def logical_or(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Sequence[int] = ()) -> Op:
        """The name of `or_` in 2017 and 2019.

        >>> from hlotool.builder.builder import Builder
        >>> Builder("demo").logical_or([True], [False])
        <op or = pred[1] or>
        """
        return self.or_(lhs, rhs, broadcast_dimensions)

    def logical_not(self, operand: Operand) -> Op:
        """The name of `not_` in 2017 and 2019.

        >>> from hlotool.builder.builder import Builder
        >>> Builder("demo").logical_not([True])
        <op not = pred[1] not>
        """
        return self.not_(operand)

    def concatenate(self, operands: Operands, dimension: int) -> Op:
        """Another name of `concat_in_dim`, in all documents.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> b.concatenate([b.constant([1]), b.constant([2])], 0)
        <op concatenate = s32[2] concatenate>
        """
        return self.concat_in_dim(operands, dimension)

    def recv_to_host(self, token: Operand, shape: ShapeLike, handle: int) -> Op:
        """The name that the document of 2025 has for `recv_from_host`, by mistake.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> b.recv_to_host(b.after_all(), "f32[4]", 1)
        <op recv-done = (f32[4], token[]) recv-done>
        """
        return self.recv_from_host(token, shape, handle)
