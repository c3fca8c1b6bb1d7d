"""Text to modules and back: files and places, parsing, printing, locating, formatting, each in a package of its own."""
