"""What Numba compiles: a function in generated source, if Numba is installed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

__all__ = ["NativeSource", "Step", "compiled", "is_installed"]

Step = Callable[..., tuple[Any, ...]]


class NativeSource(NamedTuple):
    """The text of a function `loop`, and the objects that it refers to."""

    text: str
    namespace: dict[str, Any]


@cache
def is_installed() -> bool:
    """Whether there is a Numba that might compile."""
    return find_spec("numba") is not None


def _numba() -> Any:
    """Numba without the settings that it reads from the working directory, which may be a folder from anywhere; raises what its import raises."""
    if sys.modules.get("numba") is not None:
        return import_module("numba")
    # It reads the file if it can import yaml, and warns otherwise; later, it looks for the file again.
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


def compiled(source: NativeSource, arguments: Sequence[Any]) -> Step | None:
    """The function in machine code, for arguments of the types of these; None where there is no Numba, or none that can compile it."""
    try:
        numba = _numba()
    except Exception:
        # It is not installed, or is made for other versions of NumPy, of which its parts notice the difference with errors of many types.
        return None
    # Its integers of 64 bits wrap by themselves.
    namespace = {**source.namespace, "int64": numba.int64, "wrapped": numba.njit(lambda number: number)}
    # The source consists of names and numbers that the writer has made up, see its documentation.
    exec(compile(source.text, "<loop>", "exec"), namespace)
    step = numba.njit(error_model="numpy")(namespace["loop"])
    try:
        step.compile(tuple(map(numba.typeof, arguments)))
    except Exception:
        # Besides errors of its own: it recurses over long functions, and LLVM's errors are plain ones of Python.
        return None
    result: Step = step
    return result
