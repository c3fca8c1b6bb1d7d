"""Turns every case file into tests: a new case needs a file, but no test code.

The table of folders is at the end. The package `checks` contains the check for each folder, and
`case_files` reads the notation inside the files.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from case_files import Case, read_cases, write_cases, write_outputs
from checks.building import code_text, rebuilt, written
from checks.calls import call_text, called
from checks.common import Mismatch
from checks.comparison import compared, difference_text
from checks.edited import difference_of_edit, edited, patch_of_edit, patched_after_edits
from checks.evaluation import evaluated, evaluated_on_devices
from checks.formatting import formatted_or_none, formatted_well
from checks.optimization import optimized, optimized_text
from checks.patched import patch_text, patched
from checks.pictures import picture_text, pictured
from checks.planned import plan_text, planned
from checks.programs import equal_to_jax
from checks.serving import answer_text, answered
from checks.sessions import conversed, session_text
from checks.text import accepted, modern_print, modernized, printed, printed_like_xla, rejected, rejected_like_xla
from checks.verification import verified
from held import constants_as_bytes
from hypothesis import HealthCheck, Phase, settings

HERE = Path(__file__).parent

# `made_up_ops.py` contains no tests; a test runs it in a separate process.
# The corpus is large and not part of the repository; its tests run only if HLOTOOL_CORPUS is set.
collect_ignore = ["tools/made_up_ops.py", *([] if os.environ.get("HLOTOOL_CORPUS") else ["corpus"])]
# Tests that use the solver Z3 are skipped if it is not installed.
if find_spec("z3") is None:
    collect_ignore += ["optimizer/test_solver.py", "tools/proofs/smt.py", "tools/proofs/symbolic.py", "tools/proofs/reals.py"]
# The scripts that generate case files need JAX.
collect_ignore_glob = ["programs/*.py"]


# A shell starts its background jobs with Ctrl-C ignored, and the processes that tests start would
# inherit this setting.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests that depend on these variables set them. A shell may export them, and so do the workers of
# pytest-xdist; commands would then assume a width although they have no terminal.
for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "HLOTOOL_DEBUG", "PAGER"):
    os.environ.pop(name, None)

# Every run uses the same examples on slow and fast machines, and does not store failures.
# A test whose strategy rejects most examples fails, since it would run on only a few examples.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[
        HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example, HealthCheck.function_scoped_fixture,
    ],
)  # fmt: skip
# For mutation tests, which only need to know whether a test fails.
settings.register_profile("without-shrinking", settings.get_profile("repeatable"), phases=[Phase.explicit, Phase.generate])
settings.load_profile("repeatable")


@pytest.fixture(scope="module")
def frozen() -> Iterator[None]:
    """Hides objects of earlier tests from the garbage collector, which runs during measurements."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the `// output` sections of case files with hlotool's output")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update") and os.environ.get("CI"):
        raise pytest.UsageError("--update rewrites expectations; it is not for CI")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    folder = file_path.parent.relative_to(HERE).as_posix() if file_path.is_relative_to(HERE) else ""
    if file_path.suffix != (".txt" if folder in TRANSCRIPTS else ".hlo") or file_path.name.endswith(".printed.hlo"):
        return None
    return CaseFile.from_parent(parent, path=file_path) if folder in CHECKS else None


class CaseFile(pytest.File):
    """One file of cases or transcripts, with a test for each of them."""

    def collect(self) -> Iterable[pytest.Item]:
        folder = self.path.parent.relative_to(HERE).as_posix()
        check = CHECKS[folder]
        if self.config.getoption("--update") and folder in TRANSCRIPTS:
            write_cases(self.path, [TRANSCRIPTS[folder](self.path, case) for case in read_cases(self.path)])
        elif self.config.getoption("--update"):
            made = OUTPUTS.get(folder, lambda path, case: printed(case))
            write_outputs(self.path, [made(self.path, case) for case in read_cases(self.path)])
        for number, case in enumerate(read_cases(self.path), 1):
            yield CaseItem.from_parent(self, name=f"case{number}", case=case, check=check)
            if folder in RUN_TWICE and "constant(" in case.text:
                yield CaseItem.from_parent(self, name=f"case{number}-bytes", case=case, check=_with_constants_as_bytes(check))


def _with_constants_as_bytes(check: Callable[[Path, Case], None]) -> Callable[[Path, Case], None]:
    def run(path: Path, case: Case) -> None:
        with constants_as_bytes():
            check(path, case)

    return run


class CaseItem(pytest.Item):
    """One case of a file."""

    def __init__(self, *, case: Case, check: Callable[[Path, Case], None], **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self.case = case
        self.check = check

    def runtest(self) -> None:
        self.check(self.path, self.case)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Mismatch):
            return f"{self.path.relative_to(HERE.parent)}:{self.case.first_line}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.case.first_line - 1, f"{self.path.relative_to(HERE.parent).as_posix()}::{self.name}"


CHECKS: dict[str, Callable[[Path, Case], None]] = {
    "text/syntax": printed_like_xla,
    "text/errors": rejected_like_xla,
    "text/accept": accepted,
    "text/reject": rejected,
    "text/formatting": formatted_well,
    "text/legacy": modernized,
    "builder": rebuilt,
    "builder/calls": called,
    "builder/code": written,
    "ops": evaluated,
    "devices": evaluated_on_devices,
    "interp/plans": planned,
    "programs": equal_to_jax,
    "verify": verified,
    "optimizer": optimized,
    "differ": compared,
    "differ/edits": edited,
    "patches": patched,
    "patches/edits": patched_after_edits,
    "server": answered,
    "server/sessions": conversed,
    "graph": pictured,
}
"""The checks for the cases of each folder."""

RUN_TWICE = {"optimizer", "builder", "differ", "patches", "ops", "graph", "verify"}
"""The folders whose cases run a second time, with constants stored as bytes.

Constants from NumPy and from constant folding are stored as bytes; no result may depend on that.
"""

OUTPUTS: dict[str, Callable[[Path, Case], str | None]] = {
    "builder/code": code_text,
    "text/accept": lambda path, case: printed(case),
    "text/formatting": lambda path, case: formatted_or_none(case),
    "text/legacy": lambda path, case: modern_print(case),
    "optimizer": optimized_text,
    "differ": difference_text,
    "differ/edits": difference_of_edit,
    "interp/plans": plan_text,
    "patches": patch_text,
    "patches/edits": patch_of_edit,
    "server": answer_text,
    "graph": picture_text,
}
"""The functions that produce the `// output` sections for `--update`, by folder."""

TRANSCRIPTS: dict[str, Callable[[Path, Case], str]] = {
    "builder/calls": call_text,
    "server/sessions": session_text,
}
"""The functions that produce transcripts, by folder. Their files are `.txt` files."""
