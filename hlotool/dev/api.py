"""The public API as text, recorded in `tests/public_api.txt` so that changes to it are noticed."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import hlotool
from hlotool.errors import HlotoolError
from hlotool.record import Record

__all__ = ["surface", "write"]

_ROOT = Path(__file__).resolve().parents[2]
_RECORD = _ROOT / "tests" / "public_api.txt"
_CHANGELOG = _ROOT / "CHANGELOG.md"


def surface() -> list[str]:
    """Returns a line for each public name, and for each public member of a public class.

    The line for a function includes its parameters and their defaults, but not its annotations.

    >>> [line for line in surface() if line.startswith("hlotool.parse(")]
    ["hlotool.parse(text, filename='<string>', *, strict=True, legacy=False)"]
    """
    return [line for name in sorted(hlotool.__all__) for line in _describe(f"hlotool.{name}", getattr(hlotool, name))]


def write() -> Path:
    """Records the public API. Raises HlotoolError if it has changed but the changelog has not."""
    recorded = _RECORD.read_text(encoding="utf-8").splitlines() if _RECORD.exists() else [""]
    lines, stamp = surface(), f"# changelog {sha256(_CHANGELOG.read_bytes()).hexdigest()[:16]}"
    if lines != recorded[1:] and stamp == recorded[0]:
        raise HlotoolError("the public API has changed; describe the change in CHANGELOG.md first")
    if lines != recorded[1:]:
        _RECORD.write_text("\n".join([stamp, *lines]) + "\n", encoding="utf-8")
    return _RECORD


def _describe(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, type):
        yield f"class {name}"
        for member in sorted(_members(value)):
            yield from _member(f"{name}.{member}", inspect.getattr_static(value, member))
    elif callable(value):
        yield f"{name}{_parameters(value)}"
    else:
        yield name


def _members(kind: type) -> set[str]:
    """Returns the public members that a class and its bases in hlotool define."""
    bases = [base for base in kind.__mro__ if base.__module__.partition(".")[0] == "hlotool"]
    names = {name for base in bases for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    has_fields = issubclass(kind, Record) or not any("__init__" in vars(base) for base in bases)
    return {name for name in names if not name.startswith("_")} | ({"__init__"} if not has_fields and "__init__" in names else set())


def _member(name: str, value: Any) -> Iterator[str]:
    function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    yield f"{name}{_parameters(function)}" if inspect.isfunction(function) else name


def _parameters(function: Any) -> str:
    """Returns the parameters of a function as text that does not depend on the Python version.

    Annotations are left out, and defaults that are not plain values are written as `...`.
    """
    signature = inspect.signature(function)
    empty = inspect.Parameter.empty
    parameters = [
        parameter.replace(annotation=empty, default=parameter.default if _is_plain(parameter.default) else ...)
        for parameter in signature.parameters.values()
    ]
    text = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    return text.replace("Ellipsis", "...")


def _is_plain(default: Any) -> bool:
    return default in (None, inspect.Parameter.empty, (), "") or isinstance(default, bool | int | float | str)
