"""Aliases for hlotool's classes: their names in XLA's documentation of 2017, 2019 and 2025."""

from __future__ import annotations

from hlotool.builder.builder import Builder
from hlotool.builder.op import Op
from hlotool.ir.model import Computation
from hlotool.shapes.values import PaddingDimension

__all__ = ["ComputationBuilder", "ComputationDataHandle", "PaddingConfigDimension", "XlaBuilder", "XlaComputation", "XlaOp"]

ComputationBuilder = Builder
"""The name of the builder in 2017."""

XlaBuilder = Builder
"""The name of the builder in C++ since 2018."""

ComputationDataHandle = Op
"""The name of an operation in 2017."""

XlaOp = Op
"""The name of an operation in C++ since 2018."""

XlaComputation = Computation
"""The name of a computation in C++."""

PaddingConfigDimension = PaddingDimension
"""The name of the message for one dimension of `padding_config` in XLA's protobufs."""
