"""The table of programs: functions of arrays, each with its own generator of arguments."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["PROGRAMS", "Draw", "Program", "program"]


class Draw:
    """A source of small random arrays that do not depend on other programs."""

    def __init__(self, name: str) -> None:
        self.generator = np.random.default_rng(zlib.crc32(name.encode()))

    def normal(self, *sizes: int, scale: float = 1.0, dtype: Any = np.float32) -> np.ndarray:
        return (self.generator.standard_normal(sizes) * scale).astype(dtype)

    def uniform(self, low: float, high: float, *sizes: int, dtype: Any = np.float32) -> np.ndarray:
        return self.generator.uniform(low, high, sizes).astype(dtype)

    def below(self, limit: int, *sizes: int, dtype: Any = np.int32) -> np.ndarray:
        return self.generator.integers(0, limit, sizes).astype(dtype)

    def between(self, low: int, high: int, *sizes: int, dtype: Any = np.int32) -> np.ndarray:
        return self.generator.integers(low, high, sizes, dtype=dtype)

    def complex(self, *sizes: int, dtype: Any = np.complex64) -> np.ndarray:
        return (self.generator.standard_normal(sizes) + 1j * self.generator.standard_normal(sizes)).astype(dtype)

    def key(self) -> np.ndarray:
        """Returns a threefry key in JAX's representation."""
        return self.generator.integers(0, 2**32, 2, dtype=np.uint32)


@dataclass(frozen=True)
class Program:
    """A function, a generator of its arguments, its use of 64-bit types, and its device count."""

    function: Callable[..., Any]
    arguments: Callable[[Draw], tuple[Any, ...]]
    wide: bool
    devices: int


PROGRAMS: dict[str, Program] = {}
"""Programs by name; their files have the same names."""


def program(
    arguments: Callable[[Draw], tuple[Any, ...]], *, wide: bool = False, devices: int = 1
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function under its name.

    On several devices, each argument is one array for all devices, and the function partitions it.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        assert function.__name__ not in PROGRAMS
        PROGRAMS[function.__name__] = Program(function, arguments, wide, devices)
        return function

    return register
