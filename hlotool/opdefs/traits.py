"""Traits: what holds of an opcode as such, said once, where the opcode is defined.

Everything that asks about opcodes in general (rules, analyses, the interpreter) asks for a trait, so a new opcode is right everywhere
as soon as its definition names its traits. Relations between two opcodes and algebra are slots of `opdefs.base.OpDef`.
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
    "ROUNDED",
    "RUNS_COMPUTATIONS",
    "SAME_THREAD",
    "SAME_THREAD_ON_REQUEST",
    "SHAPE_GUESSED",
    "STRIDED",
    "STRUCTURAL",
    "TRANSFER",
    "UNIFORM_GROUPS",
    "VIEW",
    "with_implied",
]

# ---- what the verifier demands of the result ------------------------------------------------------------------------

MIXED_PRECISION = "mixed-precision"
"""Operands may be floats of different types even where the verifier allows no mixed precision elsewhere."""
LAYOUT_KEPT = "layout-kept"
"""The result's layout is the inferred one, since nothing is computed that could arrange it anew."""
ORDER_KEPT = "order-kept"
"""The result's layout is that of the operands of its rank: XLA's layout assignment puts copies around it rather than change one."""
PRECISION_KEPT = "precision-kept"
"""The result's element type is the inferred one even where the verifier allows mixed precision."""
ROUNDED = "rounded"
"""The result may be bf16 where f32 is inferred, as compilers for TPUs write sums that they round at once."""
ACCUMULATED = "accumulated"
"""The result may have another element type than the operands, in which products are accumulated."""
SHAPE_GUESSED = "shape-guessed"
"""What the parser infers where the shape is omitted is not what the verifier demands of a written one."""
HOLDS_BUFFERS = "holds-buffers"
"""Operands and result may be buffers, `b(...)`, or hold some."""

# ---- what an instruction does beyond computing its value --------------------------------------------------------------

EFFECT = "effect"
"""Does more than compute a value, whatever its attributes are: XLA's HasSideEffect. What has an effect only where an attribute says so names
that attribute in `OpDef.effect_if`; what begins or ends asynchronous work is known by `OpDef.is_asynchronous`."""
NONDETERMINISTIC = "nondeterministic"
"""Gives another value each time it runs, even with the same operands."""
COMMUNICATES = "communicates"
"""Waits for other devices or for the host."""
COLLECTIVE = "collective"
"""All devices of a group exchange data; begins doing so, if the opcode is a start."""
TRANSFER = "transfer"
"""Begins to move data through a channel, from one device to another or between a device and its host."""
HOST_QUEUE = "host-queue"
"""Takes from or puts into a queue between the host and the device."""

# ---- what an instruction costs --------------------------------------------------------------------------------------

FREE = "free"
"""No device spends time on it."""
CHEAP = "cheap"
"""Computing it again costs less than keeping its value."""
EXPENSIVE = "expensive"
"""Costs so much that it pays to compute it once only, as outside a loop."""
FOLDABLE = "foldable"
"""A compiler computes it ahead of time where its operands are constants, since the result is not much larger than they are."""

# ---- where the result and its values come from -----------------------------------------------------------------------

STRUCTURAL = "structural"
"""Names, groups or takes apart values, and computes nothing."""
VIEW = "view"
"""The result is operand 0's memory, perhaps under another shape."""
STRIDED = "strided"
"""The elements of the result lie in operand 0's memory at regular distances: a view with strides can stand for it."""
OVERWRITES = "overwrites"
"""The results are as many first operands with some elements changed, and may be written over them."""
IDENTITY = "identity"
"""The result is operand 0, bit for bit; only its place in memory, its layout or the order of instructions may be another one."""
REARRANGES = "rearranges"
"""Every element of the result is an element of operand 0, unless the element type changes."""
MOVES = "moves"
"""Every element of the result is an element of some operand, of this device or of another, chosen, moved or repeated."""
CONVERTS = "converts"
"""Every element of the result is the nearest value to operand 0's in another type or format."""
FORWARDS = "forwards"
"""Gives values that other instructions computed: its operands or what the computations that it runs give."""
RETURNS = "returns"
"""The operands become parameters of what it calls, and the result is what the called computation gives."""
RANDOM_STATE = "random-state"
"""Takes or gives the state of a random number generator, 64-bit integers on purpose."""
DEVICE_ID = "device-id"
"""Gives another value on each device."""

# ---- called computations ---------------------------------------------------------------------------------------------

CONTROL_FLOW = "control-flow"
"""The computations that it calls are steps of the program, not parts of one operation."""
RUNS_COMPUTATIONS = "runs-computations"
"""Runs what it calls instruction by instruction, with buffers for each: control flow, and what starts it on another thread."""
ANY_SIGNATURE = "any-signature"
"""What it calls has a parameter for each operand; the opcode does not say how many or of which shapes."""
SAME_THREAD = "same-thread"
"""What it calls runs on its own thread."""
SAME_THREAD_ON_REQUEST = "same-thread-on-request"
"""What it calls runs on its own thread under the mode `nested_thread_names`."""
REDUCTION = "reduction"
"""Combines many elements into one by a function that it calls, from an initial value."""

# ---- collectives -----------------------------------------------------------------------------------------------------

UNIFORM_GROUPS = "uniform-groups"
"""All groups of devices have the same number of members."""
COMBINABLE = "combinable"
"""One instruction can do the work of several, with the operands of all of them."""

# ---- algebra ---------------------------------------------------------------------------------------------------------

ELEMENTWISE = "elementwise"
"""Computes each element of an array from the elements at the same place, and is computed alike at every place."""
COMMUTATIVE = "commutative"
"""The two operands may change places: the same value, whichever NaN where both are NaN."""
ASSOCIATIVE = "associative"
"""Repeated application gives the same in any grouping, the rounding of floats apart."""
IDEMPOTENT = "idempotent"
"""Applied once more it changes nothing: f(f(x)) is f(x), and g(x, x) is x."""
INVOLUTION = "involution"
"""Applied twice it gives back its operand, bit for bit."""

_IMPLIED: dict[str, tuple[str, ...]] = {
    ELEMENTWISE: (ORDER_KEPT, FOLDABLE),
    COLLECTIVE: (COMMUNICATES, EXPENSIVE),
    TRANSFER: (COMMUNICATES,),
    HOST_QUEUE: (COMMUNICATES,),
    FREE: (CHEAP,),
    IDENTITY: (REARRANGES,),
    STRIDED: (REARRANGES,),
    REARRANGES: (MOVES,),
    CONTROL_FLOW: (RUNS_COMPUTATIONS, RETURNS, FORWARDS, HOLDS_BUFFERS),
}


def with_implied(traits: Iterable[str]) -> frozenset[str]:
    """Traits with all those that follow from them.

    >>> sorted(with_implied([STRIDED]))
    ['moves', 'rearranges', 'strided']
    """
    closed = list(traits)
    for trait in closed:
        # The list grows while it is gone through.
        closed += _IMPLIED.get(trait, ())
    return frozenset(closed)
