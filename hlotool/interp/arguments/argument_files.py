"""Reads arguments from files and command lines, and writes results to files.

Arrays are stored in NumPy's .npy and .npz files, never as pickles. Arrays of types that NumPy lacks
(bf16, f8*, s4, ...) are stored as raw bytes, which NumPy shows as |V1 and |V2. They regain their
type from the parameter that they are passed to, or with `.view(ml_dtypes.bfloat16)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlotool.errors import HlotoolError, Violation, nearest
from hlotool.interp.arguments.domains import domains
from hlotool.interp.arrays.bits import from_patterns
from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType
from hlotool.interp.arrays.literal_values import fill_array, literal_array
from hlotool.interp.arrays.random_arrays import Domain, random_array
from hlotool.interp.arrays.values import Token, Value, checked_argument, leaves, with_leaves
from hlotool.interp.engine.memory_estimate import default_limit
from hlotool.interp.engine.placement import first_holder, is_whole, part_hint
from hlotool.interp.run_options import ELIDED_FILLS
from hlotool.ir.model import Module
from hlotool.literals.parse import parse_literal
from hlotool.shapes.memory import format_bytes
from hlotool.shapes.shape import Shape, indexed_leaves
from hlotool.text.source.files import InputError

if TYPE_CHECKING:
    from zipfile import ZipFile

__all__ = ["ArgumentError", "Arguments", "is_array_file", "leaf_names", "npz_bytes", "npz_of", "on_device", "output_names", "read_npz"]

_OUTPUT = "output"
_RESULT = re.compile(r"(device\d+\.)?output(\..*)?")
_NUMBERED = re.compile(r".+\.\d+")
_UNNAMED = re.compile(r"arr_(\d+)")


class ArgumentError(HlotoolError):
    """An error for arguments that do not match the module."""

    exit_code = 2


def output_names(shape: Shape, devices: int = 1) -> Iterator[tuple[str, Shape]]:
    """Yields the name and the shape of each leaf of a result.

    Names are `output`, or `output.0` and `output.1.2` for elements of tuples. The result of several
    devices is a tuple with one element per device; its leaves are `device0.output` and so on.

    >>> from hlotool.shapes.shape import TOKEN, tuple_shape
    >>> [name for name, _ in output_names(tuple_shape([TOKEN, tuple_shape([TOKEN])]))]
    ['output.0', 'output.1.0']
    >>> [name for name, _ in output_names(tuple_shape([TOKEN, TOKEN]), devices=2)]
    ['device0.output', 'device1.output']
    """
    if devices == 1:
        yield from leaf_names(_OUTPUT, shape)
        return
    for device, device_shape in enumerate(shape.elements):
        yield from leaf_names(on_device(_OUTPUT, device), device_shape)


def on_device(name: str, device: int | None) -> str:
    """Returns the name with the device as a prefix, or unchanged if `device` is None.

    >>> on_device("x", 3), on_device("x", None)
    ('device3.x', 'x')
    """
    return name if device is None else f"device{device}.{name}"


def is_array_file(text: str) -> bool:
    """Returns whether a command-line value is the name of an .npy file."""
    return text.endswith(".npy")


def leaf_names(name: str, shape: Shape) -> Iterator[tuple[str, Shape]]:
    """Yields the name and the shape of each leaf of a value called `name`.

    If the value is a tuple, its name is followed by the leaf's indices, as in `state.0`.
    """
    for path, leaf in indexed_leaves(shape):
        yield ".".join([name, *map(str, path)]), leaf


class Arguments:
    """The arguments of a module, collected one by one; missing arguments are drawn at random.

    A parameter is identified by its name or number, and an element of a tuple by its index after a
    dot: `state.0`, `2.1.0`. The names in the JAX program work as well if they are unambiguous: `x`
    for `x.1`, and the name in the metadata.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.parameters = module.entry.parameters
        # `shapes` lists the leaf shapes of each parameter. `positions` maps each name to the number
        # of a parameter and the numbers of its leaves.
        self.shapes = [list(p.shape.leaves()) for p in self.parameters]
        self.positions: dict[str, tuple[int, range]] = {}
        self.values: dict[tuple[int, int], Any] = {}
        # The arguments that `give` has already set.
        self._given: set[tuple[int, range]] = set()
        self._drawn: dict[tuple[int, int, int], Any] = {}
        self._known_domains: dict[tuple[int, int], Domain] | None = None
        self._is_whole: bool | None = None
        for whole in (False, True):
            for k, p in enumerate(self.parameters):
                for name in (str(k), p.name):
                    self._register_name(name, k, p.shape, whole=whole)
        for name, number in self._alternative_names().items():
            for leaf, (path, _) in enumerate(leaf_names(name, self.parameters[number].shape)):
                self.positions.setdefault(path, (number, range(leaf, leaf + 1)))
            self.positions.setdefault(name, (number, range(len(self.shapes[number]))))

    def _alternative_names(self) -> dict[str, int]:
        """Returns the unambiguous alternative names of parameters, with the parameter numbers.

        An alternative name is the parameter's name without the number at its end, such as `x` for
        `x.1`, or the name in JAX's metadata.
        """
        numbers: dict[str, list[int]] = {}
        for k, p in enumerate(self.parameters):
            program_name = p.metadata.op_name if p.metadata is not None else ""
            for name in {p.name.rpartition(".")[0] if _NUMBERED.fullmatch(p.name) else "", program_name} - {""}:
                numbers.setdefault(name, []).append(k)
        return {name: parameter_numbers[0] for name, parameter_numbers in numbers.items() if len(parameter_numbers) == 1}

    def _register_name(self, name: str, number: int, shape: Shape, *, whole: bool) -> None:
        """Registers a name of a parameter if `whole` is set, or else the names of its elements.

        Names of parameters may also contain dots. They take precedence over names of elements.
        """
        if whole:
            self.positions[name] = (number, range(len(self.shapes[number])))
            return
        for leaf, (path, _) in enumerate(leaf_names(name, shape)):
            self.positions[path] = (number, range(leaf, leaf + 1))

    def give(self, name: str, text: str) -> None:
        """Sets an argument, like `name=text` on a command line.

        `text` is `zeros`, `ones`, `iota`, `random`, a literal, or the name of an .npy file. Raises
        HlotoolError if `name` or `text` is not valid.
        """
        number, numbers = position = self._position(name)
        if position in self._given:
            raise ArgumentError(f"'{name}' is set twice")
        self._given.add(position)
        for leaf in numbers:
            shape = self.shapes[number][leaf]
            if text in ELIDED_FILLS:
                self._put(number, leaf, fill_array(shape, text, 0, number) if shape.is_array else Token())
            elif len(numbers) > 1:
                raise ArgumentError(f"'{name}' is a tuple; set its elements one by one: {name}.0=...")
            elif text.endswith(".npz"):
                raise ArgumentError(f"'{name}' takes one array, but '{text}' may contain several; pass it with --inputs {text}")
            elif is_array_file(text):
                self._put(number, leaf, _read_npy(text))
            else:
                self._put(number, leaf, _read_literal(name, shape, text))

    def give_all(self, arrays: dict[str, Array], source: str) -> None:
        """Sets arguments to the entries of an .npz file.

        Entries with the names of outputs are ignored. Unnamed arrays, which NumPy calls `arr_0`,
        `arr_1` and so on, are assigned to the parameters in order. If there are more arrays than
        parameters, they are assigned to the leaves of the parameters instead.
        """
        for name, array in self._assign_names(arrays, source).items():
            if name not in self.positions and _RESULT.fullmatch(name):
                continue
            number, numbers = self._position(name, source)
            if not numbers:
                raise ArgumentError(f"'{source}' has an array for '{name}', which is an empty tuple")
            if len(numbers) > 1:
                raise ArgumentError(f"'{source}' has one array for '{name}', which is a tuple; store its elements as {name}.0, {name}.1, ...")
            self._put(number, numbers[0], array)

    def _assign_names(self, arrays: dict[str, Array], source: str) -> dict[str, Array]:
        if not arrays or not all(_UNNAMED.fullmatch(name) for name in arrays) or not self.positions.keys().isdisjoint(arrays):
            return arrays
        names = [str(k) for k in range(len(self.parameters))]
        if len(arrays) > len(names):
            names = [path for k, p in enumerate(self.parameters) for path, _ in leaf_names(str(k), p.shape)]
        if len(arrays) > len(names):
            count = f"{len(arrays)} unnamed array{'s' if len(arrays) != 1 else ''}"
            raise ArgumentError(f"'{source}' has {count}, but the entry computation takes {len(names)}")
        in_order = sorted(arrays, key=lambda name: int(name.removeprefix("arr_")))
        return {names[k]: arrays[name] for k, name in enumerate(in_order)}

    def _position(self, name: str, source: str = "") -> tuple[int, range]:
        position = self.positions.get(name)
        if position is None:
            problem = f"'{source}' has an entry '{name}', but there is no such parameter" if source else f"there is no parameter '{name}'"
            raise ArgumentError(f"{problem}; {self._known(name)}")
        return position

    def _known(self, name: str) -> str:
        names = [p.name for p in self.parameters]
        meant = nearest(name, names)
        if meant is not None:
            return f"did you mean '{meant}'?"
        if len(names) == 1:
            return f"the only parameter is {names[0]}"
        return f"the parameters are {_enumerated(names)}" if names else "the entry computation has none"

    def _put(self, number: int, leaf: int, array: Any) -> None:
        shape, parameter = self.shapes[number][leaf], self.parameters[number]
        element = NUMBERS.get(shape.element_type)
        if element is not None and isinstance(array, np.ndarray) and _is_raw(array, element):
            array = array.view(element.held) if element.bits > 8 else from_patterns(array.view(np.uint8) & np.uint8(2**element.bits - 1), element)
        try:
            self.values[number, leaf] = checked_argument(array, shape, parameter.name)
        except Violation as violation:
            hint = violation.hint or part_hint(self.module, parameter)
            raise ArgumentError(f"parameter {number} {violation.message}" + (f"; {hint}" if hint else "")) from None

    def missing(self) -> list[str]:
        """Returns the names of the parameters that have a leaf without a value."""
        return [p.name for k, p in enumerate(self.parameters) if any((k, leaf) not in self.values for leaf in range(len(self.shapes[k])))]

    def assumed(self) -> list[tuple[str, Domain]]:
        """Returns the name and the domain of each missing array that has a restricted domain."""
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
            raise ArgumentError(f"cannot create random values for '{name}', {shape.text_without_layout[:80]}: {reason}") from None

    def values_or_random(self, seed: int, device: int = 0, partitions: int = 1) -> tuple[Value, ...]:
        """Returns the arguments of a device, with random values for the missing ones.

        The seed of each device is `seed + device`. Devices that hold the same value, according to
        the parameter's sharding, use the seed of the first of these devices.
        """
        return tuple(
            with_leaves(p.shape, [self._value(k, leaf, seed, device, partitions) for leaf in range(len(self.shapes[k]))])
            for k, p in enumerate(self.parameters)
        )

    def _value(self, number: int, leaf: int, seed: int, device: int, partitions: int) -> Any:
        if (number, leaf) in self.values:
            return self.values[number, leaf]
        if self._is_whole is None:
            self._is_whole = is_whole(self.module)
        holder = first_holder(self.parameters[number], leaf, device, partitions, whole=self._is_whole)
        drawn = self._drawn.get((number, leaf, holder))
        if drawn is None:
            drawn = self._drawn[number, leaf, holder] = self._random(number, leaf, self.shapes[number][leaf], seed + holder)
        return drawn


