"""S024: signatures whose parameters differ from the parameters of the computation."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.inference import count
from hlotool.text.locate.declarations import has_header, signature_parameters
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_HINT = "correct the signature or remove it"


@module_rule("S024", stage="lint")
def signatures(facts: Facts) -> Iterator[Finding]:
    """The signature of a computation matches its parameters.

    Checks: the number, names and shapes of the parameters in a computation's header are those of
    its parameter instructions.
    """
    source = facts.module.source
    if source is None:
        return
    for computation in facts.module.computations:
        if not has_header(source.text, computation):
            continue
        parameters = computation.parameters
        if not _is_printed_form(source.text, computation, parameters):
            declared = signature_parameters(source.text, computation)
            if declared is not None:
                yield from _differences(computation, parameters, declared)


def _is_printed_form(text: str, computation: Computation, parameters: list[Instruction]) -> bool:
    """Returns whether the header is spelled as XLA prints it, so that it need not be parsed."""
    start = text.find("(", computation.start)
    written = ", ".join([f"{p.name}: {p.shape.text_without_layout}" for p in parameters])
    return start >= 0 and text.startswith(written + ") -> ", start + 1)


def _differences(computation: Computation, parameters: list[Instruction], declared: list[tuple[int, str, str]]) -> Iterator[Finding]:
    if len(declared) != len(parameters):
        message = f"the signature of '{computation.name}' has {count(len(declared), 'parameter')}, but the computation has {len(parameters)}"
        yield Finding("S024", computation, None, declared[0][0] if declared else computation.start, message, _HINT)
        return
    for k, ((at, name, shape), parameter) in enumerate(zip(declared, parameters, strict=True)):
        if name != parameter.name:
            message = f"the signature names parameter {k} '{name}', but the instruction is '{parameter.name}'"
        elif _without_whitespace(shape) not in (_without_whitespace(parameter.shape.text_without_layout), _without_whitespace(parameter.shape.text)):
            message = f"the signature says that parameter {k} is {shape}, but '{parameter.name}' is {parameter.shape.text_without_layout}"
        else:
            continue
        yield Finding("S024", computation, None, at, message, _HINT)
        return


def _without_whitespace(text: str) -> str:
    return "".join(text.split())
