"""The generator of `hlotool/builder/generated`, which uses the op table.

The generated files contain all builder methods that only forward their arguments. Run `python -m
hlotool.dev methods` to generate them. Unlike functions that look up their arguments in a table,
generated code is fast, and editors and type checkers understand it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from textwrap import indent

from hlotool.builder.names import INTERNAL, SIGNATURES, method_name
from hlotool.dev.examples import ELEMENTWISE, EXAMPLES
from hlotool.opdefs.base import REQUIRED, AttributeSpec, OpDef
from hlotool.opdefs.codecs.enums import ENUMS
from hlotool.opdefs.elementwise import BINARY, UNARY, BinaryRow, UnaryRow
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import TRANSCENDENTAL

__all__ = ["files", "stale", "write"]

_FOLDER = Path(__file__).parents[1] / "builder" / "generated"
_KIND_NAMES = {"pred": "pred", "signed": "signed", "unsigned": "unsigned", "float": "floating-point", "complex": "complex"}

# The annotation of an argument and the expression that converts the argument, by attribute kind.
_KINDS: dict[str, tuple[str, str]] = {
    "Bool": ("bool", "bool({})"),
    "Computation": ("Called", 'self._closed({}, "{}")'),
    "Dims": ("Sequence[int]", 'self._integers({}, "{}")'),
    "Domain": ("DomainMetadata | str", 'self._instance(self._text("{}", {}), DomainMetadata, "{}")'),
    "FirstDim": ("Sequence[int]", 'self._integers({}, "{}")'),
    "Int": ("int", 'self._integer({}, "{}")'),
    "Int32": ("int", 'self._integer({}, "{}")'),
    "Number": ("float", 'self._number({}, "{}")'),
    "OutputAliases": ("Sequence[AliasPair] | str", 'self._instances(self._text("{}", {}), AliasPair, "{}")'),
    "Pairs": ("Sequence[Sequence[int]]", 'tuple([self._integers(pair, "{}") for pair in self._list({}, "{}")])'),
    "ReplicaGroups": ("Groups", "self._groups({})"),
    # None leaves the attribute out; an empty list would mean a collective-permute that works in
    # place.
    "SliceSizeLists": ("Sequence[Sequence[int]]", 'tuple([self._integers(sizes, "{}") for sizes in self._list({}, "{}")]) or None'),
    "Text": ("str", 'self._instance({}, str, "{}")'),
}
_IMPORTS = {
    "hlotool.builder.arguments": ("Called", "Groups", "Operand", "Operands"),
    "hlotool.builder.emitter": ("Emitter",),
    "hlotool.builder.op": ("Op",),
    "hlotool.builder.texts": ("ShapeLike",),
    "hlotool.opdefs.table": ("OPS",),
    "hlotool.shapes.values": ("AliasPair", "DomainMetadata", "ResultAccuracy"),
}
_COMPARISONS = {
    "EQ": "equal to",
    "NE": "different from",
    "GE": "greater than or equal to",
    "GT": "greater than",
    "LE": "less than or equal to",
    "LT": "less than",
}
_TOTAL_ORDER = "-NaN < -inf < -0 < +0 < inf < NaN"


def files() -> dict[str, str]:
    """Returns the text of every generated file, by its name."""
    exact = [row for row in UNARY if not row.accuracy]
    inexact = [row for row in UNARY if row.accuracy]
    direct, internal = ([_direct(OPS[opcode], signature) for opcode, signature in rows.items()] for rows in (SIGNATURES, INTERNAL))
    return {
        "binary.py": _module("BinaryMethods", "Elementwise operations with two operands, which are broadcast.", [*map(_binary, BINARY), _complex()]),
        "comparison.py": _module("ComparisonMethods", "Comparisons of elements.", chain.from_iterable(map(_comparisons, _COMPARISONS))),
        "direct.py": _module("DirectMethods", "Operations whose arguments are operands and attributes of their opcodes.", direct),
        "functions.py": _module("FunctionMethods", "Elementwise mathematical functions, whose accuracy can be chosen.", map(_unary, inexact)),
        "internal.py": _module("InternalMethods", "Operations that compilers write; they are not meant for users.", internal),
        "unary.py": _module("UnaryMethods", "Elementwise operations with one operand.", [*map(_unary, exact), _is_finite()]),
    }


def stale() -> list[str]:
    """Returns the files that are out of date.

    Syntax trees are compared, since the files are formatted after they are generated.
    """
    return [name for name, text in files().items() if not (_FOLDER / name).exists() or _code((_FOLDER / name).read_text("utf-8")) != _code(text)]


def _code(text: str) -> str:
    return ast.dump(ast.parse(text))


def write() -> list[str]:
    """Writes the files that are stale, and returns their names."""
    changed, texts = stale(), files()
    for name in changed:
        (_FOLDER / name).write_text(texts[name], encoding="utf-8")
    return changed


# ---- files -------------------------------------------------------------------------------------


def _module(name: str, doc: str, methods: Iterable[str]) -> str:
    body = "\n".join(methods)
    imports: list[str] = []
    words = {"Emitter", "OPS", *re.findall(r"\w+", body)}
    if "Sequence[" in body:
        imports.append("from collections.abc import Sequence\n")
    for home, names in _IMPORTS.items():
        used = [word for word in names if word in words]
        if used:
            imports.append(f"from {home} import {', '.join(used)}")
    opcodes = sorted({word.split('"')[1] for word in body.split("OPS[")[1:]})
    constants = "".join(f'{_constant(opcode)} = OPS["{opcode}"]\n' for opcode in opcodes)
    for opcode in opcodes:
        body = body.replace(f'OPS["{opcode}"]', _constant(opcode))
    lines = "\n".join(imports)
    return (
        f'"""{doc}\n\nGenerated by `python -m hlotool.dev methods`; edit `hlotool/dev/methods.py` or the op table instead.\n"""\n\n'
        f'from __future__ import annotations\n\n{lines}\n\n__all__ = ["{name}"]\n\n{constants}\n\n'
        f'class {name}(Emitter):\n    """{doc}"""\n\n{body}'
    )


def _constant(opcode: str) -> str:
    return "_" + opcode.upper().replace("-", "_")


def _doctest(name: str, *, inexact: bool = False) -> str:
    """Returns the example of a method, and the end of its docstring."""
    if name in ELEMENTWISE:
        arguments, result = ELEMENTWISE[name]
        call = f"hlotool.evaluate(b.build(b.{name}({arguments})), [])" + ".round(4)" * inexact
        text = f'>>> b = hlotool.Builder("demo")\n>>> {call}\n{result}'
    else:
        text = EXAMPLES[name].strip()
    return indent(f'>>> import hlotool\n{text}\n"""\n', " " * 8)


