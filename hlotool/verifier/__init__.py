"""The verifier of modules; its public function is `hlotool.verify`."""

from hlotool.verifier.registry import load_rules

# The rules are loaded on import, not by the first call, so that all calls take the same time.
# Every importer of this package calls the verifier anyway.
load_rules()
