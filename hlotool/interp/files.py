"""Arguments from files and command lines, and results in files.

Arrays are stored in NumPy's .npy and .npz files, never as pickles. Types that NumPy lacks (bf16, f8*, s4, ...) are stored as raw bytes,
which NumPy shows as |V1 and |V2; they regain their type from the parameter that they are passed to, or by `.view(ml_dtypes.bfloat16)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from hlotool.errors import HlotoolError, Violation, nearest
from hlotool.interp.bits import from_patterns
from hlotool.interp.domains import domains
from hlotool.interp.drawing import Domain, random_array
from hlotool.interp.dtypes import NUMBERS, Array, NumberType
from hlotool.interp.literal import filled, literal_array
from hlotool.interp.options import ELIDED_FILLS
from hlotool.interp.values import Token, Value, checked_argument, leaves, with_leaves
from hlotool.ir.model import Module
from hlotool.literals.parse import parse_literal
from hlotool.shapes.shape import Shape, indexed_leaves
from hlotool.text.source.files import InputError

__all__ = ["ArgumentError", "Arguments", "leaf_names", "npz_bytes", "npz_of", "output_names", "read_npz"]

_OUTPUT = "output"


class ArgumentError(HlotoolError):
    """Arguments that do not fit the module."""

    exit_code = 2


def output_names(shape: Shape) -> Iterator[tuple[str, Shape]]:
    """A name and the shape of each leaf: `output`, or `output.0`, `output.1.2` for elements of tuples.

    >>> from hlotool.shapes.shape import TOKEN, tuple_shape
    >>> [name for name, _ in output_names(tuple_shape([TOKEN, tuple_shape([TOKEN])]))]
    ['output.0', 'output.1.0']
    """
    return leaf_names(_OUTPUT, shape)


def leaf_names(name: str, shape: Shape) -> Iterator[tuple[str, Shape]]:
    """A name and the shape of each leaf: the name itself, or followed by the indices of a tuple's element, as in `state.0`."""
    for path, leaf in indexed_leaves(shape):
        yield ".".join([name, *map(str, path)]), leaf


