"""Compiles functions in generated source with Numba, if it is installed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

__all__ = ["NativeSource", "Step", "compile_native", "is_installed"]

Step = Callable[..., tuple[Any, ...]]


class NativeSource(NamedTuple):
    """The source of a function `loop`, and the objects that it refers to."""

    text: str
    namespace: dict[str, Any]


@cache
def is_installed() -> bool:
    """Returns whether Numba is installed; it may still be unable to compile."""
    return find_spec("numba") is not None


def _numba() -> Any:
    """Returns Numba, imported without the settings file of the working directory.

    The file is not trusted, since the directory may come from anywhere. Raises any error that
    importing Numba raises.
    """
    if sys.modules.get("numba") is not None:
        return import_module("numba")
    # Numba reads the settings file if it can import yaml, and warns otherwise. It looks for the
    # file again later, so the name of the file is removed below.
    yaml = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            numba = import_module("numba")
    finally:
        if yaml is None:
            del sys.modules["yaml"]
        else:
            sys.modules["yaml"] = yaml
    numba.core.config._config_fname = ""
    return numba


def compile_native(source: NativeSource, arguments: Sequence[Any]) -> Step | None:
    """Returns the function in machine code, compiled for the types of these arguments.

    Returns None if Numba cannot be imported, or if it cannot compile the function.
    """
    try:
        numba = _numba()
    except Exception:
        # Numba is not installed, or was built for another version of NumPy. In the latter case, its
        # modules raise many types of errors.
        return None
    # Numba's 64-bit integers wrap automatically.
    namespace = {**source.namespace, "int64": numba.int64, "wrap": numba.njit(lambda number: number)}
    # Safe to execute: the source consists of names and numbers that the writer generates (see the
    # docstring of its module).
    exec(compile(source.text, "<loop>", "exec"), namespace)
    step = numba.njit(error_model="numpy")(namespace["loop"])
    try:
        step.compile(tuple(map(numba.typeof, arguments)))
    except Exception:
        # In addition to its own errors, Numba may exceed the recursion limit in long functions, and
        # LLVM's errors are plain Python exceptions.
        return None
    result: Step = step
    return result
