"""Random valid modules, for the property tests of other projects as well as of this one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import Any

from hlotool.errors import HlotoolError, nearest
from hlotool.ir.model import Module
from hlotool.testing.control_recipes import CONTROL
from hlotool.testing.edits import EDITS
from hlotool.testing.generator import TYPES, Generator
from hlotool.testing.recipes import VALUES

__all__ = ["FEATURES", "modules", "random_module"]

FEATURES: Mapping[str, str] = {
    "chains": "operations that follow each other, also the same one again",
    "effects": "infeed, outfeed, transfers to and from the host, custom-calls with effects, in a fixed order",
    "control": "control dependencies, also of dead instructions",
    "schedule": "a schedule, in which computations are interleaved at random",
    "dynamic": "dimensions whose size is known only when the module runs",
    "special": "constants at the limits of their types: zeros of both signs, subnormal numbers, infinities, NaNs with payloads",
    "reducers": "reducers that do not commute or associate",
    "shared": "equal arguments and branches, and computations that are called several times",
    "unused": "dead instructions, parameters, results and loop state",
    "texts": "some constants held as text, as the parser makes them",
    "layouts": "layouts other than row-major",
    "annotations": "metadata, shardings, frontend attributes and configurations of a backend",
    "aliases": "results that share memory with parameters",
}
"""What random modules may have besides the usual."""

_MOST_RESULTS = 8
_WEIGHT = 3
"""Weight of the recipes of a feature that is wanted, of which there are few."""


def random_module(seed: int, *, size: int = 20, types: Sequence[str] = TYPES, communicates: bool = False, features: Collection[str] = ()) -> Module:
    """A random module that is valid for the verifier and for XLA, the same for the same arguments and version of hlotool.

    `size` is about how many instructions the entry computation has; others are called for loops, branches, reductions and so on. Where any
    element type will do, it is one of `types`; some operations need others. `features` are names of FEATURES; `communicates` stands for the
    feature "effects". Without effects, which need a host, `hlotool.evaluate` runs the module; loops end after a few iterations. With them, an
    infeed or a reception takes `f32[2]`, and the custom-calls `test.effect` and `test.same` return their operand.

    Raises HlotoolError for an unknown feature.

    >>> module = random_module(7)
    >>> module.name, module.entry.name
    ('random_7', 'random_7')
    >>> random_module(7, features=["schedule"]).is_scheduled
    True
    """
    wanted = {*features, *(("effects",) if communicates else ())}
    for name in sorted(wanted - FEATURES.keys()):
        raise HlotoolError(f"random modules have no feature '{name}'; did you mean '{nearest(name, FEATURES)}'?")
    recipes = [
        recipe
        for book in (VALUES, CONTROL)
        for name, listed in book.items()
        if not name or name in wanted
        for recipe in (listed * _WEIGHT if name else listed)
    ]
    generator = Generator(seed, types, wanted, recipes)
    scope = generator.builder
    for _ in range(max(1, size)):
        generator.add(generator.choice(recipes))
    values = generator.values or [generator.scalar("f32")]
    # What nothing reads, so that little is dead.
    read = {operand for x in values for operand in x.instruction.operands}
    unread = [x for x in values if x.instruction not in read][-_MOST_RESULTS:] or values[-1:]
    if "unused" in wanted:
        unread = generator.random.sample(unread, generator.random.randint(1, len(unread)))
    module = scope.build(unread[0] if len(unread) == 1 else scope.tuple(unread))
    for feature in FEATURES:
        if feature in wanted and feature in EDITS:
            EDITS[feature](module, generator.random)
    return module


def modules(*, size: int = 20, types: Sequence[str] = TYPES, communicates: bool = False, features: Collection[str] = ()) -> Any:
    """A Hypothesis strategy for random modules, of up to this size: smaller ones are tried first when a test fails.

    Raises HlotoolError if Hypothesis is not installed.
    """
    try:
        strategies = import_module("hypothesis.strategies")
    except ImportError as error:
        raise HlotoolError(f"modules needs Hypothesis, which cannot be imported ({error}); install it: pip install hypothesis") from error

    def drawn(seed: int, least: int) -> Module:
        return random_module(seed, size=least, types=types, communicates=communicates, features=features)

    return strategies.builds(drawn, strategies.integers(0, 2**32 - 1), strategies.integers(1, max(1, size)))
