"""S039, S041 and W016: backend configurations, stack frames and the origin of instructions."""

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
    """A backend configuration that looks like JSON is valid JSON.

    Checks: a configuration that begins with a brace, whether quoted or not, is valid JSON. Custom
    calls with the typed interface are not checked, since they have MLIR dictionaries instead.
    """
    offsets: dict[str, int] = {}
    for computation in facts.module.computations:
        for x in computation.instructions:
            config = x.backend_config
            if config is None or str(x.attributes.get("api_version", "")) == _TYPED:
                continue
            at = offsets.get(config)
            if at is None:
                content = unquote(config) if config.startswith('"') else config
                at = offsets[config] = json_error_offset(content) if content.lstrip().startswith("{") else -1
            if at >= 0:
                message = f"backend_config is not valid JSON: unexpected text at offset {at}"
                yield Finding("S039", computation, x, "backend_config value", message)


@module_rule("S041", stage="lint")
def stack_frames(facts: Facts) -> Iterator[Finding]:
    """Metadata refers to stack frames that exist.

    Checks: the frame in `stack_frame_id` is in the module's table of stack frames, and the frame's
    chain of callers ends. There is one finding for each module, with the number of invalid frames.
    """
    users: dict[int, tuple[Computation, Instruction]] = {}
    for computation in facts.module.computations:
        for x in computation.instructions:
            match = FRAME_ID.search(x.metadata_text) if x.metadata_text is not None and "stack_frame_id=" in x.metadata_text else None
            if match is not None:
                users.setdefault(int(match[1]), (computation, x))
    tables = facts.module.stack_tables if users else None
    parents = [frame.parent_frame_id - 1 for frame in tables.stack_frames] if tables is not None else []
    faulty = [(frame, message) for frame in users if (message := _frame_fault(frame, parents)) is not None]
    if faulty:
        frame, message = faulty[0]
        others = len(faulty) - 1
        more = f"; {count(others, 'other frame')} {'is' if others == 1 else 'are'} invalid, too" if others else ""
        yield Finding("S041", *users[frame], "metadata[stack_frame_id]", message + more)


def _frame_fault(frame: int, parents: list[int]) -> str | None:
    if not 0 <= frame <= len(parents):
        return f"stack frame {frame} does not exist; the table has {count(len(parents), 'frame')}"
    seen: set[int] = set()
    at = frame
    while 0 < at <= len(parents) and at not in seen:
        seen.add(at)
        at = parents[at - 1]
    return f"the callers of stack frame {frame} form a cycle" if at in seen else None


@module_rule("W016", stage="lint")
def missing_metadata(facts: Facts) -> Iterator[Finding]:
    """The metadata of an instruction identifies its origin in the program.

    Checks: instructions that take time, outside the bodies of fusions and reductions, have an
    `op_name` in their metadata. There is one finding for each module.
    """
    bodies = facts.bodies
    first, missing, total = None, 0, 0
    for computation in facts.module.computations:
        for x in computation.instructions if computation not in bodies else ():
            # Profiles do not show instructions that take no time.
            if FREE in x.op.traits:
                continue
            total += 1
            if 'op_name="' not in (x.metadata_text or ""):
                missing += 1
                first = first or (computation, x)
    if first is not None:
        more = f" ({missing} of {total} instructions have none)" if missing > 1 else ""
        yield Finding("W016", *first, "opcode", f"'{first[1].name}' has no op_name, so profiles cannot say where it comes from{more}")