def _is_raw(array: Array, element: NumberType) -> bool:
    """Returns whether an array contains the raw bytes of a type that NumPy does not know."""
    return array.dtype.kind == "V" and array.dtype.names is None and array.dtype.itemsize == element.held.itemsize


def _enumerated(names: list[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown}, and {len(names) - 8} more"


def _read_literal(name: str, shape: Shape, text: str) -> Array:
    if not shape.is_array:
        raise ArgumentError(f"'{name}' is {shape.text_without_layout}, which has no literals")
    try:
        # A number without braces applies to every element. XLA would pad such a literal with zeros.
        is_scalar = bool(shape.dimensions) and not text.lstrip().startswith("{")
        literal = parse_literal(shape.with_dimensions(()) if is_scalar else shape, text)
    except Violation as violation:
        hint = "" if text.startswith("{") else f"; the name of a file must end with .npy, and the other possible values are {', '.join(ELIDED_FILLS)}"
        message = f"'{name}' takes {shape.text_without_layout}, but '{text[:40]}' is not a literal of that shape: {violation.message}{hint}"
        raise ArgumentError(message) from None
    if literal.elided:
        raise ArgumentError(f"the literal for '{name}' must not elide values with {{...}}")
    array = literal_array(literal)
    return np.broadcast_to(array, shape.dimensions) if is_scalar else array


# ---- files -------------------------------------------------------------------------------------


# The two functions below open files themselves, since NumPy does not close files that it cannot
# read. For damaged files, NumPy raises undocumented exceptions: errors from zipfile, zlib, struct,
# and Python's tokenizer, because headers are Python expressions.


def _read_npy(path: str) -> Array:
    try:
        with Path(path).open("rb") as file:
            array = np.load(file, allow_pickle=False)
    except Exception as error:
        raise InputError(f"cannot read '{path}': {_reason(error)}") from error
    if not isinstance(array, np.ndarray):
        raise InputError(f"cannot read '{path}': it contains several arrays; pass it with --inputs")
    return array


def read_npz(path: str) -> dict[str, Array]:
    """Returns the arrays of an .npz file by name. Raises HlotoolError if the file is unreadable."""
    try:
        with Path(path).open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise InputError(f"cannot read '{path}': it contains one array; pass it with --input NAME={path}")
            with archive:
                _check_size(archive.zip, path)
                return {name: archive[name] for name in archive.files}
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"cannot read '{path}': {_reason(error)}") from error


