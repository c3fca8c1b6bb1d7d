"""Fingerprints of instructions, by which a patch finds them in a module that uses other names.

A fingerprint covers everything that an instruction depends on and everything that depends on it,
across the whole module, except for names and metadata. It does not vary between processes.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

from hlotool.differ.canonical import CanonicalForm
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.text.print.printer import to_text

__all__ = ["fingerprints", "text_hash"]

_DIGITS = 8


def fingerprints(module: Module) -> dict[Instruction, str]:
    """Returns the fingerprint of each instruction: two hashes, `OPERANDS.USERS`.

    If several instructions have the same hashes, `.NUMBER/COUNT` is appended. Such instructions are
    numbered in the order of the canonical form.

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


def text_hash(module: Module) -> str:
    """Returns a hash of the text of a module, including its names."""
    return sha256(to_text(module).encode("utf-8", "surrogateescape")).hexdigest()[: 2 * _DIGITS]


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGITS]


def _by_operands(form: CanonicalForm) -> dict[Instruction, str]:
    hashes: dict[Instruction, str] = {}
    # Callees and operands come first.
    for x in form.module.all_instructions():
        operands = " ".join([hashes.get(y, "") for y in x.operands])
        before = " ".join(sorted(hashes.get(y, "") for y in x.control_predecessors)) if x.attributes else ""
        hashes[x] = _hash(f"{form.contents[x]} {operands}, {before}")
    return hashes


def _by_users(form: CanonicalForm) -> dict[Instruction, str]:
    hashes: dict[Instruction, str] = {}
    uses: dict[Instruction, list[str]] = {}
    calls: dict[Computation, list[str]] = {form.module.entry: ["entry"]}
    for computation in reversed(form.module.computations):
        context = _hash(" ".join(sorted(calls.get(computation, ()))))
        for x in reversed(computation.instructions):
            root = "root " if x is computation.root else ""
            text = hashes[x] = _hash(f"{form.contents[x]} {context} {root}{' '.join(sorted(uses.pop(x, ())))}")
            for position, operand in enumerate(x.operands):
                uses.setdefault(operand, []).append(f"{text}:{position}")
            for y in x.control_predecessors if x.attributes else ():
                uses.setdefault(y, []).append(f"{text}:after")
            for position, callee in enumerate(x.called if x.op.calls else ()):
                calls.setdefault(callee, []).append(f"{text}:{position}")
    return hashes
