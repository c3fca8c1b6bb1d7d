"""The verifier: what is wrong with a module that parses.

`hlotool.verify` is the function and, once anything in here is imported, this package; so the package can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from hlotool.opdefs.modes import VerifyModes as VerifyModes
from hlotool.verify.engine import verify as verify
from hlotool.verify.registry import load_rules

# With the package and not at the first call: whoever imports it will verify, and all calls shall take the same time.
load_rules()


class _CallablePackage(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return verify(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
