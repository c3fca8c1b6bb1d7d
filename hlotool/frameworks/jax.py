"""Conversion of functions that JAX can trace to modules."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from hlotool.errors import HlotoolError
from hlotool.ir.model import Module
from hlotool.literals.literal import ELIDED
from hlotool.text.parse.parser import parse

__all__ = ["from_jax"]


def from_jax(function: Callable[..., Any], /, *arguments: Any, optimized: bool = False, **keywords: Any) -> Module:
    """Returns the module to which JAX lowers a function.

    Arguments may be arrays or `jax.ShapeDtypeStruct`s. If `optimized` is set, returns the module
    after XLA's passes for the default backend. The function may already be a result of `jax.jit`,
    for example with static arguments or shardings. Raises HlotoolError if JAX is required but
    cannot be imported. Errors that occur while JAX traces the function are not caught.
    """
    staged = function if hasattr(function, "lower") else _jax().jit(function)
    lowered = staged.lower(*arguments, **keywords)
    text = _optimized_text(lowered.compile()) if optimized else lowered.as_text(dialect="hlo", debug_info=True)
    return parse(text, filename=f"<{getattr(function, '__name__', 'function')}>")


def _optimized_text(compiled: Any) -> str:
    """Returns the HLO text of a compiled function, with the values of all constants.

    The text that JAX prints elides constants with more than ten elements.
    """
    text: str = compiled.as_text()
    if ELIDED not in text:
        return text
    try:
        modules = compiled.runtime_executable().hlo_modules()
        # JAX does not export HloPrintOptions, and the name of its module has changed between
        # versions.
        options = sys.modules[type(modules[0]).__module__].HloPrintOptions()
        options.print_large_constants = True
        return "\n\n".join([module.to_string(options) for module in modules])
    except (AttributeError, IndexError, KeyError, NotImplementedError, TypeError) as error:
        message = f"large constants of the module have no values, since this version of JAX does not print them ({type(error).__name__}: {error})"
        warnings.warn(message, stacklevel=3)
        return text


def _jax() -> Any:
    try:
        return import_module("jax")
    except ImportError as error:
        raise HlotoolError(f"from_jax requires JAX, which cannot be imported ({error}); install it: pip install jax") from error
