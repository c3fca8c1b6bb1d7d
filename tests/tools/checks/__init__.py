"""Checks of each kind of case: functions of a path and a case that raise Mismatch."""
