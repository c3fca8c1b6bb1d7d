"""Matching: pairs the instructions and computations of two modules."""
