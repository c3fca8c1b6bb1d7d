"""Methods of builders that do more than to pass their arguments on, a file for each family."""
