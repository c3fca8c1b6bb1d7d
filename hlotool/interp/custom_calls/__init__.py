"""Custom calls: what their targets compute, in a file for each library; `table` finds the function of a target."""
