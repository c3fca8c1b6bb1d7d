"""The functions that compute the targets of custom calls: hlotool's own, in the files of this package, and those that RunOptions add."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from hlotool.errors import HlotoolError
from hlotool.interp.custom_calls import attention, cublas, cudnn, xla
from hlotool.interp.custom_calls.base import Handler
from hlotool.interp.custom_calls.lapack import lapack_target
from hlotool.interp.options import RunOptions

__all__ = ["handler_of", "load_handler", "takes_call"]

_TARGETS: dict[str, Handler] = {**xla.TARGETS, **cublas.TARGETS, **cudnn.TARGETS, **attention.TARGETS}


def handler_of(target: str, options: RunOptions) -> Handler | None:
    """The function that computes a target: the one in the options if there is one, else hlotool's, else None.

    >>> handler_of("Sharding", RunOptions()) is None, handler_of("unheard of", RunOptions()) is None
    (False, True)
    """
    own = (options.custom_calls or {}).get(target)
    return own or _TARGETS.get(target) or lapack_target(target)


def takes_call(handler: Handler) -> bool:
    """Whether the function has a parameter `call` for a CustomCall; False for functions without a signature."""
    try:
        return "call" in inspect.signature(handler).parameters
    except (TypeError, ValueError):
        return False


def load_handler(place: str) -> Handler:
    """The function at a place such as `package.module:function`; raises HlotoolError if there is none.

    >>> load_handler("numpy:sin")
    <ufunc 'sin'>
    """
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise HlotoolError(f"'{place}' is not of the form module:function")
    try:
        handler: Any = import_module(module)
        for part in name.split("."):
            handler = getattr(handler, part)
    except (Exception, SystemExit) as error:
        # A module may raise anything while it is imported, or end the process.
        raise HlotoolError(f"'{place}' cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(handler):
        raise HlotoolError(f"'{place}' is no function")
    function: Handler = handler
    return function
