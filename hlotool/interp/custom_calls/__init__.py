"""Custom calls: a file of functions for each library; `table` finds the function of a target."""
