"""Facts computed from a module. They are returned by computation or instruction, and never stored on the nodes."""
