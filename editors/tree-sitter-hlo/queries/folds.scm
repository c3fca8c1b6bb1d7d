[(computation) (inline_computation) (stack_tables)] @fold
