"""The complete set of kernels.

Importing this module fills the `kernel` slot of every op that can be computed.
"""

from __future__ import annotations

from hlotool.interp.kernels import collectives as collectives
from hlotool.interp.kernels import communication as communication
from hlotool.interp.kernels import contraction as contraction
from hlotool.interp.kernels import control_flow as control_flow
from hlotool.interp.kernels import conversion as conversion
from hlotool.interp.kernels import convolution as convolution
from hlotool.interp.kernels import custom_call as custom_call
from hlotool.interp.kernels import elementwise as elementwise
from hlotool.interp.kernels import indexing as indexing
from hlotool.interp.kernels import linear_algebra as linear_algebra
from hlotool.interp.kernels import normalization as normalization
from hlotool.interp.kernels import ordering as ordering
from hlotool.interp.kernels import random_numbers as random_numbers
from hlotool.interp.kernels import reduction as reduction
from hlotool.interp.kernels import scattering as scattering
from hlotool.interp.kernels import shaping as shaping
from hlotool.interp.kernels import structure as structure
from hlotool.opdefs.table import OPS as OPS
