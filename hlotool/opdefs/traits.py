"""Traits of opcodes. Each docstring describes the opcodes that have the trait.

The definition of an opcode lists its traits. Rules, analyses and the interpreter query traits
instead of opcodes, so they need no changes for a new opcode. Slots of `opdefs.base.OpDef` describe
relations between opcodes and special elements.
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
"""The result has the layout of the operands of the same rank.

XLA's layout assignment inserts copies instead of changing the layout.
"""
PRECISION_KEPT = "precision-kept"
"""The result has the inferred element type, even if the verifier allows mixed precision."""
ACCUMULATED = "accumulated"
"""The result may have a different element type, in which the products are accumulated."""
SHAPE_GUESSED = "shape-guessed"
"""The shape that the parser infers may differ from the one that the verifier requires."""
HOLDS_BUFFERS = "holds-buffers"
"""Operands and result may be or contain buffers, `b(...)`."""

# ---- effects ------------------------------------------------------------------------------------

EFFECT = "effect"
"""Does more than compute a value, regardless of its attributes, as in XLA's HasSideEffect.

If an attribute decides whether an opcode has an effect, `OpDef.effect_if` names it. For
asynchronous operations, see `OpDef.is_asynchronous`.
"""
NONDETERMINISTIC = "nondeterministic"
"""May return a different value each time it runs, even for the same operands."""
COMMUNICATES = "communicates"
"""Waits for other devices or for the host."""
COLLECTIVE = "collective"
"""All devices of a group exchange data or, if the opcode is a start, start to exchange it."""
TRANSFER = "transfer"
"""Starts to move data through a channel, between devices or between a device and the host."""
HOST_QUEUE = "host-queue"
"""Takes values from a queue between host and device, or puts values into it."""

# ---- costs --------------------------------------------------------------------------------------

FREE = "free"
"""Takes no time on any device."""
CHEAP = "cheap"
"""Costs less to compute again than to keep in memory."""
EXPENSIVE = "expensive"
"""Takes so much time that it should be computed only once, for example outside of a loop."""
FOLDABLE = "foldable"
"""Is folded by compilers if all operands are constants; the result is not much larger."""

# ---- relations between operands and result ------------------------------------------------------

TRANSCENDENTAL = "transcendental"
"""Takes many arithmetic operations; counted separately, as in XLA's HloCostAnalysis."""
STRUCTURAL = "structural"
"""Names, groups or unpacks values without computing anything."""
VIEW = "view"
"""The result shares the memory of operand 0, possibly with another shape."""
STRIDED = "strided"
"""The result can be a view of operand 0 with non-negative strides."""
OVERWRITES = "overwrites"
"""The results are the first operands with some elements changed, possibly in place."""
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
"""Returns values computed elsewhere: its operands, or results of called computations."""
RETURNS = "returns"
"""Passes the operands to the called computation and returns the result of that computation."""
RANDOM_STATE = "random-state"
"""Takes or returns the state of a random number generator, where 64-bit integers are intended."""
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
"""The called computation has one parameter per operand.

The opcode does not determine the number or the shapes of the operands.
"""
SAME_THREAD = "same-thread"
"""The called computation runs on the caller's thread."""
SAME_THREAD_ON_REQUEST = "same-thread-on-request"
"""The called computation must run on the caller's thread if the mode `nested_thread_names` is set."""
REDUCTION = "reduction"
"""Combines many elements into one with a called function, starting from an initial value."""

# ---- collectives --------------------------------------------------------------------------------

UNIFORM_GROUPS = "uniform-groups"
"""All groups of devices have the same number of members."""
COMBINABLE = "combinable"
"""Several instructions can be replaced by one that takes the operands of all of them."""

# ---- algebra ------------------------------------------------------------------------------------

ELEMENTWISE = "elementwise"
"""Computes each element from the elements at the same index, in the same way for each index."""
COMMUTATIVE = "commutative"
"""The two operands can be swapped; only the choice between two NaNs may change."""
ASSOCIATIVE = "associative"
"""The grouping of repeated applications makes no difference, except for the rounding of floats."""
IDEMPOTENT = "idempotent"
"""A second application changes nothing: f(f(x)) = f(x), or g(x, x) = x."""
INVOLUTION = "involution"
"""Applying the op twice returns the operand, bit for bit."""

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
