"""The verifier: what is wrong with a module that parses. The public function is `hlotool.verify`."""

from hlotool.verifier.registry import load_rules

# With the package and not at the first call: whoever imports it will verify, and all calls shall take the same time.
load_rules()
