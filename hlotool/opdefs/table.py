"""The complete tables of opcodes and codecs.

Importing this module defines all of them, in the order of its imports.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable

from hlotool.opdefs import collective_permute as collective_permute
from hlotool.opdefs import collectives as collectives
from hlotool.opdefs import communication as communication
from hlotool.opdefs import contraction as contraction
from hlotool.opdefs import control_flow as control_flow
from hlotool.opdefs import convolution as convolution
from hlotool.opdefs import elementwise as elementwise
from hlotool.opdefs import indexing as indexing
from hlotool.opdefs import linear_algebra as linear_algebra
from hlotool.opdefs import normalization as normalization
from hlotool.opdefs import random_numbers as random_numbers
from hlotool.opdefs import reduction as reduction
from hlotool.opdefs import shaping as shaping
from hlotool.opdefs import structure as structure
from hlotool.opdefs.base import OPS as OPS
from hlotool.opdefs.base import OpDef as OpDef
from hlotool.opdefs.base import unknown_op
from hlotool.opdefs.codecs import configuration as configuration
from hlotool.opdefs.codecs import enums as enums
from hlotool.opdefs.codecs import provenance as provenance
from hlotool.opdefs.codecs import references as references
from hlotool.opdefs.codecs import replica_groups as replica_groups
from hlotool.opdefs.codecs import scalars as scalars
from hlotool.opdefs.codecs import shapes as shapes
from hlotool.opdefs.codecs import sharding as sharding
from hlotool.opdefs.codecs import windows as windows
from hlotool.opdefs.codecs.base import BUILDERS as BUILDERS
from hlotool.opdefs.codecs.base import CODECS as CODECS


def _by_name(op: OpDef) -> tuple[Callable[[str], OpDef], tuple[str]]:
    return definition_of, (op.name,)


# Pickles contain only the name, so that definitions stay unique in a process: kernels and rules
# compare them by identity.
copyreg.pickle(OpDef, _by_name)


def definition_of(name: str) -> OpDef:
    """Returns the definition of an opcode; for an unknown opcode, a definition from `unknown_op`.

    >>> definition_of("zork")
    <op zork>
    """
    return OPS.get(name) or unknown_op(name)
