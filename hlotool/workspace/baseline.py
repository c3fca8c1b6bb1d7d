"""Baselines: files that list the known findings of a project, so that only new ones are reported.

A finding is recognized by its file, code, computation, instruction and message. Line numbers,
including those in its message, and the compression of the file do not matter.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from hlotool.errors import Diagnostic, HlotoolError
from hlotool.workspace.findings import Checked, FileFinding
from hlotool.workspace.reading import STDIN, read_bounded, real_path
from hlotool.workspace.writing import replace_file

__all__ = ["Baseline", "BaselineError", "BaselineWriter", "Baselines", "read_baseline"]

_VERSION = 1
# In bytes. A finding takes about 200 bytes.
_MAX_SIZE = 32 << 20
_MAX_COUNT = 1 << 31
_LOCATION = re.compile(r"\b\d+:\d+\b")
_COMPRESSED = re.compile(r"\.(?:gz|xz|zst)\Z")


class BaselineError(HlotoolError):
    """Raised if a baseline file cannot be read."""

    exit_code = 2


class _Key(NamedTuple):
    """The identity of a finding; the fields are the keys of its row in a baseline file."""

    file: str
    code: str
    computation: str
    instruction: str
    message: str


class Baseline:
    """The known findings, with the number of times that each may occur.

    >>> known = Diagnostic("S003", "duplicate-instruction", "error", "name 'n' is already defined at 5:3", "a.hlo", 6)
    >>> moved = Diagnostic("S003", "duplicate-instruction", "error", "name 'n' is already defined at 8:3", "a.hlo", 9)
    >>> baseline = Baseline(Path(), Counter([_key(known, Path())]))
    >>> baseline.without_known(Checked("a.hlo", [FileFinding(moved, ""), FileFinding(moved, "")])).findings == [FileFinding(moved, "")]
    True
    """

    def __init__(self, folder: Path, known: Counter[_Key]) -> None:
        self.folder = folder
        self.remaining = known
        self.hidden = 0
        self.files: set[str] = set()

    def without_known(self, result: Checked) -> Checked:
        """Returns the result without known findings. Among equal findings, the first are hidden."""
        if result.failure is None:
            self.files.add(_relative(result.name, self.folder))
        findings = [finding for finding in result.findings if not self._hides(finding)]
        return result._replace(findings=findings)

    def _hides(self, finding: FileFinding) -> bool:
        key = _key(finding.diagnostic, self.folder)
        if self.remaining[key] <= 0:
            return False
        self.remaining[key] -= 1
        self.hidden += 1
        return True

    @property
    def gone(self) -> int:
        """The number of known findings that no longer occur in the files that were checked."""
        return sum(count for key, count in self.remaining.items() if key.file in self.files)


class Baselines:
    """The baselines of several files.

    `path_of` maps the names of files to the paths of their baselines, or to None. Raises
    BaselineError if a baseline cannot be read.
    """

    def __init__(self, path_of: Mapping[str, str | None]) -> None:
        self.path_of = path_of
        self.by_path = {path: read_baseline(path) for path in dict.fromkeys(path_of.values()) if path is not None}

    def without_known(self, result: Checked) -> Checked:
        """Returns the result without the findings in the baseline of its file."""
        path = self.path_of.get(result.name)
        return result if path is None else self.by_path[path].without_known(result)

    @property
    def hidden(self) -> int:
        """The number of hidden findings."""
        return sum(baseline.hidden for baseline in self.by_path.values())

    @property
    def gone(self) -> int:
        """The number of known findings that no longer occur in the files that were checked."""
        return sum(baseline.gone for baseline in self.by_path.values())


class BaselineWriter:
    """A writer that collects findings for a new baseline file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.folder = Path(path).absolute().parent
        self.known: Counter[_Key] = Counter()

    def take(self, findings: Iterable[FileFinding]) -> None:
        self.known.update(_key(finding.diagnostic, self.folder) for finding in findings)

    def write(self) -> None:
        """Writes the file, with one row for each finding, sorted; raises WriteError."""
        rows = [json.dumps({**key._asdict(), "count": count}, ensure_ascii=True) for key, count in sorted(self.known.items())]
        body = ",\n".join(f"  {row}" for row in rows)
        replace_file(self.path, f'{{"version": {_VERSION}, "findings": [\n{body}\n]}}\n' if rows else f'{{"version": {_VERSION}, "findings": []}}\n')


def read_baseline(path: str) -> Baseline:
    """Returns the baseline in a file; raises BaselineError."""
    try:
        encoded = read_bounded(path, _MAX_SIZE)
    except FileNotFoundError:
        raise BaselineError(f"there is no baseline '{path}'; --write-baseline creates it") from None
    except (OSError, ValueError) as error:
        raise BaselineError(f"cannot read baseline '{path}': {getattr(error, 'strerror', None) or error}") from error
    try:
        data = json.loads(encoded)
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"'{path}' is not a baseline: it is not valid JSON") from error
    if not isinstance(data, dict) or data.get("version") != _VERSION or not isinstance(data.get("findings"), list):
        raise BaselineError(f"'{path}' is not a baseline of version {_VERSION}; --write-baseline creates one")
    known: Counter[_Key] = Counter()
    for row in data["findings"]:
        fields = {name: row.get(name) for name in _Key._fields} if isinstance(row, dict) else {}
        count = row.get("count", 1) if isinstance(row, dict) else None
        if not fields or not all(isinstance(value, str) for value in fields.values()) or type(count) is not int or not 0 < count < _MAX_COUNT:
            raise BaselineError(f"'{path}' is not a baseline: each finding must have the keys {', '.join(_Key._fields)} and count")
        known[_Key(**fields)] += count  # type: ignore[arg-type]  # checked above
    return Baseline(Path(path).absolute().parent, known)


def _key(d: Diagnostic, folder: Path) -> _Key:
    return _Key(_relative(d.filename, folder), d.code, d.computation or "", d.instruction or "", _LOCATION.sub("_", d.message))


@lru_cache
def _relative(name: str, folder: Path) -> str:
    """Returns the path relative to the folder of the baseline.

    The result does not depend on the working directory or on links in the path.
    """
    if name == STDIN or name.startswith("<"):
        return name
    try:
        path = os.path.relpath(real_path(name), os.path.realpath(folder))
    except ValueError:
        # On Windows, there is no relative path to another drive.
        path = name
    return _COMPRESSED.sub("", Path(path).as_posix())
