"""The interpreter, which runs modules with NumPy.

NumPy and ml_dtypes are imported in this layer and above, but not below.
"""

from __future__ import annotations

from hlotool.interp.arrays.values import Token
from hlotool.interp.compiled import CompiledModule, compile  # noqa: A004
from hlotool.interp.evaluator import compute, evaluate, evaluate_replicas
from hlotool.interp.kernels.libraries.base import CustomCall
from hlotool.interp.queues import HostQueues
from hlotool.interp.run_options import RunOptions

__all__ = ["CompiledModule", "CustomCall", "HostQueues", "RunOptions", "Token", "compile", "compute", "evaluate", "evaluate_replicas"]
