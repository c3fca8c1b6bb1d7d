"""Methods for random numbers."""

from __future__ import annotations

from hlotool.builder.arguments import Operand
from hlotool.builder.composites.control_flow import ControlFlowMethods
from hlotool.builder.op import Op
from hlotool.builder.texts import ShapeLike
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import array_shape, tuple_shape

__all__ = ["RandomMethods"]

_RNG, _RNG_BITS, _RNG_STATE = OPS["rng"], OPS["rng-bit-generator"], OPS["rng-get-and-update-state"]


class RandomMethods(ControlFlowMethods):
    """Methods for random numbers; XLA does not specify the generator of uniform and normal ones."""

    def rng_get_and_update_state(self, delta: int) -> Op:
        """Returns a 128-bit random state, and then adds `delta` to the state.

        This instruction appears in dumps; users should call `rng_bit_generator` instead. As on
        XLA:CPU, each instruction has its own state. Raises BuilderError for a delta that is not an
        integer.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> low, high = hlotool.evaluate(b.build(b.rng_get_and_update_state(5)), []).tolist()
        >>> hex(low), high
        ('0x7012395', 0)
        """
        return self._emit(_RNG_STATE, (), {"delta": self._integer(delta, "delta")}, array_shape("u64", (2,)))

    def rng_uniform(self, a: Operand, b: Operand, shape: ShapeLike) -> Op:
        """Generates random numbers uniformly distributed in the interval [a, b).

        The limits are scalars of the shape's element type. Raises BuilderError for limits of other
        types.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> value = hlotool.evaluate(b.build(b.rng_uniform(2.0, 5.0, "f32[1000]")), [])
        >>> bool(value.min() >= 2), bool(value.max() < 5)
        (True, True)
        """
        return self._random(a, b, ("a", "b"), shape, "rng_uniform")

    def rng_normal(self, mu: Operand, sigma: Operand, shape: ShapeLike) -> Op:
        """Generates normally distributed random numbers.

        The mean `mu` and the standard deviation `sigma` are scalars of the shape's element type,
        which must be a floating-point type. Raises BuilderError for other types.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> value = hlotool.evaluate(b.build(b.rng_normal(10.0, 2.0, "f32[10000]")), [])
        >>> round(float(value.mean())), round(float(value.std()))
        (10, 2)
        """
        return self._random(mu, sigma, ("mu", "sigma"), shape, "rng_normal")

    def _random(self, first: Operand, second: Operand, names: tuple[str, str], shape: ShapeLike, distribution: str) -> Op:
        result = self._shape(shape)
        operands = self._operand(first, names[0], result), self._operand(second, names[1], result)
        return self._emit(_RNG, operands, {"distribution": distribution}, result)

    def rng_bernoulli(self, mean: Operand, shape: ShapeLike) -> Op:
        """Generates a u32 array whose elements are 1 with probability `mean`, and 0 otherwise.

        `mean` is a scalar. XLA's documentation of 2017 has this operation, but HLO does not, so
        numbers from `rng_uniform` are compared with `mean`. Raises BuilderError for a shape of any
        other element type.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> value = hlotool.evaluate(b.build(b.rng_bernoulli(0.25, "u32[10000]")), [])
        >>> round(float(value.mean()), 1), sorted(set(value.tolist()))
        (0.3, [0, 1])
        """
        result, probability = self._shape(shape), self._operand(mean, "mean")
        self._require(result.element_type == "u32", "T059", "shape", f"expected u32 elements, got {result.text_without_layout}")
        drawn = self.rng_uniform(0.0, 1.0, array_shape(probability.shape.element_type, result.dimensions))
        return self.convert_element_type(drawn < Op(self._innermost(), probability), "u32")

    def rng_bit_generator(self, algorithm: str, initial_state: Operand, shape: ShapeLike) -> Op:
        """Generates random bits with a given algorithm, and returns (new state, bits).

        The algorithm is rng_default, rng_three_fry or rng_philox; the names in XLA's documentation,
        such as RNG_PHILOX, are accepted, too. Raises BuilderError for other names.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> module = b.build(b.rng_bit_generator("RNG_THREE_FRY", b.constant([1, 2], "u64"), "u32[3]"))
        >>> hlotool.evaluate(module, [])
        (array([1, 4], dtype=uint64), array([  43444564, 2150618427, 3979645651], dtype=uint32))
        """
        state = self._operand(initial_state, "initial_state")
        word = self._word("RandomAlgorithm", algorithm, "algorithm")
        return self._emit(_RNG_BITS, (state,), {"algorithm": word}, tuple_shape((state.shape, self._shape(shape))))
