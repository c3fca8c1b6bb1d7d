"""Compiles functions in generated source to machine code with LLVM, if llvmlite is installed."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from hlotool.interp.plan.native.machine_numbers import DATA_OFFSET, ArrayOf, Untranslatable
from hlotool.interp.plan.native.translator import translate

__all__ = ["NativeSource", "Step", "compile_blocks", "compile_native", "compile_text", "is_installed", "seconds_to_load"]

_SECONDS_TO_LOAD = 0.03
Step = Callable[..., tuple[Any, ...]]


class NativeSource(NamedTuple):
    """The source of a function `loop`, and the objects that it refers to."""

    text: str
    namespace: dict[str, Any]


@cache
def is_installed() -> bool:
    """Returns whether llvmlite is installed; it may still be unable to compile."""
    return find_spec("llvmlite") is not None


@cache
def _llvm() -> Any:
    """Returns LLVM's library, or None if it cannot be used."""
    try:
        llvm = import_module("llvmlite.binding")
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    except Exception:
        # llvmlite is not installed, or was built for another system. In the latter case, it raises
        # many types of errors.
        return None
    return llvm


def seconds_to_load() -> float:
    """Returns the approximate time for loading LLVM, or 0 if it is loaded."""
    return 0.0 if _llvm.cache_info().currsize else _SECONDS_TO_LOAD


def _machine_code(llvm: Any, text: str) -> tuple[Any, int]:
    """Returns an engine, which keeps the code alive, and the address of its function `loop`."""
    # The engine owns the target machine, so each engine needs a new one.
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=3, jit=True)
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine, engine.get_function_address("loop")


def _compile(source: NativeSource, arguments: Sequence[Any], *, is_parallel: bool) -> tuple[Callable[..., None], list[str]] | None:
    """Returns the function in machine code, and the types of its results."""
    try:
        translation = translate(source.text, source.namespace, arguments, is_parallel=is_parallel)
    except (Untranslatable, RecursionError):
        return None
    function = compile_text(translation.text, [np.zeros(0), *arguments])
    if function is None:
        return None
    # The code contains the addresses of arrays in the namespace.
    function.kept_alive += (source.namespace,)  # type: ignore[attr-defined]
    return function, translation.results


def _may_use_tiles() -> bool:
    """Returns whether Linux lets the process use the processor's tile registers."""
    request, permission, tile_data = 158, 0x1023, 18
    return sys.platform == "linux" and not ctypes.CDLL(None).syscall(request, permission, tile_data)


def compile_text(text: str, arguments: Sequence[Any], feature: str | None = None) -> Callable[..., None] | None:
    """Returns the function `loop` of a module in LLVM's language, for arguments of these types.

    Returns None if it cannot be compiled, or if the processor does not have the feature.
    """
    llvm = _llvm()
    if llvm is None or (feature is not None and not llvm.get_host_cpu_features().get(feature)):
        return None
    if feature is not None and feature.startswith("amx") and not _may_use_tiles():
        return None
    try:
        engine, address = _machine_code(llvm, text)
    except Exception:
        # The errors of LLVM are plain Python exceptions.
        return None
    function = ctypes.CFUNCTYPE(None, *map(_c_type, arguments))(address)
    function.kept_alive = (engine,)  # type: ignore[attr-defined]
    return function


def compile_native(source: NativeSource, arguments: Sequence[Any]) -> Step | None:
    """Returns the function in machine code, compiled for the types of these arguments.

    Returns None if llvmlite cannot be imported, or if the function cannot be compiled.
    """
    compiled = _compile(source, arguments, is_parallel=False)
    if compiled is None:
        return None
    function, kinds = compiled
    layout = "=" + "".join(_RESULTS[kind] for kind in kinds)

    def step(*arguments: Any) -> tuple[Any, ...]:
        out = ctypes.create_string_buffer(8 * len(kinds))
        function(out, *map(_c_argument, arguments))
        return struct.unpack(layout, out)

    return step


def compile_blocks(source: NativeSource, arguments: Sequence[Any]) -> Callable[..., None] | None:
    """Returns a function on blocks in machine code; its first argument is not used.

    It takes contiguous arrays as their `id`. Returns None in the same cases as `compile_native`, or
    if NumPy's arrays are not laid out as expected.
    """
    array = np.zeros(1)
    if ctypes.c_void_p.from_address(id(array) + DATA_OFFSET).value != array.ctypes.data:
        return None
    compiled = _compile(source, arguments, is_parallel=True)
    return None if compiled is None else compiled[0]


_RESULTS = {"i1": "q", "i64": "q", "float": "f4x", "double": "d"}
"""The formats of results, which have 8 bytes each, in the notation of `struct`."""


def _c_type(argument: Any) -> Any:
    if isinstance(argument, (ArrayOf, np.ndarray)):
        return ctypes.c_void_p
    if isinstance(argument, (bool, np.bool_)):
        return ctypes.c_bool
    if isinstance(argument, (int, np.integer)):
        return ctypes.c_int64
    return ctypes.c_double if isinstance(argument, float) else ctypes.c_float


def _c_argument(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.ctypes.data
    return argument.item() if isinstance(argument, np.generic) else argument
