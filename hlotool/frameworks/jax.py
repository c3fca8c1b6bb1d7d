"""The module of a function that JAX can trace."""

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
    """The module that JAX makes of a function for arguments, which may be arrays or `jax.ShapeDtypeStruct`s; with `optimized`, after XLA's passes
    for the default backend.

    The function may be one that `jax.jit` has returned already, with static arguments or shardings of its own. Raises HlotoolError if JAX is needed
    and not installed, and what tracing the function raises.
    """
    staged = function if hasattr(function, "lower") else _jax().jit(function)
    lowered = staged.lower(*arguments, **keywords)
    text = _optimized_text(lowered.compile()) if optimized else lowered.as_text(dialect="hlo", debug_info=True)
    return parse(text, filename=f"<{getattr(function, '__name__', 'function')}>")


def _optimized_text(compiled: Any) -> str:
    """The text of a compiled function with all constants, of which JAX leaves out those of more than ten elements."""
    text: str = compiled.as_text()
    if ELIDED not in text:
        return text
    try:
        modules = compiled.runtime_executable().hlo_modules()
        # JAX does not export the options; their module has had several names.
        options = sys.modules[type(modules[0]).__module__].HloPrintOptions()
        options.print_large_constants = True
        return "\n\n".join([module.to_string(options) for module in modules])
    except (AttributeError, IndexError, KeyError, NotImplementedError, TypeError) as error:
        message = f"the module has no values for large constants, since this version of JAX does not print them ({type(error).__name__}: {error})"
        warnings.warn(message, stacklevel=3)
        return text


def _jax() -> Any:
    try:
        return import_module("jax")
    except ImportError as error:
        raise HlotoolError(f"from_jax needs JAX, which cannot be imported ({error}); install it: pip install jax") from error
