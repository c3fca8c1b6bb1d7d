"""Random valid modules, for property tests in this project and in others."""

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
    "chains": "chains of operations; some chains repeat a single operation",
    "effects": "infeed, outfeed, transfers to and from the host, and custom-calls with effects, in a fixed order",
    "control": "control dependencies, including those of dead instructions",
    "schedule": "a schedule in which the instructions of each computation are in random order",
    "dynamic": "dimensions with a size known only at run time",
    "special": "constants at the limits of their types: zeros of both signs, subnormal numbers, infinities and NaNs with payloads",
    "reducers": "reducers that are not commutative or not associative",
    "shared": "equal arguments and branches, and computations that are called several times",
    "unused": "dead instructions, parameters, results and loop state",
    "texts": "some constants stored as text, as the parser stores them",
    "layouts": "layouts other than row-major",
    "annotations": "metadata, shardings, frontend attributes and backend configurations",
    "aliases": "results that share memory with parameters",
}
"""Optional features of random modules."""

_MAX_RESULTS = 8
_WEIGHT = 3
"""Weight of the recipes of a requested feature; each feature has only a few recipes."""


def random_module(seed: int, *, size: int = 20, types: Sequence[str] = TYPES, communicates: bool = False, features: Collection[str] = ()) -> Module:
    """Returns a random module that is valid for the verifier and for XLA.

    In one version of hlotool, the same arguments always produce the same module. `size` is the
    approximate number of instructions of the entry computation, which calls other computations for
    loops, branches, reductions and so on. Operations that accept any element type use one of
    `types`; some operations require other types. `features` lists names in FEATURES; `communicates`
    adds the feature "effects".

    `hlotool.evaluate` runs the module; loops end after a few iterations. A module with effects
    requires a host that provides values of shape `f32[2]` for infeeds and receives, and that
    implements the custom-calls `test.effect` and `test.same`, which return their operand.

    Raises HlotoolError for an unknown feature.

    >>> module = random_module(7)
    >>> module.name, module.entry.name
    ('random_7', 'random_7')
    >>> random_module(7, features=["schedule"]).is_scheduled
    True
    """
    wanted = {*features, *(("effects",) if communicates else ())}
    for name in sorted(wanted - FEATURES.keys()):
        meant = nearest(name, FEATURES)
        hint = f"did you mean '{meant}'?" if meant else f"the features are {', '.join(FEATURES)}"
        raise HlotoolError(f"random modules have no feature '{name}'; {hint}")
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
    # Unused values become results, so that there is little dead code.
    read = {operand for x in values for operand in x.instruction.operands}
    unread = [x for x in values if x.instruction not in read][-_MAX_RESULTS:] or values[-1:]
    if "unused" in wanted:
        unread = generator.random.sample(unread, generator.random.randint(1, len(unread)))
    module = scope.build(unread[0] if len(unread) == 1 else scope.tuple(unread))
    for feature in FEATURES:
        if feature in wanted and feature in EDITS:
            EDITS[feature](module, generator.random)
    return module


def modules(*, size: int = 20, types: Sequence[str] = TYPES, communicates: bool = False, features: Collection[str] = ()) -> Any:
    """Returns a Hypothesis strategy for random modules of up to the given size.

    If a test fails, Hypothesis tries to find a smaller module for which it also fails.

    Raises HlotoolError if Hypothesis is not installed.
    """
    try:
        strategies = import_module("hypothesis.strategies")
    except ImportError as error:
        raise HlotoolError(f"modules() requires Hypothesis, which cannot be imported ({error}); install it: pip install hypothesis") from error

    def draw(seed: int, length: int) -> Module:
        return random_module(seed, size=length, types=types, communicates=communicates, features=features)

    return strategies.builds(draw, strategies.integers(0, 2**32 - 1), strategies.integers(1, max(1, size)))
