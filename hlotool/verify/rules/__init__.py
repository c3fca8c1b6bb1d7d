"""Rules that no op definition can hold, one file each; `verify.registry` finds them."""
