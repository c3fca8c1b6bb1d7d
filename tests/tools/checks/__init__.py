"""Checks for each kind of case: functions that take a path and a case, and raise Mismatch."""
