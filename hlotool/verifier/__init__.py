"""The verifier of modules that parse; `hlotool.verify` is its public function."""

from hlotool.verifier.registry import load_rules

# On import instead of in the first call, since whoever imports the package will verify, and all calls should take the same time.
load_rules()
