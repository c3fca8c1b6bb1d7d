"""A user's program that mentions every public type; `mypy --strict` and pyright check it."""

from __future__ import annotations

from typing import Any

import hlotool


def shapes(module: hlotool.Module) -> dict[str, hlotool.Shape]:
    computation: hlotool.Computation = module.entry
    return {instruction.name: instruction.shape for instruction in computation.instructions}


def constants(module: hlotool.Module) -> list[hlotool.Literal]:
    found: list[hlotool.Literal] = []
    for instruction in module.all_instructions():
        literal: hlotool.Literal | None = instruction.literal
        if literal is not None:
            found.append(literal)
    return found


def order(instruction: hlotool.Instruction) -> tuple[int, ...] | None:
    layout: hlotool.Layout | None = instruction.shape.layout
    return None if layout is None else layout.minor_to_major


def widened(module: hlotool.Module) -> hlotool.Module:
    try:
        with hlotool.Rewriter(module) as rewriter:
            rewriter.insert("convert", [module.entry.root], shape="f32[2]", into=module.entry)
    except hlotool.EditError as error:
        problems: list[hlotool.Diagnostic] = error.diagnostics
        print(problems)
    return module


def built() -> hlotool.Module:
    b = hlotool.Builder("demo")
    x: hlotool.Op = b.parameter(0, hlotool.shape("f32[2]"))
    try:
        return b.build(x + x)
    except hlotool.BuilderError as error:
        raise SystemExit(str(error)) from error


def compared(left: hlotool.Module, right: hlotool.Module) -> hlotool.Module:
    delta: hlotool.Delta = hlotool.diff(left, right)
    try:
        patch: hlotool.Patch = hlotool.Patch(delta.to_patch())
        return hlotool.apply_patch(left, patch)
    except hlotool.PatchError as error:
        print(error.messages)
        return left


def optimized(module: hlotool.Module) -> hlotool.OptimizedModule:
    return hlotool.optimize(module, ["fold", "dce"], options=hlotool.OptimizeOptions(explain=True))


def called(call: hlotool.CustomCall) -> hlotool.Token | None:
    return None if call.target else hlotool.Token()


def run(module: hlotool.Module, arguments: list[Any]) -> Any:
    options = hlotool.RunOptions(custom_calls={"target": lambda x: x}, queues=hlotool.HostQueues())
    try:
        compiled: hlotool.CompiledModule = hlotool.compile(module, options=options)
        return compiled(*arguments)
    except (hlotool.EvaluationError, hlotool.HlotoolError) as error:
        return error.exit_code


def printed(text: str) -> str:
    try:
        module = hlotool.parse(text)
        found: list[hlotool.Diagnostic] = hlotool.verify(module, hlotool.VerifyModes(layout_sensitive=True))
        picture: str | bytes = hlotool.to_graph(module, "mermaid", hlotool.GraphOptions(depth=1))
    except (hlotool.ParseError, hlotool.GraphError) as error:
        return str(error)
    print(len(found), len(picture), hlotool.hash_module(module), hlotool.hash_computations(module), hlotool.canonical_text(module))
    return hlotool.to_text(module, hlotool.PrintOptions(print_metadata=False)) + hlotool.format_text(text, hlotool.FormatStyle(width=100))


def misspelled() -> object:
    # The comment is an error if a type checker accepts the name.
    return hlotool.optimise  # type: ignore[attr-defined]
