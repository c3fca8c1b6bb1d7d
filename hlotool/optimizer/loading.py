"""Rules and passes from Python files of users, which register them with `@rule` and `@named_pass`."""

from __future__ import annotations

import re
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from hlotool.optimizer.pipeline import PASSES
from hlotool.optimizer.registry import RuleError, all_rules, forget_rules

__all__ = ["load_rules"]

_PACKAGE = "hlotool_loaded"
# By absolute path: the names of the rules and passes of a file.
_loaded: dict[str, tuple[str, ...]] = {}


def load_rules(path: str) -> tuple[str, ...]:
    """Runs a Python file, and returns the names of the rules and passes that it registers; a file that was loaded is not run again.

    The name of the file is the topic of its rules, by which passes select them. Raises RuleError if the file cannot be read, if it fails,
    or if it registers nothing; then nothing is registered.
    """
    try:
        key = str(Path(path).resolve())
    except (OSError, ValueError) as error:
        raise RuleError(f"cannot load '{path}': {error}") from error
    if key not in _loaded:
        before = {*all_rules(), *PASSES}
        try:
            _run(key, path)
            names = tuple(name for name in (*all_rules(), *PASSES) if name not in before)
            if not names:
                raise RuleError(f"'{path}' registers no rules and no passes; rules are functions with @rule, passes functions with @named_pass")
        except BaseException:
            forget_rules([name for name in all_rules() if name not in before])
            for name in [name for name in PASSES if name not in before]:
                del PASSES[name]
            sys.modules.pop(_module_name(key), None)
            raise
        _loaded[key] = names
    return _loaded[key]


def _run(key: str, path: str) -> None:
    try:
        source = Path(key).read_bytes()
    except (OSError, ValueError) as error:
        raise RuleError(f"cannot load '{path}': {getattr(error, 'strerror', None) or error}") from error
    name = _module_name(key)
    spec = spec_from_file_location(name, key)
    if spec is None:
        raise RuleError(f"cannot load '{path}': its name does not end with .py")
    module = module_from_spec(spec)
    # Where decorators of the standard library, such as that of dataclasses, look for it.
    sys.modules[name] = module
    try:
        exec(compile(source, key, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise RuleError(f"cannot load '{path}'{_place(error, key)}: {type(error).__name__}: {error}") from error


def _module_name(path: str) -> str:
    """The name under which a file is imported, which ends with the topic of its rules."""
    topic = re.sub(r"\W", "_", Path(path).stem)
    return f"{_PACKAGE}.{topic}"


def _place(error: BaseException, path: str) -> str:
    """The line of the file at which an exception was raised."""
    if isinstance(error, SyntaxError):
        return "" if error.lineno is None else f", line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f", line {lines[-1]}" if lines else ""
