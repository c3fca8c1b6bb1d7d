"""S033, S043, S044 and W049: spellings that XLA may read differently than authors expect."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.inference import count
from hlotool.text.locate.declarations import has_header, has_percent_sign, is_marked_entry, is_marked_root
from hlotool.text.parse.parser import form_of
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("S033", "S043", stage="lint")
def spelling(facts: Facts) -> Iterator[Finding]:
    """A file begins with a header, and computations end with their ROOT.

    Checks: there is a header `HloModule` (S033); no instruction follows a ROOT, unless the module
    is scheduled (S043).
    """
    source = facts.module.source
    if source is None:
        return
    form = form_of(source.text)
    if form == "headerless":
        yield Finding("S033", None, None, 0, "no 'HloModule' header, so XLA makes up a name", "begin with 'HloModule <name>'")
    if facts.module.is_scheduled or form == "single_instruction":
        return
    for computation in facts.module.computations:
        root = computation.root
        after = sum(x.start > root.start for x in computation.instructions) if root is not computation.instructions[-1] else 0
        if after and is_marked_root(source.text, root):
            verb = "follows" if after == 1 else "follow"
            yield Finding("S043", computation, root, "instruction", f"{count(after, 'instruction')} {verb} ROOT", "write ROOT last")


@module_rule("S044", stage="lint")
def after_entry(facts: Facts) -> Iterator[Finding]:
    """The entry computation comes last.

    Checks: no computation follows the one that is marked ENTRY.
    """
    source, entry = facts.module.source, facts.module.entry
    if source is None or not is_marked_entry(source.text, entry):
        return
    for computation in facts.module.computations:
        if computation.start > entry.end and has_header(source.text, computation):
            message = f"computation '{computation.name}' is after ENTRY, where nothing can call it"
            yield Finding("S044", computation, None, computation.start, message, "move it up and call it, or remove it")


@module_rule("W049", stage="lint")
def percent_signs(facts: Facts) -> Iterator[Finding]:
    """Either all names are written with percent signs, or none are.

    Checks: the definitions of all instructions have a percent sign, or none do. There is one
    finding, at the first name of the rarer kind.
    """
    source = facts.module.source
    if source is None or "%" not in source.text:
        return
    first: dict[bool, tuple[Computation, Instruction]] = {}
    numbers = {True: 0, False: 0}
    for computation in facts.module.computations:
        for x in computation.instructions:
            with_sign = has_percent_sign(source.text, x)
            if with_sign is not None:
                numbers[with_sign] += 1
                first.setdefault(with_sign, (computation, x))
    if len(first) == 2:
        rarer = numbers[True] <= numbers[False]
        computation, x = first[rarer]
        yield Finding("W049", computation, x, "name", "some names are written with % and others without", "run hlotool fmt to unify them")
