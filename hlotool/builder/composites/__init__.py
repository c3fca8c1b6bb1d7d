"""Builder methods that do more than pass on their arguments, in one file per family."""
