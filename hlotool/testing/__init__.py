"""For the tests of other projects: assertions about modules."""

from hlotool.testing.assertions import assert_runs_equal, assert_same_module

__all__ = ["assert_runs_equal", "assert_same_module"]