def _check_size(archive: ZipFile, path: str) -> None:
    """Raises InputError if the arrays of an archive do not fit into memory.

    This is checked before reading, because an archive may be compressed by a factor of a thousand.
    """
    size, limit = sum(member.file_size for member in archive.infolist()), default_limit()
    if limit is not None and size > limit:
        raise InputError(f"cannot read '{path}': its arrays take {format_bytes(size)}, but only {format_bytes(limit)} of memory is available")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if "allow_pickle" in str(error):
        return "it is not an .npy or .npz file, or it contains Python objects, which are not loaded"
    return str(error) or type(error).__name__


def npz_bytes(value: Value, shape: Shape, devices: int = 1) -> bytes:
    """Returns the bytes of an .npz file with the arrays of a result, named as in `output_names`.

    Tokens are left out.
    """
    pairs: Iterable[tuple[tuple[str, Shape], Any]] = zip(output_names(shape, devices), leaves(value), strict=True)
    return npz_of({name: leaf for (name, _), leaf in pairs if isinstance(leaf, np.ndarray)})


def npz_of(arrays: dict[str, Array]) -> bytes:
    """Returns the bytes of an .npz file with these arrays."""
    buffer = BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: _storable(array) for name, array in arrays.items()})
    return buffer.getvalue()


def _storable(array: Array) -> Array:
    """Returns the array, or its raw bytes if the type is not one of NumPy's own.

    For example, NumPy writes f8e5m2 under a type name that it cannot read back.
    """
    return array if array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}")
