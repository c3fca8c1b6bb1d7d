"""Modules of random operations, and modules from files."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
from instances import module_of, random_instance

import hlotool
from hlotool.ir.model import Module
from hlotool.optimizer.constants import literal_of

__all__ = ["operations", "texts_of"]


def operations(random: Random) -> str:
    """Returns a module of a few random operations on constants and parameters."""
    instances = [random_instance(random) for _ in range(random.randint(1, 4))]
    return with_constants(hlotool.parse(module_of(instances)), [array for x in instances for array in x.arrays], random)


def with_constants(module: Module, arrays: list[np.ndarray], random: Random) -> str:
    """Returns the module with about half of its parameters replaced with constants."""
    with hlotool.Rewriter(module) as rewriter:
        for parameter, array in zip(reversed(module.entry.parameters), reversed(arrays), strict=True):
            if random.random() < 0.5 and parameter.shape.is_array and array.size < 1000:
                literal = literal_of(array, parameter.shape)
                constant = rewriter.insert("constant", after=parameter, shape=parameter.shape, immediate=literal)
                rewriter.replace_all_uses(parameter, constant)
                if not rewriter.is_used(parameter):
                    rewriter.erase_parameter(parameter)
    return hlotool.to_text(module)


def texts_of(path: Path) -> Iterator[str]:
    """Yields the text of a file or, from a file of JSON lines, the `text` field of valid cases."""
    data = (lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()).decode("utf-8", "surrogateescape")
    if ".jsonl" not in path.name:
        yield data
        return
    for line in data.splitlines():
        row = json.loads(line)
        if row.get("label", "ok") == "ok":
            yield row["text"]
