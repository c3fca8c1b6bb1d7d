"""The passes that made dumps, for sequences of names that XLA:CPU, XLA:GPU and XLA:TPU write."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlotool.differ.folders.dumps import dump_name, makers

TABLE = Path(__file__).with_name("dump_names.txt").read_text(encoding="utf-8")
SEQUENCES = [[line.split(" => ") for line in block.splitlines()] for block in TABLE.strip().split("\n\n")]


@pytest.mark.parametrize("sequence", SEQUENCES, ids=[rows[0][0] for rows in SEQUENCES])
def test_the_pass_that_ran_between_two_dumps_is_named(sequence):
    names = [dump_name(file) for file, _ in sequence]
    found = ["/".join(filter(None, (maker.pipeline, maker.stage))) for maker in makers(names)]
    assert found == [maker for _, maker in sequence]
