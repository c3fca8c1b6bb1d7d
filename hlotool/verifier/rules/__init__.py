"""Rules that no op definition can hold, one file each; `verifier.registry` finds them."""
