"""W048: spellings that XLA reads only for compatibility."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.text.locate.declarations import has_attribute
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_OLD = {
    "custom-call": (("to_apply", "write called_computations={...}"),),
    "async-update": (("calls", "remove it: the async-start specifies the computation"), ("async_execution_thread", "remove it")),
    "async-done": (("calls", "remove it: the async-start specifies the computation"), ("async_execution_thread", "remove it")),
}


@module_rule("W048", stage="lint")
def legacy_spelling(facts: Facts) -> Iterator[Finding]:
    """Attributes are spelled as XLA prints them.

    Checks: no custom call has `to_apply`; no async-update or async-done has `calls` or
    `async_execution_thread`.
    """
    source = facts.module.source
    if source is None:
        return
    for opcode, attributes in _OLD.items():
        for computation, x in facts.instructions_of(opcode):
            line = source.text[x.start : x.end] if x.start >= 0 else ""
            for name, hint in attributes:
                # The text of the instruction is parsed again only if the name occurs in it.
                if f"{name}=" in line and has_attribute(source.text, x, name):
                    yield Finding(
                        "W048", computation, x, name, f"'{name}' of '{opcode}' is an old spelling that is read only for compatibility", hint
                    )
