"""Elementwise expressions that a rule may rewrite, from the cases of the optimizer.

An expression is an instruction of a case together with its transitive operands, all of which must
be elementwise operations, copies, reshapes, parameters, or values whose elements are all the same
known number. The types and constants of an expression are replaced with others. Because the cases
of all rules are read, the expressions include near misses: one rule may rewrite an expression that
another rule leaves alone because of its type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
from case_files import read_cases

import hlotool
from hlotool.analysis.simplify import constant_value
from hlotool.errors import ParseError
from hlotool.interp.arrays.bits import from_patterns
from hlotool.interp.arrays.dtypes import NUMBERS
from hlotool.ir.model import Instruction, Module
from hlotool.opdefs.algebra import Number
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ELEMENTWISE
from hlotool.optimizer.context import Context
from hlotool.optimizer.opt_report import instruction_text
from hlotool.optimizer.registry import Rule
from hlotool.optimizer.simplify import simplify
from hlotool.shapes.dtype import ELEMENT_TYPES
from proofs.lines import Expression, Line
from proofs.simplest import simplest

__all__ = ["Batch", "Expression", "apply_rule", "cases_of_rules", "expressions_of", "is_elementwise", "typed"]

CASES = Path(__file__).parents[2] / "optimizer"
# Additional lines would be many steps away from the instructions that a rule looks at.
_MAX_LINES = 12
_NUMBERED = re.compile(r"  i(\d+)[xc]")
_ATTRIBUTES = re.compile(r"^\S+ = \S+ [\w-]+\([^)]*\)(?P<attributes>.*)$")


# ---- from cases ----------------------------------------------------------------------------------------------------------


def is_elementwise(rule: Rule) -> bool:
    """Returns whether a rule is about elements.

    At least one of its opcodes must be elementwise, and so must all operand opcodes that the rule
    looks for. A rule may also look for numbers.
    """
    opcodes = [OPS[opcode] for opcode in rule.opcodes]
    looks_for_elements = OPS["constant"] in rule.operands or all(ELEMENTWISE in op.traits for op in rule.operands)
    return any(ELEMENTWISE in op.traits for op in opcodes) and looks_for_elements


@cache
def cases_of_rules() -> tuple[tuple[str, Module], ...]:
    """Returns the modules of all cases of the optimizer, with the names of their files."""
    return tuple((path.stem, hlotool.parse(case.text)) for path in sorted(CASES.glob("*.hlo")) for case in read_cases(path))


@cache
def _expressions() -> tuple[Expression, ...]:
    """Returns the distinct expressions in all cases."""
    roots = (x for _, module in cases_of_rules() for computation in module.computations for x in computation.instructions)
    return tuple(dict.fromkeys(expression for x in roots if ELEMENTWISE in x.op.traits and (expression := _expression(x)) is not None))


def expressions_of(rule: Rule) -> list[Expression]:
    """Returns the expressions whose root a rule may replace.

    These are expressions from cases, and the simplest expressions that use the opcodes of the rule.
    """
    operands = {op.name for op in rule.operands}
    result: dict[Expression, None] = {}
    for expression in (*_expressions(), *map(_without_unused, simplest(rule))):
        root = expression.lines[-1]
        if root.opcode in rule.opcodes and (not operands or operands.intersection(expression.lines[k].opcode for k in root.operands)):
            result.update(dict.fromkeys(_with_directions(expression)))
    return list(result)


def _without_unused(expression: Expression) -> Expression:
    """Returns the expression without unused leaves."""
    used = {len(expression.lines) - 1}
    for k in reversed(range(len(expression.lines))):
        used.update(expression.lines[k].operands if k in used else ())
    positions = {k: number for number, k in enumerate(sorted(used))}
    kept = (expression.lines[k] for k in sorted(used))
    return Expression(tuple(replace(line, operands=tuple(positions[j] for j in line.operands)) for line in kept))


def _with_directions(expression: Expression) -> Iterator[Expression]:
    """Yields the expression with each direction of its comparison, with and without total order.

    An expression that does not have exactly one comparison is yielded unchanged.
    """
    positions = [k for k, line in enumerate(expression.lines) if line.opcode == "compare"]
    if len(positions) != 1:
        yield expression
        return
    (position,) = positions
    for direction, order in product(("EQ", "NE", "LT", "LE", "GT", "GE"), ("", ", type=TOTALORDER")):
        line = replace(expression.lines[position], attributes=f", direction={direction}{order}")
        yield Expression((*expression.lines[:position], line, *expression.lines[position + 1 :]))


def _expression(root: Instruction) -> Expression | None:
    lines: list[Line] = []
    positions: dict[Instruction, int] = {}
    stack = [root]
    while stack:
        x = stack[-1]
        if x in positions:
            stack.pop()
            continue
        if x.op.name in ("copy", "reshape"):
            # These opcodes do not change elements.
            source = x.operands[0]
            if source in positions:
                positions[x] = positions[source]
            else:
                stack.append(source)
            continue
        number = constant_value(x)
        missing = [] if number is not None else [y for y in x.operands if y not in positions]
        if missing:
            stack += reversed(missing)
            continue
        stack.pop()
        line = _line(x, number, positions)
        if line is None or len(lines) == _MAX_LINES:
            return None
        positions[x] = len(lines)
        lines.append(line)
    # Rules do not look at the elements of a copy or reshape, so neither is useful as a root.
    return _with_types(Expression(tuple(lines))) if positions[root] == len(lines) - 1 else None


def _line(x: Instruction, number: Number | None, positions: dict[Instruction, int]) -> Line | None:
    if not x.shape.is_array or x.shape.dynamic:
        return None
    if number is not None:
        return Line(x.shape.element_type, "constant", number=number)
    if x.op.name == "parameter":
        return Line(x.shape.element_type, "parameter")
    match = _ATTRIBUTES.match(instruction_text(_OWNER, x))
    if ELEMENTWISE not in x.op.traits or match is None or "stochastic" in x.op.name:
        return None
    return Line(x.shape.element_type, x.op.name, tuple(positions[y] for y in x.operands), match["attributes"])


_OWNER = hlotool.parse("ENTRY e { ROOT p = f32[] parameter(0) }")


def _with_types(expression: Expression) -> Expression:
    """Returns the expression with its types replaced by t0, t1 and so on.

    As a result, cases that differ only in types yield the same expression.
    """
    names = {name: name if name == "pred" and expression.types != ("pred",) else f"t{k}" for k, name in enumerate(expression.types)}
    names.setdefault("pred", "pred")
    numbers = iter(range(100))
    # Constants are chosen for each type later, so these numbers only tell the constants apart.
    return Expression(
        tuple(
            replace(line, element_type=names[line.element_type], number=None if line.number is None else next(numbers)) for line in expression.lines
        )
    )


# ---- other types and constants ----------------------------------------------------------------------------------------------


def typed(expression: Expression, types: Sequence[str], most: int, seed: int = 0) -> Iterator[Expression]:
    """Yields the expression with these types and with various constants.

    If there are several constants, at most `most` combinations of them are chosen.
    """
    names = dict(zip(expression.types, types, strict=True))
    lines = [replace(line, element_type=names.get(line.element_type, line.element_type)) for line in expression.lines]
    positions = expression.constants
    choices = [_special_numbers(lines[k].element_type) for k in positions]
    if not all(choices):
        return
    combinations = list(product(*choices))
    if len(combinations) > most and len(choices) > 1:
        combinations = _sample(choices, most, Random(seed))
    for numbers in combinations:
        for k, number in zip(positions, numbers, strict=True):
            lines[k] = replace(lines[k], number=number)
        yield Expression(tuple(lines))


def _sample(choices: Sequence[Sequence[Number]], most: int, random: Random) -> list[tuple[Number, ...]]:
    """Returns at most `most` combinations, in which each number occurs at least once if possible.

    Some combinations consist of the k-th choice for each constant.
    """
    result: dict[tuple[Number, ...], None] = {}
    orders = [random.sample(list(c), len(c)) for c in choices]
    for k in range(max(map(len, choices))):
        result[tuple(order[k % len(order)] for order in orders)] = None
    for k in range(min(map(len, choices))):
        result[tuple(c[k] for c in choices)] = None
    while len(result) < most:
        result[tuple(random.choice(c) for c in choices)] = None
    return list(result)[:most]


@cache
def _special_numbers(element_type: str) -> tuple[Number, ...]:
    """Returns the numbers of a type that rules may treat in a special way.

    For a type of up to four bits, these are all numbers. For any other type, they are zeros,
    limits, small numbers and powers of two.
    """
    row = ELEMENT_TYPES[element_type]
    if row.kind == "pred":
        return (0, 1)
    if row.is_integral:
        near = {0, 1, -1, 2, 3, -5, 7, 8, row.maximum, row.minimum, row.maximum - 1, row.minimum + 1, 1 << (row.bits // 2)}
        numbers = range(row.minimum, row.maximum + 1) if row.bits <= 4 else sorted(near)
        return tuple(number for number in numbers if row.minimum <= number <= row.maximum)
    form = row.float_format
    if form is None:
        return ()
    least, greatest = 1 - form.bias, (1 << form.exponent_bits) - 1 - form.bias
    exponents = {least, least + 1, least - form.mantissa_bits, greatest, greatest - 1, greatest - 2, -least, -least - 1, 0, 1, -1, 3}
    numbers = [0.0, -0.0, 3.0, -1.0, -3.0, float("inf"), float("-inf"), float("nan"), *(2.0**e for e in sorted(exponents) if -1074 <= e <= 1023)]
    if row.bits <= 4:
        numbers = [float(x) for x in from_patterns(np.arange(1 << row.bits, dtype=np.uint8), NUMBERS[element_type])]
    held = NUMBERS[element_type].held
    with np.errstate(all="ignore"):
        kept = [x for x in numbers if np.isnan(x) or float(np.array(x, np.float64).astype(held)) == x]
    return tuple({repr(x): x for x in kept if not np.isnan(x) or np.isnan(np.array(x).astype(held).astype(np.float64))}.values())


# ---- modules ----------------------------------------------------------------------------------------------------------------


def apply_rule(module: Module, rule: Rule) -> int:
    """Applies one rule to a module in place, and returns the number of rewrites."""
    table: dict[OpDef, list[Rule]] = {OPS[opcode]: [rule] for opcode in rule.opcodes}
    with Context(module) as context:
        simplify(context, rule.topic, table)
    return context.report.count


class Batch:
    """A module that computes several expressions, which share the parameters of each type."""

    def __init__(self, expressions: Sequence[Expression], size: int) -> None:
        self.size = size
        self.expressions = list(expressions)
        self.valid = [True] * len(self.expressions)
        self.module = self._parsed()

    @property
    def parameters(self) -> list[str]:
        """The element types of the parameters."""
        counts: dict[str, int] = {}
        for x in self.expressions:
            for name in set(x.parameters):
                counts[name] = max(counts.get(name, 0), x.parameters.count(name))
        return [name for name, count in sorted(counts.items()) for _ in range(count)]

    def text(self) -> str:
        """Returns the text of the module without the expressions that are not valid."""
        lines, roots, shapes = [], [], []
        numbers: dict[str, int] = {}
        for k, name in enumerate(self.parameters):
            number = numbers[name] = numbers.get(name, -1) + 1
            lines.append(f"  {name}_p{number} = {name}[{self.size}] parameter({k})")
        for k, x in enumerate(self.expressions):
            if self.valid[k]:
                lines += x.text(f"i{k}", self.size)
                roots.append(f"i{k}x{len(x.lines) - 1}")
                shapes.append(f"{x.lines[-1].element_type}[{self.size}]")
        lines.append(f"  ROOT r = ({', '.join(shapes)}) tuple({', '.join(roots)})")
        return "HloModule m\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n"

    def _parsed(self) -> Module:
        """Returns the module without the expressions whose constants do not exist in their types.

        Rules do not rewrite expressions with other errors.
        """
        while True:
            try:
                return hlotool.parse(self.text())
            except ParseError as error:
                text = self.text().split("\n")
                positions = [match for d in error.diagnostics if (match := _NUMBERED.match(text[d.line - 1]))]
                if not positions:
                    raise
                for match in positions:
                    self.valid[int(match[1])] = False

    def fired(self, rule: Rule) -> list[Expression]:
        """Returns the expressions whose root a rule replaces. Changes the module."""
        before = self.module.entry.root.operands
        apply_rule(self.module, rule)
        after = self.module.entry.root.operands
        expressions = (x for x, is_valid in zip(self.expressions, self.valid, strict=True) if is_valid)
        return [x for x, old, new in zip(expressions, before, after, strict=True) if new is not old]
