"""Tests of `from_jax` without JAX: stand-ins replace JAX's objects."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import hlotool

SHORT = "HloModule m\nENTRY e { ROOT c = s32[12] constant({...}) }"
WHOLE = SHORT.replace("...", "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11")


class HloPrintOptions:
    """The class that `from_jax` looks up in the Python module that defines `HloModule`."""

    print_large_constants = False


class HloModule:
    def to_string(self, options: HloPrintOptions) -> str:
        return WHOLE if options.print_large_constants else SHORT


class Staged:
    """A stand-in for the results of `jax.jit`, `lower` and `compile`."""

    def __init__(self, modules: list[object]) -> None:
        self.modules = modules

    def lower(self, *arguments: object) -> Staged:
        return self

    def compile(self) -> Staged:
        return self

    def as_text(self) -> str:
        return SHORT

    def runtime_executable(self) -> SimpleNamespace:
        return SimpleNamespace(hlo_modules=lambda: self.modules)


def test_a_compiled_module_has_its_large_constants():
    module = hlotool.from_jax(Staged([HloModule()]), optimized=True)
    assert hlotool.evaluate(module, []).tolist() == list(range(12))


@pytest.mark.parametrize("modules", [[], [SimpleNamespace()]])
def test_a_warning_mentions_missing_constants(modules):
    with pytest.warns(UserWarning, match="large constants of the module have no values"):
        module = hlotool.from_jax(Staged(modules), optimized=True)
    assert module.entry.root.literal.elided
