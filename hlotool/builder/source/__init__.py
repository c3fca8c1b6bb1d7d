"""Python code for modules: calls to `hlotool.Builder` that rebuild a module."""
