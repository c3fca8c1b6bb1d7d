"""Puts modules into loops, to test the compilation of loops.

LLVM or Python runs the source of a loop; Python starts much faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

import hlotool
from hlotool.interp.plan.native import clusters, loops
from hlotool.interp.plan.native.compiler import NativeSource, Step, compile_blocks
from hlotool.ir.model import Module
from hlotool.shapes.shape import Shape


def looped(module: Module) -> Module | None:
    """Returns a module that runs the given module's entry three times and returns the last result.

    After each iteration, parameters of the same shape change places. Returns None if there are
    tokens, dynamic dimensions or nested tuples.
    """
    entry = module.entry
    parameters = [parameter.shape for parameter in entry.parameters]
    results = list(entry.root.shape.elements) if entry.root.shape.is_tuple else [entry.root.shape]
    if not all(shape.is_array and not any(shape.dynamic) for shape in (*parameters, *results)):
        return None
    state = [hlotool.parse("ENTRY e { ROOT i = s32[] parameter(0) }").entry.root.shape, *parameters, *results]
    written = f"({', '.join(shape.text for shape in state)})"
    taken = "".join(f"  t{k} = {shape.text} get-tuple-element(s), index={k}\n" for k, shape in enumerate(state))
    call = f"r = {entry.root.shape.text} call({', '.join(f't{k + 1}' for k in range(len(parameters)))}), to_apply={entry.name}"
    parts = [f"r{k}" for k in range(len(results))] if entry.root.shape.is_tuple else ["r"]
    unpacked = "".join(f"  {part} = {results[k].text} get-tuple-element(r), index={k}\n" for k, part in enumerate(parts) if part != "r")
    last = [f"get-tuple-element(w), index={1 + len(parameters) + k}" for k in range(len(results))]
    ends = "".join(f"  g{k} = {shape.text} {last[k]}\n" for k, shape in enumerate(results))
    return hlotool.parse(f"""{str(module).replace("ENTRY ", "", 1)}
looped.more {{ s = {written} parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }}
looped.step {{
  s = {written} parameter(0)
{taken}  one = s32[] constant(1) next = s32[] add(t0, one)
  {call}
{unpacked}  ROOT t = {written} tuple(next, {", ".join([*rotated(parameters), *parts])})
}}
ENTRY looped {{
  {" ".join(f"p{k} = {shape.text} parameter({k})" for k, shape in enumerate(parameters))} i = s32[] constant(0)
{"".join(ones(f"z{k}", shape) for k, shape in enumerate(results))}
  s = {written} tuple(i, {", ".join([*(f"p{k}" for k in range(len(parameters))), *(f"z{k}" for k in range(len(results)))])})
  w = {written} while(s), condition=looped.more, body=looped.step
{ends}  ROOT out = tuple({", ".join(f"g{k}" for k in range(len(results)))})
}}""")


def rotated(shapes: Sequence[Shape]) -> list[str]:
    """Returns the names of the elements of the state that become the next parameters.

    Parameters of the same shape change places.
    """
    names = {}
    for shape in set(shapes):
        same = [k for k, other in enumerate(shapes) if other == shape]
        names.update({k: f"t{after + 1}" for k, after in zip(same, [*same[1:], same[0]], strict=True)})
    return [names[k] for k in range(len(shapes))]


def ones(name: str, shape: Shape) -> str:
    numbers = {"pred": "true", "c64": "(1, 0)", "c128": "(1, 0)", "s1": "-1"}
    number = numbers.get(shape.element_type, "1")
    return f"  {name}z = {shape.element_type}[] constant({number}) {name} = {shape.text} broadcast({name}z), dimensions={{}}\n"


def wrapped(number: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def in_python(source: NativeSource, arguments: Sequence[Any]) -> Step:
    """Returns a function that runs the source of a loop with Python's integers and NumPy's floats.

    Python's integers do not wrap, so `wrap` wraps them.
    """
    namespace = {**source.namespace, "int64": int, "wrap": wrapped}
    exec(compile(source.text, "<loop>", "exec"), namespace)

    def step(*arguments: Any) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):
            result: tuple[Any, ...] = namespace["loop"](*arguments)
        return result

    return step


@contextmanager
def compiled_loops(*, with_llvm: bool) -> Iterator[list[NativeSource]]:
    """Makes loops inside the `with` block compile in their first iteration.

    Yields a list to which the source of each compiled loop is added.
    """
    sources: list[NativeSource] = []
    compiled = loops.compile_native if with_llvm else in_python

    def spy(source: NativeSource, arguments: Sequence[Any]) -> Step | None:
        sources.append(source)
        return compiled(source, arguments)

    with patch.object(loops, "compile_native", spy), patch.object(loops, "_SECONDS", float("-inf")):
        yield sources


@contextmanager
def compiled_clusters() -> Iterator[list[NativeSource]]:
    """Makes clusters inside the `with` block compile before they run for the first time.

    Yields a list to which the source of each compiled function is added.
    """
    sources: list[NativeSource] = []

    def spy(source: NativeSource, arguments: Sequence[Any]) -> Callable[..., None] | None:
        function = compile_blocks(source, arguments)
        assert function is not None, source.text
        sources.append(source)
        return function

    with patch.object(clusters, "compile_blocks", spy), patch.multiple(clusters, _SECONDS=float("-inf"), _MIN_OPERATIONS=1):
        yield sources
