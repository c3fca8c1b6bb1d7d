"""Reports of runs: results, comparisons, traces and profiles."""
