"""Builders of modules in Python, with a method for each operation of XLA's operation semantics."""

from hlotool.builder.builder import Builder as Builder
from hlotool.builder.dimension_numbers import ConvolutionDimensionNumbers as ConvolutionDimensionNumbers
from hlotool.builder.dimension_numbers import DotDimensionNumbers as DotDimensionNumbers
from hlotool.builder.dimension_numbers import GatherDimensionNumbers as GatherDimensionNumbers
from hlotool.builder.dimension_numbers import RaggedDotDimensionNumbers as RaggedDotDimensionNumbers
from hlotool.builder.dimension_numbers import ScatterDimensionNumbers as ScatterDimensionNumbers
from hlotool.builder.op import Op as Op
from hlotool.builder.texts import make_shape as make_shape
