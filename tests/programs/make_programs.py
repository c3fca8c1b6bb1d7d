"""Generates NAME.hlo, NAME.optimized.hlo and NAME.npz for every program in `sources/`.

The files contain the program as lowered by JAX, the program as compiled by XLA:CPU, and the
program's arguments and results.

Usage, with JAX installed: python tests/programs/make_programs.py [NAME...]

A program for several devices has only an optimized module, since the partitioner decides what each
device computes. The first dimension of the arrays in its archive indexes the devices.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

# These variables must be set before JAX is imported.
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from jaxlib import _hlo
from sources.registry import PROGRAMS, Draw, Program

HERE = Path(__file__).parent
FAMILIES = ("learning", "arrays", "numerics", "randomness", "control", "parallel")


def text_of(module: Any) -> str:
    """Returns the text of a module with full constants and without metadata.

    Metadata would make up most of the text and describe the machine that generated it.
    """
    options = _hlo.HloPrintOptions()
    options.print_metadata = False
    options.print_large_constants = True
    text: str = module.to_string(options)
    return text.rstrip("\n") + "\n"


def make(name: str, program: Program) -> None:
    with jax.enable_x64(program.wide):
        given = program.arguments(Draw(name))
        lowered = jax.jit(program.function, keep_unused=True).lower(*given)
        # The option preserves every rounding to a narrow type, so that both modules return the same
        # results.
        compiled = lowered.compile({"xla_allow_excess_precision": False})
        (module,) = compiled.runtime_executable().hlo_modules()
        (HERE / f"{name}.optimized.hlo").write_text(text_of(module), encoding="utf-8")
        flat, results = jax.tree.leaves(given), jax.tree.leaves(compiled(*given))
        if program.devices == 1:
            (HERE / f"{name}.hlo").write_text(text_of(lowered.compiler_ir("hlo").as_hlo_module()), encoding="utf-8")
        else:
            flat = [divide(x, s) for x, s in zip(flat, jax.tree.leaves(compiled.input_shardings[0]), strict=True)]
            results = [np.stack([shard.data for shard in x.addressable_shards]) for x in results]
    stored = {str(k): plain(value) for k, value in enumerate(flat)}
    names = ["output"] if len(results) == 1 else [f"output.{k}" for k in range(len(results))]
    stored |= {name: plain(value) for name, value in zip(names, results, strict=True)}
    np.savez_compressed(HERE / f"{name}.npz", **stored)


def divide(array: Any, sharding: Any) -> np.ndarray:
    """Returns the parts of an array on all devices, stacked."""
    return np.stack([shard.data for shard in jax.device_put(array, sharding).addressable_shards])


def plain(array: Any) -> np.ndarray:
    """Returns an array as it is stored in archives: as raw bytes if NumPy lacks its type."""
    array = np.asarray(array)
    return array if array.dtype.kind in "biufc" and array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}")


def main() -> None:
    for family in FAMILIES:
        import_module(f"sources.{family}")
    for name in sys.argv[1:] or PROGRAMS:
        make(name, PROGRAMS[name])


if __name__ == "__main__":
    main()
