"""Hypothesis strategies for property tests: random inputs that shrink if a test fails.

Generators that need thousands of random numbers take a seed, since Hypothesis would need a second
to draw them one by one. Hypothesis then shrinks the number of instructions: with the same seed, a
shorter module is the beginning of a longer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st
from instances import Instance, random_instance
from random_texts import Style, random_text

__all__ = ["RANDOM", "SEEDS", "instances", "modules", "shortest_first"]

RANDOM: st.SearchStrategy[Random] = st.randoms(use_true_random=False)
"""A generator whose numbers Hypothesis draws and shrinks."""
SEEDS = st.integers(0, 2**32 - 1)


def modules(instructions: int, styles: Sequence[Style] = (Style(),)) -> st.SearchStrategy[str]:
    """Draws random modules, as text, with up to `instructions` instructions in the entry."""
    return st.builds(random_text, SEEDS, st.integers(1, instructions), st.sampled_from(styles))


def instances(*families: str) -> st.SearchStrategy[Instance]:
    """Draws random instances of operations, from the named families or from any family."""
    return RANDOM.map(lambda random: random_instance(random, families))


def shortest_first(texts: Sequence[str]) -> st.SearchStrategy[str]:
    """Draws one of the texts, and shrinks toward the shortest one."""
    return st.sampled_from(sorted(set(texts), key=lambda text: (len(text), text)))
