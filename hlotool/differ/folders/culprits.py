"""Finds the first version of a module whose results differ from those of the first version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hlotool.differ.values.array_comparison import DEFAULT_TOLERANCES, Tolerances
from hlotool.differ.values.causes import DEFAULT_OPTIONS
from hlotool.differ.values.runs import Inputs, NotComparable, ResultDifference, Results, compare_results, is_part_of, sharding_of
from hlotool.errors import HlotoolError
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.record import Record
from hlotool.shapes.sharding import Sharding

__all__ = ["Culprit", "LeftOut", "ResultSearch", "SearchOutcome"]


class Culprit(Record):
    """The first version whose results differ.

    `good` and `bad` are the numbers of the last version with the same results, and of the first
    one with other results; versions between them could not be compared.
    """

    good: int
    bad: int
    difference: ResultDifference


class LeftOut(Record):
    """A version that could not be compared, and the reason."""

    number: int
    reason: str


class SearchOutcome(Record):
    """The outcome of a search: the culprit, if there is one, and what was compared.

    `first` is the number of the version that the others were compared with, or None if no version
    could be run. `compared` lists the numbers of all versions that were run.
    """

    culprit: Culprit | None
    first: int | None
    compared: list[int]
    left_out: list[LeftOut]


class ResultSearch:
    """A search among versions of a module, all of which are run on the same inputs.

    `module_of` returns a version by its number; it may raise HlotoolError.
    """

    def __init__(
        self,
        count: int,
        module_of: Callable[[int], Module],
        *,
        seed: int = 0,
        tolerances: Tolerances = DEFAULT_TOLERANCES,
        options: RunOptions = DEFAULT_OPTIONS,
        advance: Callable[[int], None] = lambda number: None,
    ) -> None:
        self.count = count
        self.module_of = module_of
        self.seed = seed
        self.tolerances = tolerances
        self.options = options
        self.advance = advance
        self.left_out: dict[int, LeftOut] = {}
        self.differences: dict[int, ResultDifference | None] = {}
        self.shardings: dict[int, Sharding | None] = {}

    def run(self, *, all_steps: bool = False) -> SearchOutcome:
        """Returns the first version whose results differ from those of the first one.

        Unless `all_steps` is set, assumes that a difference lasts until the last version, and
        searches by bisection.
        """
        first = next(self._usable(range(self.count), self._start), None)
        if first is None:
            return self._outcome(None, None)
        numbers = range(first + 1, self.count)
        if all_steps:
            bad = next((number for number in self._usable(numbers, self._compare) if self.differences[number]), None)
            good = max((number for number, difference in self.differences.items() if not difference), default=first)
        else:
            good, bad = self._bisect(first)
        difference = self.differences[bad] if bad is not None else None
        return self._outcome(first, None if bad is None or difference is None else Culprit(good, bad, difference))

    def _outcome(self, first: int | None, culprit: Culprit | None) -> SearchOutcome:
        return SearchOutcome(culprit, first, sorted(self.differences), [self.left_out[number] for number in sorted(self.left_out)])

    def _bisect(self, first: int) -> tuple[int, int | None]:
        """Returns the last version with the same results, and the first one with other results."""
        bad = next(self._usable(range(self.count - 1, first, -1), self._compare), None)
        if bad is None or not self.differences[bad]:
            return first, None
        good = first
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
            try:
                use(number)
            except HlotoolError as error:
                self.left_out[number] = LeftOut(number, str(error))
            else:
                yield number
            self.advance(number)

    def _start(self, number: int) -> None:
        """Runs the version that the others are compared with."""
        module = self.module_of(number)
        self.inputs = Inputs(module, self.seed)
        self.expected = self._results(number, module)
        self.differences[number] = None

    def _compare(self, number: int) -> None:
        if number not in self.differences:
            actual = self._results(number, self.module_of(number))
            self.differences[number] = compare_results(self.expected, actual, self.tolerances)

    def arguments(self, module: Module) -> list[Sequence[object]]:
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