def _kinds_text(kinds: Iterable[str]) -> str:
    names = [_KIND_NAMES[kind] for kind in kinds]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


def _first_sentences(doc: str) -> str:
    return doc.split("\n\n", maxsplit=1)[0].replace("\n", " ")


# ---- elementwise -------------------------------------------------------------------------------


def _unary(row: UnaryRow) -> str:
    name = method_name(row.name)
    accuracy = ", result_accuracy: ResultAccuracy | str | None = None" if row.accuracy else ""
    passed = ", self._accuracy(result_accuracy)" if row.accuracy else ""
    return (
        f"    def {name}(self, operand: Operand{accuracy}) -> Op:\n"
        f'        """{row.doc}\n\n'
        f"        Raises BuilderError unless `operand` is {_kinds_text(row.kinds)}.\n\n"
        + _doctest(name, inexact=row.accuracy)
        + f'        return self._emit(OPS["{row.name}"], (self._operand(operand, "operand"),){passed})\n'
    )


def _is_finite() -> str:
    return (
        "    def is_finite(self, operand: Operand) -> Op:\n"
        f'        """{_first_sentences(OPS["is-finite"].doc)}\n\n'
        "        The result is pred. Raises BuilderError unless `operand` is floating-point.\n\n"
        + _doctest("is_finite")
        + '        return self._emit(OPS["is-finite"], (self._operand(operand, "operand"),))\n'
    )


def _binary_method(name: str, opcode: str, doc: str, about: str, passed: str = "") -> str:
    return (
        f"    def {name}(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Sequence[int] = ()) -> Op:\n"
        f'        """{doc}\n\n        {about}\n\n'
        + _doctest(name, inexact=TRANSCENDENTAL in OPS[opcode].traits)
        + f'        return self._binary(OPS["{opcode}"], lhs, rhs, broadcast_dimensions{passed})\n'
    )


