"""Finds the first version of a module whose results differ from those of the first version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hlotool.differ.values.array_comparison import DEFAULT_TOLERANCES, Tolerances
from hlotool.differ.values.causes import DEFAULT_OPTIONS
from hlotool.differ.values.runs import Inputs, NotComparable, ResultDifference, Results, compare_results, is_part_of, sharding_of
from hlotool.differ.values.sensitivity import Precision, absolute_tolerances, coarsest_unit, precision_of
from hlotool.errors import HlotoolError
from hlotool.interp.arrays.values import Value
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.record import Record, replace
from hlotool.shapes.sharding import Sharding

__all__ = ["Culprit", "LeftOut", "ResultSearch", "Rounding", "SearchOutcome"]


class Culprit(Record):
    """The first version whose results differ.

    `good` and `bad` are the numbers of the last version with the same results, and of the first
    one with other results; versions between them could not be compared.
    """

    good: int
    bad: int
    difference: ResultDifference


class Rounding(Record):
    """A version that rounds at other places than the one before, so that the results changed."""

    number: int
    difference: ResultDifference


class LeftOut(Record):
    """A version that could not be compared, and the reason."""

    number: int
    reason: str


class SearchOutcome(Record):
    """The outcome of a search: the culprit, if there is one, and what was compared.

    `compared` lists the numbers of all versions that were run, and `roundings` the versions whose
    results differ only since they round differently.
    """

    culprit: Culprit | None
    compared: list[int]
    roundings: list[Rounding]
    left_out: list[LeftOut]


class ResultSearch:
    """A search among versions of a module, all of which are run on the same inputs.

    `module_of` returns a version by its number; a version for which it raises HlotoolError is left
    out. `advance` is called before a version is read and run, and may end the search by raising an
    exception. Versions that compute with the same float types are compared with the first of them.
    Where the float types change, the results may differ by rounding errors of the coarser type.
    """

    def __init__(
        self,
        count: int,
        module_of: Callable[[int], Module],
        *,
        tolerances: Tolerances = DEFAULT_TOLERANCES,
        options: RunOptions = DEFAULT_OPTIONS,
        advance: Callable[[int], None] = lambda number: None,
    ) -> None:
        self.count = count
        self.module_of = module_of
        self.tolerances = tolerances
        self.options = options
        self.advance = advance
        self.left_out: dict[int, LeftOut] = {}
        self.compared: set[int] = set()
        self.roundings: list[Rounding] = []
        # The differences from the current base.
        self.differences: dict[int, ResultDifference | None] = {}
        self.shardings: dict[int, Sharding | None] = {}
        self.precisions: dict[int, Precision | None] = {}

    def run(self, seed: int = 0, *, all_steps: bool = False) -> SearchOutcome:
        """Returns the first version whose results differ on random inputs.

        Unless `all_steps` is set, assumes that a difference lasts until the float types change, and
        searches by bisection. May be called for several seeds.
        """
        self.seed = seed
        self.compared.clear()
        self.roundings = []
        first = next(self._usable(range(self.count), self._start), None)
        culprit = None if first is None else self._culprit(first, self._scan if all_steps else self._bisect)
        return SearchOutcome(culprit, sorted(self.compared), self.roundings, [self.left_out[number] for number in sorted(self.left_out)])

    def _culprit(self, base: int, search: Callable[[int, int], tuple[int, int | None]]) -> Culprit | None:
        while True:
            end = self._end_of_precision(base)
            good, bad = search(base, end)
            if bad is None:
                bad = next(self._usable(range(end, self.count), self._compare), None)
                if bad is None:
                    return None
            difference = self.differences[bad]
            if difference is not None:
                before, after = self._precision(good), self._precision(bad)
                if before is None or after is None or before.rounds_like(after) or self._differs_roughly(bad):
                    return Culprit(good, bad, difference)
                self.roundings.append(Rounding(bad, difference))
            self._rebase(bad)
            base = bad

    def _end_of_precision(self, base: int) -> int:
        """Returns the number after the last version that computes with the same float types."""
        types = {None, self._types(base)}
        return next((number for number in range(base, self.count) if self._types(number) not in types), self.count)

    def _types(self, number: int) -> frozenset[str] | None:
        precision = self._precision(number)
        return None if precision is None else precision.types

    def _precision(self, number: int) -> Precision | None:
        """Returns the float types of a version, or None if it cannot be read."""
        if number not in self.precisions:
            try:
                self.precisions[number] = precision_of(self.module_of(number))
            except HlotoolError:
                self.precisions[number] = None
        return self.precisions[number]

    # ---- searching ------------------------------------------------------------------------------

    def _scan(self, base: int, end: int) -> tuple[int, int | None]:
        good = base
        for number in self._usable(range(base + 1, end), self._compare):
            if self.differences[number]:
                return good, number
            good = number
        return good, None

    def _bisect(self, base: int, end: int) -> tuple[int, int | None]:
        """Returns the last version with the same results, and the first one with other results."""
        bad = next(self._usable(range(end - 1, base, -1), self._compare), None)
        if bad is None or not self.differences[bad]:
            return base if bad is None else bad, None
        good = base
        while True:
            # The middle first, then later ones, then earlier ones.
            middle = (good + bad + 1) // 2
            candidates = [*range(middle, bad), *range(middle - 1, good, -1)]
            number = next(self._usable(candidates, self._compare), None)
            if number is None:
                return good, bad
            if self.differences[number]:
                bad = number
            else:
                good = number

    def _usable(self, numbers: Sequence[int], use: Callable[[int], None]) -> Iterator[int]:
        """Yields the numbers of versions that can be run; records why others cannot."""
        for number in numbers:
            if number in self.left_out:
                continue
            self.advance(number)
            try:
                use(number)
            except HlotoolError as error:
                self.left_out[number] = LeftOut(number, str(error))
            else:
                self.compared.add(number)
                yield number

    # ---- comparing ------------------------------------------------------------------------------

    def _start(self, number: int) -> None:
        """Runs the first version, whose arguments all versions get."""
        self.inputs = Inputs(self.module_of(number), self.seed)
        self._rebase(number)

    def _rebase(self, number: int) -> None:
        """Makes a version the one that the others are compared with."""
        module = self.module_of(number)
        self.expected = self._with_tolerances(self._results(number, module), precision_of(module).unit)
        self.differences = {number: None}

    def _with_tolerances(self, results: Results, unit: float) -> Results:
        arguments = self.arguments(results.module)
        absolute = absolute_tolerances(self.inputs, results.module, arguments, results.values, unit, self.options)
        return replace(results, absolute=tuple(absolute))

    def _compare(self, number: int) -> None:
        if number not in self.differences:
            actual = self._results(number, self.module_of(number))
            self.differences[number] = compare_results(self.expected, actual, self.tolerances)

    def _differs_roughly(self, number: int) -> bool:
        """Returns whether the results differ by more than rounding to the coarsest type explains."""
        module = self.module_of(number)
        expected = self._with_tolerances(self.expected, max(coarsest_unit(self.expected.module), coarsest_unit(module)))
        return compare_results(expected, self._results(number, module), self.tolerances) is not None

    def arguments(self, module: Module) -> list[Sequence[Value]]:
        """Returns the arguments of a version on each device."""
        wanted, given = len(module.entry.parameters), len(self.inputs.module.entry.parameters)
        if wanted != given:
            raise NotComparable(f"it has {wanted} parameters, the first module has {given}")
        return self.inputs.for_module(module, lambda parameter: parameter.parameter_number)

    def _results(self, number: int, module: Module) -> Results:
        values = self.inputs.evaluate(module, self.arguments(module), self.options)
        return Results(module, values, self._result_sharding(number, module))

    def _result_sharding(self, number: int, module: Module) -> Sharding | None:
        """Returns the sharding of the results: the last one that a version up to this one has."""
        self.shardings[number] = sharding_of(module.entry.root)
        if not is_part_of(module, self.inputs.module):
            return None
        while number >= 0:
            if number not in self.shardings:
                try:
                    self.shardings[number] = sharding_of(self.module_of(number).entry.root)
                except HlotoolError:
                    self.shardings[number] = None
            sharding = self.shardings[number]
            if sharding is not None:
                return sharding
            number -= 1
        return None
