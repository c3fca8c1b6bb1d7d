"""Structural comparison of modules: pairs their instructions and classifies the differences."""
