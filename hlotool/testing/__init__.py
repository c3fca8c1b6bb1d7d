"""Test support for other projects: assertions about modules, and random modules."""

from hlotool.testing.assertions import assert_runs_equal, assert_same_module
from hlotool.testing.random_modules import FEATURES, modules, random_module

__all__ = ["FEATURES", "assert_runs_equal", "assert_same_module", "modules", "random_module"]