def _binary(row: BinaryRow) -> str:
    kinds = row.strict_kinds or row.kinds
    about = f"The operands are broadcast.\n        Raises BuilderError unless they are {_kinds_text(kinds)}."
    return _binary_method(method_name(row.name), row.name, _first_sentences(row.doc), about)


def _complex() -> str:
    about = "The operands are broadcast. The result is c64 or c128.\n        Raises BuilderError unless the operands are f32 or f64."
    return _binary_method("complex", "complex", _first_sentences(OPS["complex"].doc), about)


def _comparisons(direction: str) -> tuple[str, str]:
    name, about = direction.lower(), "The operands are broadcast. Raises BuilderError unless they are arrays of the same type."
    doc = f"Returns whether each element of lhs is {_COMPARISONS[direction]} that of rhs"
    plain = _binary_method(name, "compare", f"{doc}.", about, f', {{"direction": "{direction}"}}')
    total = f"{name}_total_order"
    ordered = _binary_method(total, "compare", f"{doc}.\n\n        The order is total: {_TOTAL_ORDER}.", about)
    return plain, ordered.replace('_binary(OPS["compare"], ', f'_total_order("{direction}", ')


# ---- operands and attributes -------------------------------------------------------------------


def _direct(op: OpDef, signature: str) -> str:
    """Returns the code of a method with operands and attributes in the order of `signature`."""
    renamed = dict(word.partition("=")[::2] for word in signature.split())
    called = {source or name: name for name, source in renamed.items()}
    parameters: list[str] = []
    operands: list[str] = []
    attributes: list[str] = []
    shape = "None"
    for source, name in called.items():
        spec = op.attributes.get(source)
        if spec is not None:
            annotation, expression = _conversion(spec, name)
            parameters.append(f"{name}: {annotation}")
            attributes.append(f'"{source}": {expression}')
        elif source == "shape":
            parameters.append("shape: ShapeLike")
            shape = "self._shape(shape)"
        elif source == "shape?":
            parameters.append("shape: ShapeLike | None = None")
            shape = "None if shape is None else self._shape(shape)"
        elif source == "operands":
            parameters.append("operands: Operands")
        else:
            parameters.append(f"{name}: Operand")
            operands.append(f'self._operand({name}, "{name}")')
    passed = 'self._operands(operands, "operands")' if "operands" in called else f"({', '.join(operands)}{',' if len(operands) == 1 else ''})"
    arguments = f'OPS["{op.name}"], {passed}'
    values = f"{{{', '.join(attributes)}}}" if attributes else "None"
    body = (
        f"        return self._emit({arguments}, {values}, {shape})\n" if shape != "None" else f"        return self._emit({arguments}, {values})\n"
    )
    body = body.replace(", None)", ")")
    doc = _first_sentences(op.doc)
    return (
        f"    def {method_name(op.name)}({', '.join(['self', *_defaults_last(parameters)])}) -> Op:\n"
        f'        """{doc}\n\n        Raises BuilderError if the arguments do not fit.\n\n' + _doctest(method_name(op.name)) + body
    )


def _defaults_last(parameters: list[str]) -> list[str]:
    """Inserts `*` if a parameter without a default follows one that has a default.

    Parameters after the `*` can only be passed by name.
    """
    first = next((k for k, parameter in enumerate(parameters) if " = " in parameter), len(parameters))
    late = next((k for k in range(first, len(parameters)) if " = " not in parameters[k]), None)
    return parameters if late is None else [*parameters[:first], "*", *parameters[first:]]


# Attributes that XLA's documentation requires, although the text format has defaults for them.
_REQUIRED = {"lower", "left_side", "unit_diagonal", "transpose_a"}


def _conversion(spec: AttributeSpec, name: str) -> tuple[str, str]:
    annotation, expression = _KINDS.get(spec.kind, ("str", f'self._word("{spec.kind}", {{}}, "{{}}")'))
    assert spec.kind in _KINDS or spec.kind in ENUMS, spec
    expression = expression.replace('"{}"', f'"{name}"').replace("{}", name)
    if spec.default is REQUIRED or spec.name in _REQUIRED:
        return annotation, expression
    if spec.default is None:
        return f"{annotation} | None = None", f"{expression} if {name} is not None else None"
    return f"{annotation} = {spec.default!r}".replace("'", '"'), expression