class Arguments:
    """The arguments of a module, collected one by one; those that are missing are drawn at random.

    A parameter is referred to by its name or number, an element of a tuple by its index after a dot: `state.0`, `2.1.0`.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.parameters = module.entry.parameters
        # The shape of each leaf, and the meaning of each name: a parameter's number and the numbers of its leaves.
        self.shapes = [list(p.shape.leaves()) for p in self.parameters]
        self.places: dict[str, tuple[int, range]] = {}
        self.values: dict[tuple[int, int], Any] = {}
        self._known_domains: dict[tuple[int, int], Domain] | None = None
        for whole in (False, True):
            for k, p in enumerate(self.parameters):
                for name in (str(k), p.name):
                    self._name(name, k, p.shape, whole=whole)

    def _name(self, name: str, number: int, shape: Shape, *, whole: bool) -> None:
        """Names of parameters take precedence over names of elements, since they may contain dots, too."""
        if whole:
            self.places[name] = (number, range(len(self.shapes[number])))
            return
        for leaf, (path, _) in enumerate(leaf_names(name, shape)):
            self.places[path] = (number, range(leaf, leaf + 1))

    def give(self, name: str, text: str) -> None:
        """Sets an argument as `name=text` on a command line does: to a .npy file, zeros, ones, iota, random, or a literal.

        Raises HlotoolError.
        """
        number, numbers = self._place(name)
        for leaf in numbers:
            shape = self.shapes[number][leaf]
            if text in ELIDED_FILLS:
                self._put(number, leaf, filled(shape, text, 0, number) if shape.is_array else Token())
            elif len(numbers) > 1:
                raise ArgumentError(f"'{name}' is a tuple; give its elements one by one: {name}.0=...")
            elif text.endswith(".npy"):
                self._put(number, leaf, _read_npy(text))
            else:
                self._put(number, leaf, _read_literal(name, shape, text))

    def give_all(self, arrays: dict[str, Array], source: str) -> None:
        """Sets arguments to the entries of an .npz file; those with the names of outputs are ignored."""
        for name, array in arrays.items():
            if name not in self.places and (name == _OUTPUT or name.startswith(f"{_OUTPUT}.")):
                continue
            number, numbers = self._place(name, f" in '{source}'")
            if len(numbers) > 1:
                raise ArgumentError(f"'{name}' in '{source}' is a tuple; store its elements as {name}.0, {name}.1, ...")
            self._put(number, numbers[0], array)

    def _place(self, name: str, where: str = "") -> tuple[int, range]:
        place = self.places.get(name)
        if place is None:
            raise ArgumentError(f"there is no parameter '{name}'{where}; {self._known(name)}")
        return place

    def _known(self, name: str) -> str:
        names = [p.name for p in self.parameters]
        meant = nearest(name, names)
        if meant is not None:
            return f"did you mean '{meant}'?"
        return f"the parameters are {_enumerated(names)}" if names else "the entry computation has none"

    def _put(self, number: int, leaf: int, array: Any) -> None:
        shape, parameter = self.shapes[number][leaf], self.parameters[number]
        element = NUMBERS.get(shape.element_type)
        if element is not None and isinstance(array, np.ndarray) and _is_raw(array, element):
            array = array.view(element.held) if element.bits > 8 else from_patterns(array.view(np.uint8) & np.uint8(2**element.bits - 1), element)
        try:
            self.values[number, leaf] = checked_argument(array, shape, parameter.name)
        except Violation as violation:
            raise ArgumentError(f"parameter {number} {violation.message}" + (f"; {violation.hint}" if violation.hint else "")) from None

    def missing(self) -> list[str]:
        """The names of the parameters that have no value, or not for all their leaves."""
        return [p.name for k, p in enumerate(self.parameters) if any((k, leaf) not in self.values for leaf in range(len(self.shapes[k])))]

    def assumed(self) -> list[tuple[str, Domain]]:
        """The names of the missing arrays whose use implies a domain, with the domain."""
        assumed_domains = []
        for (k, leaf), domain in self._domains().items():
            if (k, leaf) not in self.values and not domain.is_free:
                name = self.parameters[k].name
                assumed_domains.append(
                    (name if len(self.shapes[k]) == 1 else [path for path, _ in leaf_names(name, self.parameters[k].shape)][leaf], domain)
                )
        return assumed_domains

    def _domains(self) -> dict[tuple[int, int], Domain]:
        if self._known_domains is None:
            self._known_domains = domains(self.module)
        return self._known_domains

    def _random(self, number: int, leaf: int, shape: Shape, seed: int) -> Any:
        if not shape.is_array:
            return Token()
        try:
            return random_array(shape, seed, number, leaf, domain=self._domains()[number, leaf])
        except (MemoryError, ValueError) as error:
            name, reason = self.parameters[number].name, str(error) or "not enough memory"
            raise ArgumentError(f"there is no room for random values of '{name}', {shape.text_without_layout[:80]}: {reason}") from None

    def values_or_random(self, seed: int) -> tuple[Value, ...]:
        """The arguments, with random values from `seed` for those that are missing."""
        values = []
        for k, p in enumerate(self.parameters):
            items = []
            for leaf, shape in enumerate(self.shapes[k]):
                if (k, leaf) in self.values:
                    items.append(self.values[k, leaf])
                else:
                    items.append(self._random(k, leaf, shape, seed))
            values.append(with_leaves(p.shape, items))
        return tuple(values)


def _is_raw(array: Array, element: NumberType) -> bool:
    """Whether an array holds the bytes of a type that NumPy does not know."""
    return array.dtype.kind == "V" and array.dtype.names is None and array.dtype.itemsize == element.held.itemsize


def _enumerated(names: list[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown}, and {len(names) - 8} more"


def _read_literal(name: str, shape: Shape, text: str) -> Array:
    if not shape.is_array:
        raise ArgumentError(f"'{name}' is {shape.text_without_layout}, which has no literals")
    try:
        literal = parse_literal(shape, text)
    except Violation as violation:
        hint = f"; a file needs the ending .npy, other values are {', '.join(ELIDED_FILLS)}"
        raise ArgumentError(f"'{name}' takes {shape.text_without_layout}, and '{text[:40]}' is no such literal: {violation.message}{hint}") from None
    if literal.elided:
        raise ArgumentError(f"the value of '{name}' is {{...}}, which leaves the numbers out")
    return literal_array(literal)


# ---- files ------------------------------------------------------------------------------------------------------------


# Both open files themselves, since NumPy leaves files open that it cannot read. The exceptions of its readers for damaged files are not
# documented: errors of zip archives, of zlib, of struct, and of Python's tokenizer, for headers are Python expressions.


def _read_npy(path: str) -> Array:
    try:
        with Path(path).open("rb") as file:
            array = np.load(file, allow_pickle=False)
    except Exception as error:
        raise InputError(f"cannot read '{path}': {_reason(error)}") from error
    if not isinstance(array, np.ndarray):
        raise InputError(f"cannot read '{path}': it holds several arrays; give it with --inputs")
    return array


def read_npz(path: str) -> dict[str, Array]:
    """The arrays of an .npz file by name; raises HlotoolError."""
    try:
        with Path(path).open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise InputError(f"cannot read '{path}': it holds one array; give it with --input NAME={path}")
            with archive:
                return {name: archive[name] for name in archive.files}
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"cannot read '{path}': {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if "allow_pickle" in str(error):
        return "it is no array file, or holds Python objects, which are not loaded"
    return str(error) or type(error).__name__


def npz_bytes(value: Value, shape: Shape) -> bytes:
    """An .npz file with the arrays of a result under the names of `output_names`; tokens are left out."""
    pairs: Iterable[tuple[tuple[str, Shape], Any]] = zip(output_names(shape), leaves(value), strict=True)
    return npz_of({name: leaf for (name, _), leaf in pairs if isinstance(leaf, np.ndarray)})


def npz_of(arrays: dict[str, Array]) -> bytes:
    """An .npz file with these arrays."""
    buffer = BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: _storable(array) for name, array in arrays.items()})
    return buffer.getvalue()


def _storable(array: Array) -> Array:
    """The array, or its raw bytes if the type is not NumPy's own: it writes f8e5m2 under a name that it cannot read."""
    return array if array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}")
