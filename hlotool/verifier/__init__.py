"""The verifier of modules that parse; `hlotool.verify` is its public function."""

from hlotool.verifier.registry import load_rules

# Loaded on import, not in the first call: every importer of the package verifies, and all calls
# should take the same time.
load_rules()
