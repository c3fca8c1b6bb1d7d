"""Random valid modules, for the property tests of other projects as well as of this one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from hlotool.errors import HlotoolError
from hlotool.ir.model import Module
from hlotool.testing.generator import TYPES, Generator
from hlotool.testing.recipes import COMMUNICATION, RECIPES

__all__ = ["modules", "random_module"]

_MOST_RESULTS = 4


def random_module(seed: int, *, size: int = 20, types: Sequence[str] = TYPES, communicates: bool = False) -> Module:
    """A random module that is valid for the verifier and for XLA, the same for the same arguments and version of hlotool.

    `size` is about how many instructions the entry computation has; others are called for loops, branches, reductions and so on. Where any
    element type will do, it is one of `types`; some operations need others. Without communication, which needs other devices or a host,
    `hlotool.evaluate` runs it; loops end after a few iterations.

    >>> module = random_module(7)
    >>> module.name, module.entry.name
    ('random_7', 'random_7')
    """
    generator = Generator(seed, types)
    recipes = [*RECIPES, *(COMMUNICATION if communicates else ())]
    scope = generator.builder
    for _ in range(max(1, size)):
        generator.add(generator.choice(recipes))
    values = generator.values or [generator.scalar("f32")]
    # What nothing reads, so that little is dead.
    read = {operand for x in values for operand in x.instruction.operands}
    unread = [x for x in values if x.instruction not in read][-_MOST_RESULTS:] or values[-1:]
    return scope.build(unread[0] if len(unread) == 1 else scope.tuple(unread))


def modules(*, size: int = 20, types: Sequence[str] = TYPES, communicates: bool = False) -> Any:
    """A Hypothesis strategy for random modules, of up to this size: smaller ones are tried first when a test fails.

    Raises HlotoolError if Hypothesis is not installed.
    """
    try:
        strategies = import_module("hypothesis.strategies")
    except ImportError as error:
        raise HlotoolError(f"modules needs Hypothesis, which cannot be imported ({error}); install it: pip install hypothesis") from error

    def drawn(seed: int, least: int) -> Module:
        return random_module(seed, size=least, types=types, communicates=communicates)

    return strategies.builds(drawn, strategies.integers(0, 2**32 - 1), strategies.integers(1, max(1, size)))
