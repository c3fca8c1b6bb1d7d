"""The kinds of attribute values, which annotate the parameters of op definitions.

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
"""An integer; XLA keeps only its lower 32 bits."""
Bool = bool
Number = float
Text = str
Dims = tuple[int, ...]
SingleDim = tuple[int, ...]
"""A list that must have exactly one entry."""
FirstDim = tuple[int, ...]
"""A list; XLA keeps only its first entry."""
IgnoredDims = tuple[int, ...]
"""A list that XLA parses and ignores."""
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
"""A called computation; definitions see only the shapes of its parameters and result."""
ContinuedComputation = ProgramShape
"""The computation of the asynchronous operation being continued; optional, and never printed."""
Computations = tuple[ProgramShape, ...]
ShapeValue = Shape
Shapes = tuple[Shape, ...]
ReplicaGroups = object
ResultAccuracy = ResultAccuracyValue
SparsityConfig = SparsityConfigValue
TypedLiteral = object
OutputAliases = tuple[AliasPair, ...]
Domain = DomainMetadata

DESCRIPTIONS: dict[str, str] = {
    "Int": "integer",
    "Int32": "32-bit integer",
    "Bool": "true or false",
    "Number": "number",
    "Text": 'string: "..."',
    "Dims": "list of integers: {0,1}",
    "SingleDim": "list of one integer: {0}",
    "FirstDim": "list of one integer: {0}",
    "IgnoredDims": "list of one integer, which is ignored: {0}",
    "Pairs": "list of pairs of devices: {{0,1},{1,0}}",
    "SliceSizes": "list of integers: {1,4}",
    "SliceSizeLists": "list of lists of integers: {{1,4},{1,4}}",
    "Replication": "list of true and false: {true,false}",
    "OperandPrecision": "list of default, high or highest: {highest,default}",
    "Window": "window: {size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=0x0}",
    "Padding": "low_high or low_high_interior for each dimension: 0_0x1_1_2",
    "DimLabels": "labels of lhs_rhs->result dimensions: b01f_01io->b01f",
    "SliceRanges": "[start:limit:stride] for each dimension: {[0:4], [2:8:2]}",
    "Computation": "name of a computation",
    "ContinuedComputation": "name of the start's computation; may be left out",
    "Computations": "list of computation names: {f, g}",
    "ShapeValue": "shape: f32[4,8]{1,0}",
    "Shapes": "list of shapes with layouts: {f32[4]{0}, s32[]}",
    "ReplicaGroups": "groups of devices: {{0,1},{2,3}}, [2,2]<=[4], or {} for a single group",
    "ResultAccuracy": "accuracy: {tolerance={atol=0,rtol=0,ulps=2}} or {mode=highest}",
    "SparsityConfig": "sparsity of the operands",
    "TypedLiteral": "literal with its shape: s32[2] {1, 2}",
    "OutputAliases": "pairs of output index and (operand, index): {{0}: (1, {})}",
    "Domain": 'domain: {kind="sharding", entry={replicated}, exit={maximal device=0}}',
    "Sharding": "sharding: {replicated} or {devices=[2,1]0,1}",
    "FrontendAttributes": 'names with strings or JSON: {key="value"}',
    "Names": "list of instruction names: {a, b}",
    "Statistics": "numbers for visualization: {visualizing_index=0,name=1.5}",
    "Origin": 'names of the original instruction: {"add.3"}',
    "Metadata": 'origin of the instruction: {op_name="f" source_file="f.py" source_line=1}',
    "InputOutputAlias": "pairs of output index and (parameter, index): { {0}: (1, {}, may-alias) }",
    "BufferDonor": "pairs of parameter and index: { (0, {}), (1, {}) }",
    "EntryLayout": "shapes with layouts: {(f32[4]{0})->f32[4]{0}}",
    "Bools": "list of true and false: {true,false}",
    "RecoveryTable": 'recovery of original values: {{"x"} : {"y"}}',
    "DebugAttributes": "attributes for debugging",
    "BackendConfig": 'string or JSON for the backend: {"window_config":{}}',
}
"""A description of the values of each kind, with examples.

Enumerations are described in `opdefs.codecs.enums`.
"""
