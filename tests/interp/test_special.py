"""Special functions, compared with SciPy, which the package itself does not require."""

from __future__ import annotations

import numpy as np
from scipy import special

from hlotool.interp.arrays.special import erf


def test_erf():
    x = np.concatenate([np.linspace(-7, 7, 100_001), np.geomspace(1e-300, 1, 1_001), [np.inf, -np.inf, -0.0]])
    np.testing.assert_allclose(erf(x), special.erf(x), rtol=2e-15)
    assert np.isnan(erf(np.array(np.nan)))
    assert np.signbit(erf(np.array(-0.0)))
