"""Fixes that are rewrites of the optimizer; the caller of `verifier.fixing` applies them."""

from __future__ import annotations

from hlotool.verifier.fixing import rewriter

__all__: list[str] = []

rewriter("W005", "Use the first of the equal instructions", "cse")
rewriter("W007", "Use the operand", "identities")
rewriter("W008", "Copy once", "copy-of-equal-layout", "copy-of-copy")
rewriter("W009", "Convert once", "convert-of-convert")
rewriter("W010", "Transpose once", "transpose-of-transpose")
rewriter("W011", "Reshape once", "reshape-of-reshape", "bitcast-of-bitcast")
rewriter("W018", "Replace the loop with its result", "loop-without-iterations", "loop-of-one-iteration")
rewriter("W019", "Use the known result", "identities", "of-itself")
rewriter("W020", "Use the element", "element-of-tuple")
rewriter("W021", "Write the result", "fold")
rewriter("W022", "Broadcast a scalar", "constant-of-equal-numbers")
rewriter("W036", "Use a slice", "dynamic-slice-at-constants")
rewriter("W038", "Use a reshape", "reduce-of-single-elements")
rewriter("W043", "Change the layout once", "copy-of-copy")
rewriter("W045", "Use the operand", "concatenate-of-one")
rewriter("W046", "Use the selected value", "select-known", "known-branch")
rewriter("W054", "Omit the padding that is removed", "slice-of-pad")
