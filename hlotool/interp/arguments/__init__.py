"""Arguments of runs: files, random arrays and the domains of parameters."""
