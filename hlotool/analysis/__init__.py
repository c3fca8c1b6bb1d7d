"""Facts computed from a module: answers keyed by computation or instruction, never stored on the nodes."""
