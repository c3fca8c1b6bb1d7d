"""Runs versions of a program on the same inputs, whether they are partitioned or not.

Before partitioning, a module computes with whole arrays. Afterwards, each device computes with its
shards. To compare the results, arguments are divided as the shardings of the parameters say, and
each shard of a result is compared with its region of the whole result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from hlotool.differ.values.array_comparison import DEFAULT_TOLERANCES, Tolerances, compare_arrays, type_text
from hlotool.errors import HlotoolError
from hlotool.interp.arguments.domains import domains
from hlotool.interp.arguments.inputs import random_argument, random_arguments
from hlotool.interp.arguments.shards import Division, divisions_of, without_padding
from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.values import Value, leaves, with_leaves
from hlotool.interp.engine.observers import Observer
from hlotool.interp.engine.placement import is_device_independent, is_whole
from hlotool.interp.evaluator import evaluate_replicas
from hlotool.interp.reports.comparison import Comparison
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Instruction, Module
from hlotool.record import Record, replace
from hlotool.shapes.shape import Shape
from hlotool.shapes.sharding import Sharding

__all__ = ["Inputs", "NotComparable", "ResultDifference", "Results", "compare_results", "devices_of", "is_part_of", "partitions_of", "sharding_of"]


# Seeds of devices are far apart, so that those of several runs do not overlap.
_DEVICE_SEED = 7919


class NotComparable(HlotoolError):
    """Raised if the results of two modules cannot be compared."""

    exit_code = 2


def partitions_of(module: Module, whole: Module | None = None) -> int:
    """Returns the number of partitions to run; 1 if all partitions compute the same values.

    `whole` is a version of the module that computes with whole arrays, if there is one.
    """
    partitions = max(1, module.num_partitions or 1)
    if partitions == 1 or (whole is not None and is_part_of(module, whole)):
        return partitions
    return 1 if is_whole(module) and is_device_independent(module) else partitions


def devices_of(module: Module) -> int:
    """Returns the number of devices: one per replica if all partitions compute the same values."""
    return max(1, module.replica_count or 1) * partitions_of(module)


def is_divided(module: Module) -> bool:
    """Returns whether the devices of a module compute with different parts of arrays."""
    return partitions_of(module) > 1 and not is_whole(module)


def is_part_of(module: Module, whole: Module) -> bool:
    """Returns whether arguments or results of a module have other dimensions than those of `whole`."""
    pairs = zip(module.entry.parameters, whole.entry.parameters, strict=False)
    shapes = [(module.entry.root.shape, whole.entry.root.shape), *((a.shape, b.shape) for a, b in pairs)]
    return any([leaf.dimensions for leaf in a.leaves()] != [leaf.dimensions for leaf in b.leaves()] for a, b in shapes)


def sharding_of(x: Instruction) -> Sharding | None:
    """Returns the sharding of an instruction, or None if it has none."""
    sharding = x.attributes.get("sharding")
    return sharding if isinstance(sharding, Sharding) else None


# ---- arguments ---------------------------------------------------------------------------------


class Inputs:
    """Random arguments of a module, and the arguments with the same values for other versions of it.

    For a module that computes with whole arrays, there is a tuple of values for each replica; for a
    partitioned module, there is one for each device.
    """

    def __init__(self, module: Module, seed: int) -> None:
        self.module = module
        self.seed = seed
        self.is_divided = is_divided(module)
        self.partitions = partitions_of(module)
        self.replicas = max(1, module.replica_count or 1)
        self._values = [self._random(k) for k in range(self.replicas * (self.partitions if self.is_divided else 1))]

    def _random(self, number: int) -> tuple[Value, ...]:
        return random_arguments(self.module, self.seed + _DEVICE_SEED * number)

    def partitions_of(self, module: Module) -> int:
        """Returns the number of partitions on which to run a version of the module."""
        return partitions_of(module, None if self.is_divided else self.module)

    def evaluate(self, module: Module, arguments: Sequence[Sequence[Value]], options: RunOptions, observers: Sequence[Observer] = ()) -> list[Value]:
        """Returns the result of a version on each device; raises EvaluationError."""
        return evaluate_replicas(module, arguments, num_partitions=self.partitions_of(module), options=options, observers=observers)

    def for_module(self, module: Module, source: Callable[[Instruction], int | None]) -> list[Sequence[Value]]:
        """Returns the arguments of each device that runs a version of the module.

        `source` returns the number of the parameter whose value a parameter gets, or None if it
        gets a random value of its own. Raises NotComparable if an array has to be divided, and no
        sharding says how.
        """
        partitions = self.partitions_of(module)
        if self.is_divided and partitions != self.partitions:
            raise NotComparable(f"one module is for {self.partitions} partitions, the other one for {partitions}")
        lists: list[list[Value]] = [[] for _ in range(self.replicas * partitions)]
        for parameter in module.entry.parameters:
            number = source(parameter)
            for replica in range(self.replicas):
                devices = range(replica * partitions, (replica + 1) * partitions)
                values = self._parts(module, parameter, number, replica, partitions) if number is not None else None
                # Generating arguments takes long, and most parameters are the same in all versions.
                is_same = number is not None and self.module.entry.parameters[number].shape == parameter.shape
                own = None if is_same else self._own(module, parameter, replica)
                for k, device in enumerate(devices):
                    lists[device].append(own if values is None else values[k] if is_same else _convert(parameter.shape, values[k], own))
        return list(lists)

    def _own(self, module: Module, parameter: Instruction, replica: int) -> Value:
        """Returns a random value for a parameter of another version."""
        number = parameter.parameter_number or 0
        return random_argument(parameter.shape, self.seed + _DEVICE_SEED * replica, number, domains(module))

    def _parts(self, module: Module, parameter: Instruction, number: int, replica: int, partitions: int) -> list[Value]:
        """Returns the value of a parameter on each partition of a replica."""
        if self.is_divided:
            return [self._values[replica * partitions + k][number] for k in range(partitions)]
        value, whole = self._values[replica][number], self.module.entry.parameters[number]
        if partitions == 1 or whole.shape.leaf_count != parameter.shape.leaf_count:
            return [value] * partitions
        divisions = _known_divisions((parameter, whole), parameter.shape, partitions)
        parts: list[list[Any]] = [[] for _ in range(partitions)]
        for leaf, array, division in zip(parameter.shape.leaves(), leaves(value), divisions, strict=True):
            shards = _shards(array, leaf, division, partitions)
            if shards is None:
                raise NotComparable(f"parameter '{parameter.name}' is a part of {list(array.shape)}, but no sharding says which")
            for k, shard in enumerate(shards):
                parts[k].append(shard)
        return [with_leaves(parameter.shape, part) for part in parts]


def _known_divisions(sources: Sequence[Instruction], shape: Shape, partitions: int) -> list[Division | None]:
    """Returns the division of each leaf by the first of the instructions that has a sharding."""
    found: list[Division | None] = [None] * shape.leaf_count
    for x in sources:
        found = [a or b for a, b in zip(found, divisions_of(sharding_of(x), shape, partitions), strict=True)]
    return found


def _shards(array: Any, leaf: Shape, division: Division | None, partitions: int) -> list[Any] | None:
    if not isinstance(array, np.ndarray):
        return [array] * partitions
    if division is not None and division.shard_dimensions(array.shape) == leaf.dimensions:
        return division.split(array)
    return [array] * partitions if array.shape == leaf.dimensions else None


def _convert(shape: Shape, value: Value, other: Value) -> Value:
    """Converts a value to the element types of `shape`; returns `other` if dimensions differ."""
    wanted, given = [*leaves(other)], [*leaves(value)]
    if len(wanted) != len(given) or any(getattr(a, "shape", None) != getattr(b, "shape", None) for a, b in zip(wanted, given, strict=True)):
        return other
    with np.errstate(all="ignore"):
        return with_leaves(shape, [b.astype(a.dtype, copy=False) if isinstance(a, np.ndarray) else b for a, b in zip(wanted, given, strict=True)])


# ---- results -----------------------------------------------------------------------------------


class Results(Record):
    """The results of a module on each device; `sharding` is that of the result, if it is known.

    `absolute` lists the absolute tolerance of each leaf, if it is not the default of its type.
    """

    module: Module
    values: list[Value]
    sharding: Sharding | None = None
    absolute: tuple[float, ...] | None = None


class ResultDifference(Record):
    """A difference between two results: the device, the leaf of the result, and the elements."""

    device: int | None
    leaf: int
    comparison: Comparison


def compare_results(expected: Results, actual: Results, tolerances: Tolerances = DEFAULT_TOLERANCES) -> ResultDifference | None:
    """Returns the first difference between the results of two modules, or None if they agree.

    If only one of the modules is partitioned, its shards are compared with regions of the whole
    arrays of the other one, which are then the first side of the comparison. Raises NotComparable
    if the results have different structures, or if nothing says which region a shard is.
    """
    if len(expected.values) > len(actual.values):
        return compare_results(actual, expected, tolerances)
    replicas = max(1, expected.module.replica_count or 1)
    if len(expected.values) % replicas or len(actual.values) % replicas:
        raise NotComparable("the modules have different numbers of replicas")
    here, there = len(expected.values) // replicas, len(actual.values) // replicas
    for replica in range(replicas):
        ours = expected.values[replica * here : (replica + 1) * here]
        theirs = actual.values[replica * there : (replica + 1) * there]
        found = _compare_replica(ours, theirs, actual, _tolerances_of_leaves(expected, actual, tolerances))
        if found is not None:
            return found if found.device is None else replace(found, device=replica * there + found.device)
    return None


def _tolerances_of_leaves(expected: Results, actual: Results, tolerances: Tolerances) -> list[Tolerances]:
    absolute = expected.absolute or actual.absolute
    count = actual.module.entry.root.shape.leaf_count
    if absolute is None or tolerances.absolute is not None or len(absolute) != count:
        return [tolerances] * count
    return [replace(tolerances, absolute=limit) for limit in absolute]


def _compare_replica(ours: list[Value], theirs: list[Value], actual: Results, limits: Sequence[Tolerances]) -> ResultDifference | None:
    lists = [[*leaves(value)] for value in ours], [[*leaves(value)] for value in theirs]
    if len(lists[0][0]) != len(lists[1][0]):
        raise NotComparable(f"one module has {len(lists[0][0])} results, the other one {len(lists[1][0])}")
    partitions = len(theirs)
    shape = actual.module.entry.root.shape
    divisions = divisions_of(actual.sharding, shape, partitions)
    for leaf, (division, tolerances) in enumerate(zip(divisions, limits, strict=True)):
        wholes = [parts[leaf] for parts in lists[0]]
        shards = [parts[leaf] for parts in lists[1]]
        if not isinstance(wholes[0], np.ndarray):
            continue
        if len(wholes) == partitions and wholes[0].shape == shards[0].shape:
            pairs = [*zip(wholes, shards, strict=True)]
        else:
            pairs = _regions(wholes[0], shards, division, leaf, tolerances)
        for device, (a, b) in enumerate(pairs):
            comparison = compare_arrays(a, b, tolerances)
            if comparison is not None:
                return ResultDifference(device if len(pairs) > 1 else None, leaf, comparison)
    return None


def _regions(whole: Array, shards: list[Array], division: Division | None, leaf: int, tolerances: Tolerances) -> list[tuple[Array, Array]]:
    """Returns each shard with the region of the whole array that it should equal."""
    if division is None or division.shard_dimensions(whole.shape) != shards[0].shape:
        if whole.shape == shards[0].shape:
            return [(whole, shard) for shard in shards]
        division = _search_division(whole, shards, tolerances)
        if division is None:
            shapes = f"{type_text(whole)} in one module, and {type_text(shards[0])} on each device of the other"
            raise NotComparable(f"result {leaf} is {shapes}; no sharding says which part")
    if division.has_terms:
        return [(whole, division.join(shards, whole.shape))]
    pairs = []
    for partition, shard in enumerate(shards):
        region = division.region(partition, whole.shape)
        if region is not None:
            pairs.append((whole[region], shard[without_padding(region)]))
    return pairs


def _search_division(whole: Array, shards: list[Array], tolerances: Tolerances) -> Division | None:
    """Returns a division in which each shard has the values of its tile, or None if there is none."""
    if whole.ndim != shards[0].ndim or 0 in shards[0].shape:
        return None
    counts = tuple(-(-n // size) for n, size in zip(whole.shape, shards[0].shape, strict=True))
    positions = [*product(*map(range, counts))]
    tiles = []
    for shard in shards:
        for position in positions:
            region = Division(counts, (position,)).region(0, whole.shape)
            assert region is not None
            if compare_arrays(whole[region], shard[without_padding(region)], tolerances) is None:
                tiles.append(position)
                break
        else:
            return None
    return Division(counts, tuple(tiles)) if {*tiles} == {*positions} else None
