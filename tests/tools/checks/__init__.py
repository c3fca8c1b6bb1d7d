"""What a case of each kind must do: functions of a path and a case that raise Mismatch."""
