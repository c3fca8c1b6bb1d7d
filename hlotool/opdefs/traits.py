"""Traits of opcodes, which their definitions list.

Rules, analyses and the interpreter query traits instead of opcodes, so a new opcode needs no
changes there. Relations between two opcodes, and algebra, are slots of `opdefs.base.OpDef`.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ACCUMULATED",
    "ANY_SIGNATURE",
    "ASSOCIATIVE",
    "CHEAP",
    "COLLECTIVE",
    "COMBINABLE",
    "COMMUNICATES",
    "COMMUTATIVE",
    "CONTROL_FLOW",
    "CONVERTS",
    "DEVICE_ID",
    "EFFECT",
    "ELEMENTWISE",
    "EXPENSIVE",
    "FOLDABLE",
    "FORWARDS",
    "FREE",
    "HOLDS_BUFFERS",
    "HOST_QUEUE",
    "IDEMPOTENT",
    "IDENTITY",
    "INVOLUTION",
    "LAYOUT_KEPT",
    "MIXED_PRECISION",
    "MOVES",
    "NONDETERMINISTIC",
    "ORDER_KEPT",
    "OVERWRITES",
    "PRECISION_KEPT",
    "RANDOM_STATE",
    "REARRANGES",
    "REDUCTION",
    "RETURNS",
    "RUNS_COMPUTATIONS",
    "SAME_THREAD",
    "SAME_THREAD_ON_REQUEST",
    "SHAPE_GUESSED",
    "STRIDED",
    "STRUCTURAL",
    "TRANSCENDENTAL",
    "TRANSFER",
    "UNIFORM_GROUPS",
    "VIEW",
    "with_implied",
]

# ---- constraints on the result ------------------------------------------------------------------

MIXED_PRECISION = "mixed-precision"
"""Operands may be floats of different types, even if mixed precision is not allowed elsewhere."""
LAYOUT_KEPT = "layout-kept"
"""The result has the inferred layout, since the op computes nothing that could change it."""
ORDER_KEPT = "order-kept"
"""The result has the layout of the operands of its rank.

XLA's layout assignment inserts copies instead of changing it.
"""
PRECISION_KEPT = "precision-kept"
"""The result has the inferred element type, even if the verifier allows mixed precision."""
ACCUMULATED = "accumulated"
"""The result may have another element type than the operands, for accumulating products."""
SHAPE_GUESSED = "shape-guessed"
"""The shape that the parser infers may differ from the one that the verifier requires."""
HOLDS_BUFFERS = "holds-buffers"
"""Operands and result may be or contain buffers, `b(...)`."""

# ---- effects ------------------------------------------------------------------------------------

EFFECT = "effect"
"""Does more than compute a value, regardless of its attributes, as in XLA's HasSideEffect.

