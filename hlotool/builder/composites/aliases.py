"""Aliases of builder methods: other names from XLA's documentation, such as its 2017 version."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.builder.arguments import Operand, Operands
from hlotool.builder.composites.random_numbers import RandomMethods
from hlotool.builder.generated.binary import BinaryMethods
from hlotool.builder.generated.unary import UnaryMethods
from hlotool.builder.op import Op
from hlotool.builder.texts import ShapeLike

__all__ = ["AliasMethods"]


class AliasMethods(RandomMethods, BinaryMethods, UnaryMethods):
    """Aliases of builder methods: other names for operations in XLA's documentation."""

    def logical_and(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Sequence[int] = ()) -> Op:
        """Calls `and_` under its name in XLA's documentation of 2017 and 2019.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.logical_and([True, True], [True, False])), [])
        array([ True, False])
        """
        return self.and_(lhs, rhs, broadcast_dimensions)

    def logical_or(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Sequence[int] = ()) -> Op:
        """Calls `or_` under its name in XLA's documentation of 2017 and 2019.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.logical_or([True, False], [False, False])), [])
        array([ True, False])
        """
        return self.or_(lhs, rhs, broadcast_dimensions)

    def logical_not(self, operand: Operand) -> Op:
        """Calls `not_` under its name in XLA's documentation of 2017 and 2019.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.logical_not([True, False])), [])
        array([False,  True])
        """
        return self.not_(operand)

    def concatenate(self, operands: Operands, dimension: int) -> Op:
        """Calls `concat_in_dim` under a name that all versions of XLA's documentation also use.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.concatenate([b.constant([1]), b.constant([2, 3])], 0)), [])
        array([1, 2, 3], dtype=int32)
        """
        return self.concat_in_dim(operands, dimension)

    def concat(self, operands: Operands, dimension: int) -> Op:
        """Calls `concat_in_dim` under another name.

        The examples in all versions of XLA's documentation use this name.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.concat([b.constant([2, 3]), b.constant([4, 5]), b.constant([6, 7])], 0)), [])
        array([2, 3, 4, 5, 6, 7], dtype=int32)
        """
        return self.concat_in_dim(operands, dimension)

    def constant_literal(self, literal: Operand) -> Op:
        """Calls `constant` under the name in code examples of all versions of XLA's documentation.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.constant_literal([[1.0, 2.0]])), [])
        array([[1., 2.]], dtype=float32)
        """
        return self.constant(literal)

    def send_with_tokens(self, operand: Operand, token: Operand, handle: int) -> Op:
        """Calls `send_with_token` under a name that XLA's documentation of 2025 also uses.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> token = b.send_with_tokens([1.0, 2.0], b.after_all(), 1)
        >>> hlotool.evaluate(b.build(b.recv_with_token(token, "f32[2]", 1)[0]), [])
        array([1., 2.], dtype=float32)
        """
        return self.send_with_token(operand, token, handle)

    def recv_with_tokens(self, token: Operand, shape: ShapeLike, handle: int) -> Op:
        """Calls `recv_with_token` under a name that XLA's documentation of 2025 also uses.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> token = b.send([1.0, 2.0], 1)
        >>> hlotool.evaluate(b.build(b.recv_with_tokens(token, "f32[2]", 1)[0]), [])
        array([1., 2.], dtype=float32)
        """
        return self.recv_with_token(token, shape, handle)

    def recv_to_host(self, token: Operand, shape: ShapeLike, handle: int) -> Op:
        """Calls `recv_from_host` under a name that XLA's documentation of 2025 uses by mistake.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> queues = hlotool.HostQueues(received={1: [[1.0, 2.0]]})
        >>> module = b.build(b.recv_to_host(b.after_all(), "f32[2]", 1)[0])
        >>> hlotool.evaluate(module, [], options=hlotool.RunOptions(queues=queues))
        array([1., 2.], dtype=float32)
        """
        return self.recv_from_host(token, shape, handle)
