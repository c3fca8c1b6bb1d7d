"""S039, S041 and W016: backend configurations, stack frames and names that should lead back to the program."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.inference import count
from hlotool.opdefs.traits import FREE
from hlotool.shapes.json_text import json_error_offset
from hlotool.shapes.strings import unquote
from hlotool.text.print.stack_frames import FRAME_ID
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_TYPED = "API_VERSION_TYPED_FFI"


@module_rule("S039", stage="lint")
def backend_configurations(facts: Facts) -> Iterator[Finding]:
    """A backend configuration that looks like JSON is JSON.

    Checks: configurations in braces, and strings that begin with one; those of custom calls with a typed interface are dictionaries of MLIR.
    Why: XLA keeps the text as it is, and the backend fails long after it was read.
    Bad: `backend_config="{\\"a\\":}"`
    Good: `backend_config={"a":1}`
    """
    judged: dict[str, int] = {}
    for computation in facts.module.computations:
        for x in computation.instructions:
            config = x.backend_config
            if config is None or str(x.attributes.get("api_version", "")) == _TYPED:
                continue
            at = judged.get(config)
            if at is None:
                content = unquote(config) if config.startswith('"') else config
                at = judged[config] = json_error_offset(content) if content.lstrip().startswith("{") else -1
            if at >= 0:
                message = f"backend_config is not valid JSON: unexpected text at offset {at}"
                yield Finding("S039", computation, x, "backend_config value", message)


@module_rule("S041", stage="lint")
def stack_frames(facts: Facts) -> Iterator[Finding]:
    """Metadata points to stack frames that exist.

    Checks: `stack_frame_id` is a row of the table StackFrames, and the rows that it leads to end; reported once for a module, with the
    number of faulty ids.
    Why: whoever asks where an instruction comes from gets no answer, or a wrong one.
    Bad: `metadata={stack_frame_id=7}` in a module without tables
    Good: an id between 1 and the number of frames
    """
    found: dict[int, tuple[Computation, Instruction]] = {}
    for computation in facts.module.computations:
        for x in computation.instructions:
            match = FRAME_ID.search(x.metadata_text) if x.metadata_text is not None and "stack_frame_id=" in x.metadata_text else None
            if match is not None:
                found.setdefault(int(match[1]), (computation, x))
    tables = facts.module.stack_tables if found else None
    parents = [frame.parent_frame_id - 1 for frame in tables.stack_frames] if tables is not None else []
    faulty = [(frame, message) for frame in found if (message := _frame_fault(frame, parents)) is not None]
    if faulty:
        frame, message = faulty[0]
        more = f", and {count(len(faulty) - 1, 'other frame')} likewise" if len(faulty) > 1 else ""
        yield Finding("S041", *found[frame], "metadata[stack_frame_id]", message + more)


def _frame_fault(frame: int, parents: list[int]) -> str | None:
    if not 0 <= frame <= len(parents):
        return f"stack frame {frame} does not exist; the table has {count(len(parents), 'frame')}"
    seen: set[int] = set()
    at = frame
    while 0 < at <= len(parents) and at not in seen:
        seen.add(at)
        at = parents[at - 1]
    return f"the callers of stack frame {frame} go round in a circle" if at in seen else None


@module_rule("W016", stage="lint")
def missing_metadata(facts: Facts) -> Iterator[Finding]:
    """Instructions say which operation of the program they come from.

    Checks: `op_name` in the metadata of whatever computes, outside the bodies of fusions and reductions; reported once for a module.
    Why: profiles show the op_name; without it nobody finds the line to improve.
    Bad: `n = f32[4] negate(p)`
    Good: `n = f32[4] negate(p), metadata={op_name="jit(f)/neg"}`
    """
    bodies = facts.bodies
    first, missing, total = None, 0, 0
    for computation in facts.module.computations:
        for x in computation.instructions if computation not in bodies else ():
            # No profile shows what takes no time.
            if FREE in x.op.traits:
                continue
            total += 1
            if 'op_name="' not in (x.metadata_text or ""):
                missing += 1
                first = first or (computation, x)
    if first is not None:
        more = f" ({missing} of {total} instructions have none)" if missing > 1 else ""
        yield Finding("W016", *first, "opcode", f"'{first[1].name}' has no op_name; profiles cannot name it{more}")
