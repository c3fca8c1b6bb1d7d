"""Edits documents at random, and compares the server's state with the state of a new document.

Usage: `python tests/tools/fuzz_server.py [--count 2000] [--seed 0] [FILE...]`; without files, the
samples are edited. The states are compared after most edits. After some comparisons, requests of
all kinds are made at random positions; no request may raise an exception.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types

from hlotool.errors import HlotoolError
from hlotool.ir.model import Module
from hlotool.server import actions, completion, formatting, hints, hover, lenses, navigation, renaming, signatures, symbols, tokens
from hlotool.server.diagnostics import findings_in, to_diagnostics
from hlotool.server.documents import Document
from hlotool.text.print.printer import to_text
from hlotool.text.source.files import read_text
from hlotool.workspace.rules import RuleChoice
from hlotool.workspace.settings import Settings

__all__ = ["Difference", "edited_at_random", "sample_texts"]

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
_CHECKS = RuleChoice(extend_select=("W",)).checks_for("m.hlo", Settings({}, None))
_PIECES = (
    "", " ", "\n", "\r\n", "\r", "x", "%", "(", ")", "{", "}", "[", "]", ",", "=", '"', "/*", "*/", "//", "é", "😀", "\0", "ROOT ", "ENTRY e {",
    "f32[4]", "add(p, p)", "p", ", to_apply=add", ", metadata={op_name=\"a\"}", "// -----\n", "HloModule m\n", "}\n\nf {\n", "constant({1,2})",
    "  x = f32[] parameter(0)\n", "// hlotool: ignore[W001]", "\ud800", "\ufeff",
)  # fmt: skip
_MAX_DELETION_LENGTH = 30


class Difference(AssertionError):
    """Raised if the server's state after edits differs from the state of a new document."""


def sample_texts() -> list[str]:
    """Returns the contents of the short samples."""
    return [text for path in sorted(SAMPLES.glob("*.hlo")) if len(text := path.read_text(encoding="utf-8")) < 6000]


def random_change(document: Document, chance: random.Random) -> types.TextDocumentContentChangeEvent:
    """Returns an edit: typed, deleted or replaced text, or a line copied elsewhere."""
    text = document.text
    start = chance.randrange(len(text) + 1)
    end, new = start, chance.choice(_PIECES)
    kind = chance.random()
    if kind < 0.3:
        end, new = min(len(text), start + chance.randrange(_MAX_DELETION_LENGTH)), ""
    elif kind < 0.5:
        end = min(len(text), start + chance.randrange(4))
    elif kind < 0.6:
        # Copies a line to another position.
        low = text.rfind("\n", 0, start) + 1
        new = text[low : text.find("\n", start) + 1]
        start = end = text.rfind("\n", 0, chance.randrange(len(text) + 1)) + 1
    elif kind < 0.62:
        return types.TextDocumentContentChangeWholeDocument(text[: len(text) // 2])
    return types.TextDocumentContentChangePartial(document.lines.range(start, end), new)


def known(document: Document) -> tuple[Any, ...]:
    """Returns the part of a document's state that is compared."""
    found = to_diagnostics(document, findings_in(document, _CHECKS)), symbols.document_symbols(document)
    return *found, [(to_text(part.module), list(nodes(part.module))) for part in document.modules]


def nodes(module: Module) -> Iterator[tuple[str, int, int]]:
    """Yields the names and spans of all computations and instructions.

    Checks that computations and instructions refer only to each other, not to another module.
    """
    computations = set(module.computations)
    for computation in module.computations:
        instructions = set(computation.instructions)
        yield computation.name, computation.start, computation.end
        for x in computation.instructions:
            assert instructions.issuperset(x.operands), "an operand is not in the computation"
            assert instructions.issuperset(x.control_predecessors), "a control predecessor is not in the computation"
            assert computations.issuperset(x.called), "a computation that is called is not in the module"
            yield x.name, x.start, x.end


def random_place(document: Document, chance: random.Random) -> tuple[types.Position, types.Range]:
    position = chance.randrange(len(document.text) + 1)
    area = document.lines.range(position, min(len(document.text), position + chance.randrange(200)))
    return document.lines.position(position), area


def ask_view(document: Document, chance: random.Random) -> None:
    """Makes all requests that are answered even before the text has been parsed."""
    position, area = random_place(document, chance)
    completion.complete(document, position, with_snippets=True)
    signatures.signature(document, position)
    tokens.tokens(document)
    view = document.view
    hover.hover(view, position)
    navigation.definition(view, position)
    navigation.reference_locations(view, position)
    navigation.highlights(view, position)
    navigation.links(view)
    item = navigation.call_item(view, position)
    if item is not None:
        navigation.incoming_calls(view, item)
        navigation.outgoing_calls(view, item)
    hints.hints(view, area)
    lenses.lenses(view)
    symbols.document_symbols(view)
    symbols.folding_ranges(view)
    symbols.selection_ranges(view, [position])
    symbols.workspace_symbols([view], "a")


def ask_everything(document: Document, chance: random.Random) -> None:
    """Makes all requests at a random position."""
    ask_view(document, chance)
    position, area = random_place(document, chance)
    formatting.format_range(document, area)
    formatting.format_on_type(document, position, "\n")
    renaming.prepare_rename(document, position)
    request = actions.ActionRequest(findings_in(document, _CHECKS), _CHECKS)
    actions.actions(document, area, types.CodeActionContext([]), request)
    try:
        renaming.rename(document, position, "new")
    except HlotoolError:
        # Not every position has a name that can be changed.
        return


def edited_at_random(texts: Sequence[str], seed: int, edits: int = 12) -> int:
    """Edits one of the texts, and returns the number of edits. Raises Difference."""
    chance = random.Random(seed)
    document = Document("file:///m.hlo", chance.choice(texts))
    for version in range(1, edits + 1):
        changes = [random_change(document, chance)]
        document = document.apply_changes(changes, version)
        if chance.random() < 0.3:
            # The next edit arrives before the text has been parsed.
            ask_view(document, chance)
            continue
        fresh = Document("file:///m.hlo", document.text)
        if known(document) != known(fresh):
            raise Difference(f"seed {seed}, edit {version}: the state differs from that of a new document with the same text\n{document.text}")
        if chance.random() < 0.3:
            ask_everything(document, chance)
    return edits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--edits", type=int, default=12)
    options = parser.parse_args()
    texts = [read_text(file) for file in options.files] or sample_texts()
    start, edits, sizes = time.perf_counter(), 0, []
    for seed in range(options.seed, options.seed + options.count):
        edits += edited_at_random(texts, seed, options.edits)
        if seed % 100 == 99:
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    taken = time.perf_counter() - start
    memory = ", ".join(f"{size:.0f}" for size in sizes)
    print(f"{options.count} sequences, {edits} edits in {taken:.0f} s, no difference; largest memory in MB: {memory}")


if __name__ == "__main__":
    main()
