"""Kernels: functions that compute the value of each opcode, in files that mirror `opdefs`."""
