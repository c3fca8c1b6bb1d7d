"""C006: loops whose body's parameter and result differ in shape."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.opdefs.constraints import difference
from hlotool.shapes.shape import compatible
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("C006", stage="calls")
def while_state(facts: Facts) -> Iterator[Finding]:
    """The body of a while returns the state that it takes.

    Checks: the result of `body` has the shape of its parameter. If the while is written with the
    shape that the body returns, a violation is only a warning, since XLA's verifier accepts it.
    """
    for computation, x in facts.instructions_of("while"):
        body = facts.program_shape(x.attributes["body"])
        if len(body.parameters) != 1 or compatible(body.result, body.parameters[0]) or not compatible(body.result, x.shape):
            continue
        where, returned, taken = difference(body.result, body.parameters[0])
        message = f"{where}the body's result is {returned}, but {where}the parameter of the body is {taken}"
        yield Finding("C006", computation, x, "root of body", message, severity="warning")
