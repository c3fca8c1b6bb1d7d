"""Custom calls: one module of functions per library; `table` finds the function for a target."""