If an opcode has an effect only if an attribute says so, `OpDef.effect_if` names the attribute. For
asynchronous operations, see `OpDef.is_asynchronous`.
"""
NONDETERMINISTIC = "nondeterministic"
"""Returns a different value each time it runs, even for the same operands."""
COMMUNICATES = "communicates"
"""Waits for other devices or for the host."""
COLLECTIVE = "collective"
"""All devices of a group exchange data or, for a start, begin to do so."""
TRANSFER = "transfer"
"""Begins to move data through a channel, between devices or between a device and the host."""
HOST_QUEUE = "host-queue"
"""Takes values from a queue between host and device, or puts values into it."""

# ---- costs --------------------------------------------------------------------------------------

FREE = "free"
"""Takes no time on any device."""
CHEAP = "cheap"
"""Takes less time to compute again than to keep in memory."""
EXPENSIVE = "expensive"
"""Takes so much time that it should be computed only once, for example outside of a loop."""
FOLDABLE = "foldable"
"""Compilers fold it if its operands are constants; the result is not much larger than they are."""

# ---- relations between operands and result ------------------------------------------------------

TRANSCENDENTAL = "transcendental"
"""Needs many arithmetic operations; counted separately, as in XLA's HloCostAnalysis."""
STRUCTURAL = "structural"
"""Names, groups or takes apart values without computing anything."""
VIEW = "view"
"""The result is the memory of operand 0, possibly with another shape."""
STRIDED = "strided"
"""The result can be a strided view of operand 0, with strides that are not negative."""
OVERWRITES = "overwrites"
"""The results are the first operands with some elements changed, and may overwrite them."""
IDENTITY = "identity"
"""The result equals operand 0 bit for bit; only memory, layout or instruction order may differ."""
REARRANGES = "rearranges"
"""Each element of the result is an element of operand 0, unless the element type changes."""
MOVES = "moves"
"""Each element of the result is an element of an operand, on this device or another one.

Elements are selected, moved or repeated.
"""
CONVERTS = "converts"
"""Each element of the result is an element of operand 0, rounded to another type or format."""
FORWARDS = "forwards"
"""Returns values that others have computed: its operands, or results of called computations."""
RETURNS = "returns"
"""The operands become parameters of the called computation, and its result is the op's result."""
RANDOM_STATE = "random-state"
"""Takes or returns the state of a random number generator, whose 64-bit integers are intended."""
DEVICE_ID = "device-id"
"""Returns a different value on each device."""

# ---- called computations ------------------------------------------------------------------------

CONTROL_FLOW = "control-flow"
"""The called computations are steps of the program, not parts of one operation."""
RUNS_COMPUTATIONS = "runs-computations"
"""Runs the called computations instruction by instruction, with a buffer for each instruction.

This applies to control flow, and to ops that start other threads.
"""
ANY_SIGNATURE = "any-signature"
"""The called computation has a parameter for each operand.

The opcode does not determine their number or shapes.
"""
SAME_THREAD = "same-thread"
"""The called computation runs on the caller's thread."""
SAME_THREAD_ON_REQUEST = "same-thread-on-request"
"""The called computation must run on the caller's thread in the mode `nested_thread_names`."""
REDUCTION = "reduction"
"""Combines many elements into one with a called function, starting from an initial value."""

# ---- collectives --------------------------------------------------------------------------------

UNIFORM_GROUPS = "uniform-groups"
"""All groups of devices have the same number of members."""
COMBINABLE = "combinable"
"""A single instruction with the operands of several instructions can replace them."""

# ---- algebra ------------------------------------------------------------------------------------

ELEMENTWISE = "elementwise"
"""Computes each element from the elements at the same index, in the same way for each index."""
COMMUTATIVE = "commutative"
"""The two operands can be swapped; only the choice between two NaNs may change."""
ASSOCIATIVE = "associative"
"""The grouping of repeated applications makes no difference, except for the rounding of floats."""
IDEMPOTENT = "idempotent"
"""Another application changes nothing: f(f(x)) = f(x), or g(x, x) = x."""
INVOLUTION = "involution"
"""Two applications return the operand, bit for bit."""

_IMPLIED: dict[str, tuple[str, ...]] = {
    ELEMENTWISE: (ORDER_KEPT, FOLDABLE),
    COLLECTIVE: (COMMUNICATES, EXPENSIVE),
    TRANSFER: (COMMUNICATES,),
    HOST_QUEUE: (COMMUNICATES,),
    FREE: (CHEAP,),
    IDENTITY: (REARRANGES,),
    STRIDED: (REARRANGES,),
    REARRANGES: (MOVES,),
    CONTROL_FLOW: (RUNS_COMPUTATIONS, RETURNS, FORWARDS),
}


def with_implied(traits: Iterable[str]) -> frozenset[str]:
    """Returns the traits with all traits that they imply.

    >>> sorted(with_implied([STRIDED]))
    ['moves', 'rearranges', 'strided']
    """
    closed = list(traits)
    for trait in closed:
        # The list grows during the iteration.
        closed += _IMPLIED.get(trait, ())
    return frozenset(closed)
