"""The daily fuzzers exercise every package that reads input from users."""

from pathlib import Path

from daily import AREAS, FUZZERS

import hlotool

_WITHOUT_FUZZER = {"dev", "frameworks"}


def test_every_package_has_a_daily_fuzzer():
    packages = {path.parent.name for path in Path(hlotool.__file__).parent.glob("*/__init__.py")}
    assert AREAS.keys() == packages - _WITHOUT_FUZZER
    assert set(AREAS.values()) <= {name for name, *_ in FUZZERS}
