"""Helpers for custom-call handlers: facts about the instruction, and settings of backends."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.dtypes import NUMPY_TYPES, Array
from hlotool.interp.arrays.values import Value
from hlotool.record import Record
from hlotool.shapes.shape import Shape
from hlotool.shapes.values import ConvolutionDimensions, WindowDimension

__all__ = [
    "CustomCall",
    "Handler",
    "dot_dims",
    "flag_of",
    "number_of",
    "placeholder",
    "require",
    "result_with_workspace",
    "results_of",
    "settings_of",
]

Handler = Callable[..., Any]


class CustomCall(Record):
    """The facts about an instruction that its handler can use.

    The facts are the target, the shapes, the backend configuration as written, and some attributes.
    """

    target: str
    result: Shape
    operand_shapes: tuple[Shape, ...]
    backend_config: str = ""
    window: tuple[WindowDimension, ...] = ()
    dim_labels: ConvolutionDimensions | None = None
    feature_group_count: int = 1
    batch_group_count: int = 1


def require(condition: bool, call: CustomCall, message: str) -> None:
    """Raises Violation unless the condition is true.

    The condition is false if something is missing, or if hlotool does not support a setting.
    """
    if not condition:
        raise Violation("R004", "backend_config", f"'{call.target}' {message}")


# XLA's JSON reader accepts setting names without quotes.
_BARE_NAME = re.compile(r"([{,]\s*)([A-Za-z_]\w*)(\s*:)")
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")


def settings_of(call: CustomCall, section: str) -> dict[str, Any]:
    """Returns the settings in a section of a JSON configuration, with names in snake_case.

    If there is no such section, the whole configuration counts as the section.

    >>> from hlotool.shapes.shape import TOKEN
    >>> settings_of(CustomCall("f", TOKEN, (), '{conv_config: {activationMode:"kRelu"}}'), "conv_config")
    {'activation_mode': 'kRelu'}
    >>> settings_of(CustomCall("f", TOKEN, (), '{"note":"x, y: z"}'), "conv_config")
    {'note': 'x, y: z'}
    """
    if not call.backend_config:
        return {}
    decoded = _decode(call.backend_config)
    settings = decoded.get(section, decoded) if isinstance(decoded, dict) else None
    if not isinstance(settings, dict):
        raise Violation(
            "R004", "backend_config", f"the backend_config of '{call.target}' is not a JSON object with settings: {call.backend_config[:60]}"
        )
    return _to_snake_case(settings)


@lru_cache(maxsize=256)
def _decode(config: str) -> Any:
    """Returns the value of a JSON string, or None if the string is not valid.

    The value is cached for the next execution of the instruction, so it must not be changed.
    """
    # The unchanged string is tried first, because adding quotes to names may also change values.
    for text in (config, _BARE_NAME.sub(r'\1"\2"\3', config)):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return None


def _to_snake_case(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {_CAPITAL.sub(lambda match: f"_{match[1].lower()}", name): value for name, value in settings.items()}


def dot_dims(settings: Mapping[str, Any], name: str, call: CustomCall) -> dict[str, tuple[int, ...]]:
    """Returns the dimension numbers of a matrix product, in the form that the `dot` kernel takes.

    The numbers may be strings, since XLA's JSON stores 64-bit integers as strings.
    """
    numbers = settings.get(name)
    require(isinstance(numbers, Mapping), call, f"requires '{name}' in its backend_config")
    written = _to_snake_case(numbers or {})
    try:
        return {
            f"{side}_{kind}_dims": tuple(int(dimension) for dimension in written.get(f"{side}_{kind}_dimensions", ()))
            for side in ("lhs", "rhs")
            for kind in ("batch", "contracting")
        }
    except (TypeError, ValueError):
        raise Violation("R004", "backend_config", f"'{name}' in the backend_config of '{call.target}' is malformed") from None


def number_of(settings: Mapping[str, Any], name: str, default: float, call: CustomCall) -> float:
    """Returns a setting that is a number, possibly stored as a string."""
    try:
        return float(settings.get(name, default))
    except (TypeError, ValueError):
        raise Violation("R004", "backend_config", f"'{name}' in the backend_config of '{call.target}' is not a number") from None


def flag_of(settings: Mapping[str, Any], name: str, call: CustomCall) -> bool:
    """Returns a boolean setting, possibly stored as a string; False if it is not set."""
    flag = {True: True, False: False, "true": True, "false": False}.get(settings.get(name, False))
    require(flag is not None, call, f"requires '{name}' to be true or false")
    return bool(flag)


def results_of(call: CustomCall) -> tuple[Shape, ...]:
    """Returns the shapes of the results as a tuple, even if there is only one result."""
    return call.result.elements if call.result.is_tuple else (call.result,)


def placeholder(shape: Shape) -> Array:
    """Returns an array without meaningful content, such as a workspace.

    The array contains zeros, which share the memory of a single element.
    """
    return np.broadcast_to(np.zeros((), NUMPY_TYPES[shape.element_type]), shape.dimensions)


def result_with_workspace(call: CustomCall, *arrays: Array) -> Value:
    """Returns the given arrays as a call's result; any further tuple elements are workspaces."""
    if not call.result.is_tuple:
        return arrays[0]
    return (*arrays, *(placeholder(shape) for shape in call.result.elements[len(arrays) :]))
