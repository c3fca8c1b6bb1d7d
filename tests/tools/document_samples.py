"""Writes the examples in XLA's documentation to files in `samples/documents`.

Usage: `python tests/tools/document_samples.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from documents import ROWS, array, devices, module_of

import hlotool
from hlotool.text.print.printer import header_attributes

FOLDER = Path(__file__).parents[2] / "samples" / "documents"
# XLA's short form without layouts, because all layouts are the default.
OPTIONS = hlotool.PrintOptions(
    print_program_shape=False, print_percent=False, include_layout_in_shapes=False, print_operand_index_annotation_interval=0
)


def written(value: Any) -> str:
    """Returns a value in HLO's text form."""
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))})"
    value = np.asarray(value)
    if value.ndim:
        return "{" + ", ".join(map(written, value)) + "}"
    return str(value).lower().removesuffix(".0")


def sample_text(row: dict[str, Any]) -> str:
    """Returns the text of a sample.

    A comment describes the sample and lists its inputs and its result; the module follows.
    """
    module, sample = module_of(row), row["sample"]
    comment = [sample["about"]]
    if row["level"] == "shape":
        comment.append(f"  result: {module.entry.root.shape.text_without_layout}")
    else:
        inputs = [[array(value) for value in values] for values in devices(row)]
        results = hlotool.evaluate_replicas(module, inputs)
        for replica, (values, result) in enumerate(zip(inputs, results, strict=True)):
            comment += [f"replica {replica}"] * (len(inputs) > 1)
            comment += [f"  {name} = {written(value)}" for name, value in zip(sample["parameters"], values, strict=True)]
            comment.append(f"  result = {written(result)}")
    # Removes the entry layout, which only repeats the shapes of the parameters and of the root.
    layout = dict(header_attributes(module, OPTIONS))["entry_computation_layout"]
    text = hlotool.to_text(module, OPTIONS).replace(f", entry_computation_layout={layout}", "", 1)
    lines = "".join(f"// {line}\n" for line in comment)
    return hlotool.format_text(lines + text)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    texts = {f"{row['sample']['name']}.hlo": sample_text(row) for row in ROWS if "sample" in row}
    for path in FOLDER.glob("*"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
