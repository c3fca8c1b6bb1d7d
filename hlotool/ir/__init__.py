"""The intermediate representation: modules, computations and instructions, how they are made, edited, copied, compared and walked."""
