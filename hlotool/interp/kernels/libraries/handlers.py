"""Finds the functions that compute custom-call targets, in this package and in RunOptions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from hlotool.errors import HlotoolError
from hlotool.interp.kernels.libraries import attention, cublas, cudnn, xla
from hlotool.interp.kernels.libraries.base import CustomCall, Handler
from hlotool.interp.kernels.libraries.lapack import LAPACK_EXTRA, is_lapack_target, lapack_target
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Instruction

__all__ = ["Target", "handler_of", "load_handler", "no_handler", "target_of"]

_TARGETS: dict[str, Handler] = {**xla.TARGETS, **cublas.TARGETS, **cudnn.TARGETS, **attention.TARGETS}
_HINT = "name the function that computes it: --custom-call target=module:function, or RunOptions(custom_calls={target: function})"


def handler_of(target: str, options: RunOptions) -> Handler | None:
    """Returns the function that computes a target, or None.

    A function in the options takes precedence over hlotool's own.

    >>> handler_of("Sharding", RunOptions()) is None, handler_of("unheard of", RunOptions()) is None
    (False, True)
    """
    own = (options.custom_calls or {}).get(target)
    return own or _TARGETS.get(target) or lapack_target(target)


def no_handler(target: str) -> tuple[str, str]:
    """Returns the message and the hint for a target for which `handler_of` returns None.

    >>> no_handler("lapack_spotrf_ffi")
    ("the custom-call target 'lapack_spotrf_ffi' requires the package SciPy", "pip install 'hlotool[lapack]'")
    """
    if is_lapack_target(target):
        return f"the custom-call target '{target}' requires the package SciPy", f"pip install 'hlotool[{LAPACK_EXTRA}]'"
    return f"hlotool does not know what the custom-call target '{target}' computes", _HINT


class Target(NamedTuple):
    """The facts about a custom call that are known before it is executed.

    `function` computes the call and takes the keyword arguments `keywords`; it is None if no
    function is known. `is_own` is true unless RunOptions provides the function.
    """

    call: CustomCall
    function: Handler | None
    keywords: Mapping[str, CustomCall]
    is_own: bool


def target_of(x: Instruction, options: RunOptions) -> Target:
    """Returns the target of a custom call.

    >>> import hlotool
    >>> module = hlotool.parse('ENTRY e { x = f32[] parameter(0) ROOT r = f32[] custom-call(x), custom_call_target="sine" }')
    >>> target = target_of(module.entry.root, RunOptions(custom_calls={"sine": lambda x, call: x}))
    >>> target.is_own, target.keywords["call"].target
    (False, 'sine')
    """
    attributes = x.attributes
    name = attributes["custom_call_target"]
    call = CustomCall(
        name,
        x.shape,
        tuple([operand.shape for operand in x.operands]),
        x.backend_config or "",
        attributes.get("window") or (),
        attributes.get("dim_labels"),
        attributes.get("feature_group_count", 1),
        attributes.get("batch_group_count", 1),
    )
    function = handler_of(name, options)
    keywords = {"call": call} if function is not None and _takes_call(function) else {}
    return Target(call, function, keywords, name not in (options.custom_calls or {}))


def _takes_call(handler: Handler) -> bool:
    """Returns whether the function has a parameter `call` for a CustomCall.

    Returns False for functions without a signature.
    """
    try:
        return "call" in inspect.signature(handler).parameters
    except (TypeError, ValueError):
        return False


def load_handler(position: str) -> Handler:
    """Returns the function at a path such as `package.module:function`.

    Raises HlotoolError if there is none.

    >>> load_handler("numpy:sin")
    <ufunc 'sin'>
    """
    module, colon, name = position.partition(":")
    if not colon or not module or not name:
        raise HlotoolError(f"'{position}' is not of the form module:function")
    try:
        handler: Any = import_module(module)
        for part in name.split("."):
            handler = getattr(handler, part)
    except (Exception, SystemExit) as error:
        # A module may raise any exception while it is imported, or try to end the process.
        raise HlotoolError(f"'{position}' cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(handler):
        raise HlotoolError(f"'{position}' is not a function")
    function: Handler = handler
    return function
