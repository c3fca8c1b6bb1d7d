"""The canonical form of a module, free of names, metadata and meaningless order, and its hash.

The scheme, version `hlo1`:

* Instructions have no metadata and no redundant attributes. Backend configurations are JSON with
  sorted keys. Constants are identified by their bits. If an array has more than 2^20 elements and
  all but the first are 0, only its first element is written, and XLA fills in the zeros.
* If the module is not scheduled, the parameters of a computation come first, by number. Then come
  the instructions that the root depends on, each after its operands, which are visited in their
  order. The remaining instructions follow, ordered by the values that they depend on
  (`canonical_order.py`).
* Callees come before callers, in the order of the calls.
* Computations are named `computation0`, `computation1`, ...; the instructions of `computation1` are
  named `v0.1`, `v1.1`, ...; the module is named `m`.

A hash is a prefix of the SHA-256 of the resulting text. Any change to the form requires a new
version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from hlotool.differ.canonical_order import canonical_order, digest
from hlotool.differ.matching.instruction_parts import COMPARED_SEPARATELY, attribute_differences, configuration
from hlotool.ir.clone import clone_instruction, clone_module, set_field
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.literals.data import element_bytes
from hlotool.literals.literal import ELIDED, MAX_WRITTEN, Literal, abbreviated, decode, literal_from_bytes, tuple_literal
from hlotool.literals.print import literal_text
from hlotool.opdefs.base import REQUIRED
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.record import Record
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import array_shape
from hlotool.text.print.instruction import InstructionWriter
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.printer import to_text

__all__ = ["VERSION", "CanonicalForm", "Hashes", "canonical", "canonical_text", "hash_computations", "hash_module", "hashes"]

VERSION = "hlo1"
"""The version of the scheme, a prefix of each hash. Hashes of different versions are unrelated."""

_OPTIONS = PrintOptions(print_percent=False, print_program_shape=False, print_operand_index_annotation_interval=0)
_DIGITS = 32


class Hashes(Record):
    """The hash of a module, and the hashes of its computations by name.

    The hash of a computation covers its callees, but not how many copies of them exist. So even if
    the entries of two modules have the same hash, the modules may differ in the number of copies.
    """

    module: str
    computations: dict[str, str]


def canonical_text(module: Module) -> str:
    """Returns the text of the canonical form.

    The text parses to a module that differs from `module` only in names, metadata and meaningless
    order.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { one = f32[] constant(1e0) p = f32[] parameter(0) ROOT s = f32[] add(p, one) }")
    >>> print(canonical_text(module), end="")
    HloModule m, entry_computation_layout={(f32[])->f32[]}
    <BLANKLINE>
    ENTRY computation0 {
      v0.0 = f32[] parameter(0)
      v1.0 = f32[] constant(1)
      ROOT v2.0 = f32[] add(v0.0, v1.0)
    }
    """
    return _text(canonical(module))


def _text(module: Module) -> str:
    return to_text(module, _OPTIONS).rstrip("\n") + "\n"


def canonical(module: Module) -> Module:
    """Returns the canonical form of a module; the module itself is not changed."""
    return CanonicalForm(module).module


def hashes(module: Module) -> Hashes:
    """Returns the hashes of a module and of its computations.

    Two modules have equal hashes if they differ only in names, metadata and meaningless order.

    >>> import hlotool
    >>> first = hashes(hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }"))
    >>> second = hashes(hlotool.parse("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] negate(x), metadata={op_name=\\"neg\\"} }"))
    >>> first.module == second.module, first.computations["e"] == second.computations["main"]
    (True, True)
    """
    form = CanonicalForm(module)
    names = {copy: original.name for copy, original in form.originals.items() if original not in module.hidden}
    digests = {names[copy]: _hash(form.digests[copy]) for copy in form.originals if copy in names}
    return Hashes(form.hash, digests)


def hash_module(module: Module) -> str:
    """Returns the hash of a module, as `hlotool hash` prints it.

    Modules with the same hash differ at most in names, metadata, spelling and meaningless order.

    >>> import hlotool
    >>> hash_module(hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }"))
    'hlo1:3981d07a11cc7654ef31b8ee5e364c7b'
    """
    return hashes(module).module


def hash_computations(module: Module) -> dict[str, str]:
    """Returns the hashes of the computations of a module by name.

    They are the hashes that `hlotool hash --computations` prints.

    >>> import hlotool
    >>> module = hlotool.parse("a { ROOT p = f32[] parameter(0) } b { ROOT q = f32[] parameter(0) } ENTRY e { ROOT x = f32[] parameter(0) }")
    >>> digests = hash_computations(module)
    >>> sorted(digests), digests["a"] == digests["b"]
    (['a', 'b', 'e'], True)
    """
    return hashes(module).computations


def _hash(digest: str) -> str:
    return f"{VERSION}:{digest[:_DIGITS]}"


class CanonicalForm:
    """A copy of a module in its canonical form.

    `originals` and `instructions` map the copied computations and instructions to their originals.
    `digests` maps the copied computations to their digests. `contents` maps the copied instructions
    to digests that cover everything except names, metadata and operands.

    >>> import hlotool
    >>> form = CanonicalForm(hlotool.parse("ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) ROOT b = f32[] abs(a) }"))
    >>> p, a, b = form.module.entry.instructions
    >>> form.contents[a] == form.contents[b], form.contents[a] == form.contents[p]
    (True, False)
    """

    def __init__(self, original: Module) -> None:
        module: Module = clone_module(original)
        self.module = module
        self.originals = dict(zip(module.computations, original.computations, strict=True))
        self.instructions = dict(zip(module.all_instructions(), original.all_instructions(), strict=True))
        self.contents: dict[Instruction, str] = {}
        module.hidden = set()
        module.source = None
        module.stack_tables_text = None
        module.attributes = {name: value for name, value in module.attributes.items() if not _is_header_default(name, value)}
        self._attributes: dict[Any, Any] = {}
        self._descriptions: dict[Any, str] = {}
        for x in module.all_instructions():
            self._normalize(x)
        self.digests: dict[Computation, str] = {}
        self._writer = InstructionWriter(module, _OPTIONS, _Nameless(), _Nameless(), None, lambda _computation, _level: "")
        for computation in _callees_first(module.computations):
            self._arrange(computation)
        self._rename()

    @property
    def hash(self) -> str:
        """The hash of the module."""
        return _hash(sha256(_text(self.module).encode("utf-8", "surrogatepass")).hexdigest())

    # ---- instructions ---------------------------------------------------------------------------

    def _normalize(self, x: Instruction) -> None:
        if not x.op.calls:
            # The root of an asynchronous call's computation has the annotations of the call, even
            # if the text of the root does not repeat them.
            self.module.notes.forget_written(x)
        attributes = self._own_attributes(x)
        if attributes is not x.attributes:
            set_field(x, "attributes", attributes)
        set_field(x, "metadata_text", None)
        set_field(x, "start", -1)
        set_field(x, "end", -1)
        if x.backend_config is not None:
            value = configuration(x.backend_config)
            if isinstance(value, dict | list):
                set_field(x, "backend_config", json.dumps(value, sort_keys=True, separators=(",", ":")))
        if isinstance(x.immediate, Literal):
            set_field(x, "immediate", _with_bits(x.immediate))

    def _own_attributes(self, x: Instruction) -> Any:
        """Returns the attributes that are not redundant."""
        key = (x.op, id(x.attributes), x.shape, tuple([operand.shape for operand in x.operands]) if x.op.operand_defaults else ())
        known = self._attributes.get(key)
        if known is None:
            dropped = [name for name in x.attributes if _is_redundant(x, name)]
            known = x.attributes.changed(dict.fromkeys(dropped)) if dropped else x.attributes
            # Keeping the original attributes alive prevents other objects from getting the same
            # `id`.
            known = self._attributes[key] = (known, x.attributes)
        return known[0]

    # ---- the order of a computation -------------------------------------------------------------

    def _arrange(self, computation: Computation) -> None:
        """Puts the instructions in canonical order and computes the digest of the computation."""
        texts = {x: self._cached_description(x) for x in computation.instructions}
        self.contents |= texts
        if not self.module.is_scheduled:
            computation.instructions[:] = canonical_order(computation, texts)
        numbers = {x: number for number, x in enumerate(computation.instructions)}
        for x in computation.instructions:
            if len(x.control_predecessors) > 1:
                first = sorted(x.control_predecessors, key=lambda y: numbers.get(y, -1))
                set_field(x, "attributes", x.attributes.changed({"control-predecessors": tuple(first)}))
        rows = [(texts[x], [numbers[y] for y in x.operands], [numbers.get(y, -1) for y in x.control_predecessors]) for x in computation.instructions]
        self.digests[computation] = digest([self.module.is_scheduled, numbers.get(computation.root, -1), rows])

    def _cached_description(self, x: Instruction) -> str:
        """Returns a digest of an instruction with its callees, but without operands and names."""
        if x.immediate is not None or x.op.calls or x.op.operand_defaults or x.op.derived:
            return self._description(x)
        # An `id` is a safe key: the attributes live as long as the copy, which no longer changes.
        key = x.op, x.shape, id(x.attributes), x.backend_config
        known = self._descriptions.get(key)
        if known is None:
            known = self._descriptions[key] = self._description(x)
        return known

    def _description(self, x: Instruction) -> str:
        if isinstance(x.immediate, Literal):
            immediate: Any = [_digits(leaf) for leaf in x.immediate.leaves()]
        else:
            immediate = x.immediate
        attributes = "".join(self._writer.attributes_of(x))
        return digest([x.op.name, x.shape.text, attributes, immediate, [self.digests.get(callee, "") for callee in x.called]])

    # ---- names ----------------------------------------------------------------------------------

    def _rename(self) -> None:
        module = self.module
        called = {callee for x in module.all_instructions() for callee in x.called}
        uncalled = sorted((c for c in module.computations if c not in called and c is not module.entry), key=lambda c: self.digests[c])
        module.computations = list(_callees_first([*uncalled, module.entry, *module.computations]))
        module.name = "m"
        for number, computation in enumerate(module.computations):
            computation.name = f"computation{number}"
            computation.start = -1
            for k, x in enumerate(computation.instructions):
                set_field(x, "name", f"v{k}.{number}")


class _Nameless(dict[Any, str]):
    def __missing__(self, node: Any) -> str:
        return ""


def _is_header_default(name: str, value: Any) -> bool:
    spec = MODULE_ATTRIBUTES.get(name)
    return spec is not None and bool(value == spec.default)


def _is_redundant(x: Instruction, name: str) -> bool:
    """Returns whether an attribute is redundant: the instruction means the same without it."""
    if name in COMPARED_SEPARATELY:
        return not x.attributes[name]
    spec = x.op.attributes.get(name)
    if spec is not None and spec.default is REQUIRED:
        return False
    if any(callee in x.called for callee in _computations(x.attributes[name])):
        return False
    without = clone_instruction(x)
    set_field(without, "attributes", x.attributes.changed({name: None}))
    return not attribute_differences(x, without)


def _computations(value: Any) -> list[Computation]:
    values = value if isinstance(value, tuple) else (value,)
    return [part for part in values if isinstance(part, Computation)]


def _with_bits(literal: Literal) -> Literal:
    """Returns the literal with its numbers as bits instead of text."""
    if literal.shape.is_tuple:
        return tuple_literal([_with_bits(leaf) for leaf in literal.elements])
    if literal.elided or not literal.shape.is_array:
        return literal
    if literal.element_count > MAX_WRITTEN:
        first = abbreviated(literal)
        data = decode(first)
        size = element_bytes(ELEMENT_TYPES[literal.shape.element_type])
        if data.count(0, size) == len(data) - size:
            text = literal_text(literal_from_bytes(array_shape(literal.shape.element_type), data[:size]))
            return Literal(literal.shape, text)
    return literal_from_bytes(literal.shape, decode(literal))


def _digits(leaf: Literal) -> str:
    if leaf.elided or not leaf.shape.is_array:
        return ELIDED if leaf.elided else ""
    return literal_text(leaf) if leaf.is_abbreviated else decode(leaf).hex()


def _callees_first(computations: Iterable[Computation]) -> Iterator[Computation]:
    """Yields all computations, each after its callees; callees come in the order of the calls."""
    seen: set[Computation] = set()
    done: set[Computation] = set()
    for start in computations:
        stack = [start]
        while stack:
            computation = stack[-1]
            if computation in seen:
                stack.pop()
                if computation not in done:
                    done.add(computation)
                    yield computation
                continue
            seen.add(computation)
            callees = dict.fromkeys(callee for x in computation.instructions for callee in x.called)
            stack += [callee for callee in reversed(callees) if callee not in seen]
