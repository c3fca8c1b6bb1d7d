"""Loads users' Python files, which register rules with `@rule` and passes with `@named_pass`."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Container
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from hlotool.optimizer.pipeline import PASSES
from hlotool.optimizer.registry import FAILURES, RuleError, all_rules, forget_rules

__all__ = ["load_rules"]

# The maximum size of a file, in bytes.
_MAX_BYTES = 16 << 20
_PACKAGE = "hlotool_loaded"
# Maps the absolute path of a loaded file to the names of its rules and passes.
_loaded: dict[str, tuple[str, ...]] = {}


def load_rules(path: str) -> tuple[str, ...]:
    """Runs a Python file, and returns the names of the rules and passes that it registers.

    A file that has already been loaded is not run again. The name of the file becomes the topic of
    its rules; lists of passes select the rules by this topic. Raises RuleError if the file cannot
    be read, if it fails, if it registers nothing, or if its topic is the name of a pass. In these
    cases, nothing is registered.
    """
    if not path:
        raise RuleError("the name of the file to load is empty")
    try:
        key = str(Path(path).resolve())
    except (OSError, ValueError) as error:
        raise RuleError(f"cannot load '{path}': {error}") from error
    if key not in _loaded:
        before, module = {*all_rules(), *PASSES}, _module_name(key)
        try:
            _run(module, key, path)
            _loaded[key] = _new_names(path, before)
        except BaseException:
            forget_rules([name for name in all_rules() if name not in before])
            for name in [name for name in PASSES if name not in before]:
                del PASSES[name]
            sys.modules.pop(module, None)
            raise
    return _loaded[key]


def _new_names(path: str, before: Container[str]) -> tuple[str, ...]:
    """Returns the names of the new rules and passes.

    Raises RuleError if there are none, or if their topic is the name of a pass.
    """
    names = tuple(name for name in (*all_rules(), *PASSES) if name not in before)
    if not names:
        raise RuleError(f"'{path}' registers no rules or passes; decorate rules with @rule, and passes with @named_pass")
    taken = PASSES.keys() | {entry.topic for entry in all_rules().values() if entry.is_built_in}
    for topic in sorted({all_rules()[name].topic for name in names if name in all_rules()} & taken):
        raise RuleError(f"cannot load '{path}': its rules would have the topic '{topic}', which is the name of a pass; rename the file")
    return names


def _run(name: str, key: str, path: str) -> None:
    try:
        with Path(key).open("rb") as file:
            source = file.read(_MAX_BYTES + 1)
        if len(source) > _MAX_BYTES:
            raise RuleError(f"cannot load '{path}': it has more than {_MAX_BYTES:,} bytes, which is the limit")
    except (OSError, ValueError) as error:
        raise RuleError(f"cannot load '{path}': {getattr(error, 'strerror', None) or error}") from error
    spec = spec_from_file_location(name, key)
    if spec is None:
        raise RuleError(f"cannot load '{path}': its name does not end with .py")
    module = module_from_spec(spec)
    # Decorators of the standard library, such as `dataclass`, look up the module here.
    sys.modules[name] = module
    try:
        exec(compile(source, key, "exec"), module.__dict__)
    except MemoryError:
        raise
    except FAILURES as error:
        raise RuleError(f"cannot load '{path}'{_location(error, key)}: {type(error).__name__}: {error}") from error


def _module_name(path: str) -> str:
    """Returns the name under which a file is imported.

    The name ends with the topic. It starts with a unique prefix, since files in different folders
    may have the same name.
    """
    topic = re.sub(r"\W", "_", Path(path).stem)
    return f"{_PACKAGE}.{len(_loaded)}.{topic}"


def _location(error: BaseException, path: str) -> str:
    """Returns `, line 7` if an exception was raised at that line of the file, or else ""."""
    if isinstance(error, SyntaxError):
        return "" if error.lineno is None else f", line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f", line {lines[-1]}" if lines else ""
