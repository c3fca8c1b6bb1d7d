"""The kinds of attribute values, with which the signatures of ops are annotated.

Each name is the key of a codec in `opdefs.codecs`, and an alias of the Python type of the values.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from hlotool.shapes.shape import ProgramShape, Shape
from hlotool.shapes.values import (
    AliasPair,
    ConvolutionDimensions,
    DomainMetadata,
    PaddingDimension,
    SliceRange,
    WindowDimension,
)
from hlotool.shapes.values import ResultAccuracy as ResultAccuracyValue
from hlotool.shapes.values import SparsityConfig as SparsityConfigValue

T = TypeVar("T")
Always = Annotated[T, "printed even when it equals the default"]

Int = int
Int32 = int
"""An integer of which XLA keeps the lower 32 bits."""
Bool = bool
Number = float
Text = str
Dims = tuple[int, ...]
SingleDim = tuple[int, ...]
"""A list that must have exactly one entry."""
FirstDim = tuple[int, ...]
"""A list of which XLA keeps only the first entry."""
IgnoredDims = tuple[int, ...]
"""A list that XLA reads and ignores."""
Pairs = tuple[tuple[int, ...], ...]
SliceSizes = tuple[int, ...]
"""`slice_sizes` of gather: one size for each dimension."""
SliceSizeLists = tuple[tuple[int, ...], ...]
"""`slice_sizes` of collective-permute: a list of sizes for each slice."""
Replication = tuple[bool, ...]

ComparisonDirection = str
ComparisonType = str
FusionKind = str
RandomDistribution = str
RandomAlgorithm = str
PrecisionAlgorithm = str
FftType = str
TransposeOption = str
ApiVersion = str
PaddingType = str
CustomCallSchedule = str
ConvolutionKind = str
CollectiveMode = str
OperandPrecision = tuple[str, ...]

Window = tuple[WindowDimension, ...]
Padding = tuple[PaddingDimension, ...]
DimLabels = ConvolutionDimensions
SliceRanges = tuple[SliceRange, ...]
Computation = ProgramShape
"""A called computation, of which definitions see only the shapes of parameters and result."""
ContinuedComputation = ProgramShape
"""The computation of the asynchronous operation that an instruction continues. It may be omitted, and is never printed."""
Computations = tuple[ProgramShape, ...]
ShapeValue = Shape
Shapes = tuple[Shape, ...]
ReplicaGroups = object
ResultAccuracy = ResultAccuracyValue
SparsityConfig = SparsityConfigValue
TypedLiteral = object
OutputAliases = tuple[AliasPair, ...]
Domain = DomainMetadata
