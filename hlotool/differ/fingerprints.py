"""Fingerprints of instructions, by which a patch finds them in a module with other names.

A fingerprint says what an instruction is computed from and what it is used for, over the whole module; names and metadata do not count. It is the
same in every process.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from hlotool.differ.canonical import CanonicalForm
from hlotool.ir.model import Computation, Instruction, Module

__all__ = ["fingerprints"]

_DIGITS = 8


def fingerprints(module: Module) -> dict[Instruction, str]:
    """The fingerprint of each instruction: `OPERANDS.USERS`, two hashes, and `.NUMBER/COUNT` if several have the same hashes.

    Instructions with the same hashes are numbered in the order of the canonical form.

    >>> import hlotool
    >>> first = hlotool.parse("ENTRY e { p = f32[] parameter(0) n = f32[] negate(p) ROOT s = f32[] add(n, p) }")
    >>> second = hlotool.parse("ENTRY main { x = f32[] parameter(0) y = f32[] negate(x) ROOT z = f32[] add(y, x) }")
    >>> fingerprints(first)[first.entry["n"]] == fingerprints(second)[second.entry["y"]]
    True
    """
    form = CanonicalForm(module)
    by_operands = _by_operands(form)
    by_users = _by_users(form)
    hashes = {x: f"{by_operands[x]}.{by_users[x]}" for x in form.module.all_instructions()}
    counts = Counter(hashes.values())
    numbers: Counter[str] = Counter()
    result = {}
    for x, text in hashes.items():
        if counts[text] > 1:
            numbers[text] += 1
            text = f"{text}.{numbers[text]}/{counts[text]}"
        result[form.instructions[x]] = text
    return result


def _hash(parts: Iterable[Any]) -> str:
    return sha256(json.dumps([*parts]).encode()).hexdigest()[:_DIGITS]


def _by_operands(form: CanonicalForm) -> dict[Instruction, str]:
    hashes: dict[Instruction, str] = {}
    # Callees and operands come first.
    for x in form.module.all_instructions():
        before = sorted(hashes.get(y, "") for y in x.control_predecessors)
        hashes[x] = _hash([form.contents[x], [hashes.get(y, "") for y in x.operands], before])
    return hashes


def _by_users(form: CanonicalForm) -> dict[Instruction, str]:
    hashes: dict[Instruction, str] = {}
    uses: dict[Instruction, list[tuple[Any, ...]]] = {}
    calls: dict[Computation, list[tuple[Any, ...]]] = {form.module.entry: [("entry", 0)]}
    for computation in reversed(form.module.computations):
        context = _hash(sorted(calls.get(computation, ())))
        for x in reversed(computation.instructions):
            text = hashes[x] = _hash([form.contents[x], context, x is computation.root, sorted(uses.pop(x, ()))])
            for position, operand in enumerate(x.operands):
                uses.setdefault(operand, []).append((text, position))
            for y in x.control_predecessors:
                uses.setdefault(y, []).append((text, -1))
            for position, callee in enumerate(x.called):
                calls.setdefault(callee, []).append((text, position))
    return hashes
