"""Text to modules and back: reading and locating, literals, parsing, printing, formatting, each in a package of its own."""
