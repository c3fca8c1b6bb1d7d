"""Memory use and output of commands for large constants written as a single number.

Only a run allocates the zeros that `constant(1)` implies.
"""

from __future__ import annotations

import tracemalloc

import pytest

TEXT = "ENTRY e {{ ROOT c = {} constant({}) }}"
COMMANDS = [
    ("print", "--preset", "short"), ("print", "--print-large-constants"), ("print", "--preset", "fingerprint"), ("canon",), ("hash",),
    ("verify", "--select", "ALL", "--exit-zero"), ("python",), ("graph", "--format", "dot"), ("opt",),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(("shape", "number"), [("s8[300000000]", "1"), ("f64[30000,10000]", "-2.5"), ("pred[300000000]", ",")])
def test_commands(cli, command, shape, number):
    tracemalloc.start()
    try:
        result = cli(*command, "-", stdin=TEXT.format(shape, number))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.exit_code == 0, result.stderr
    assert peak < 100_000_000
    assert len(result.stdout) < 100_000


def test_the_difference_of_two_large_constants(cli, file_of):
    tracemalloc.start()
    try:
        result = cli("diff", *(str(file_of(f"{k}.hlo", TEXT.format("s8[300000000]", k))) for k in (1, 2)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "1 of 300000000 elements differs: {0}: 1 -> 2" in result.stdout
    assert peak < 100_000_000


def test_equal_values_have_equal_hashes(cli):
    """Checks that the spelling of a constant does not change the hash.

    The canonical text has the shorter spelling.
    """
    for count in (3, (1 << 20) + 1):
        whole = "{" + ", ".join(["7", *["0"] * (count - 1)]) + "}"
        texts = [TEXT.format(f"s8[{count}]", number) for number in ("7", whole, "007")]
        assert len({cli("hash", "-", stdin=text).stdout for text in texts}) == 1
    assert "constant(7)" in cli("canon", "-", stdin=texts[1]).stdout
