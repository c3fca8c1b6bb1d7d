"""Text to modules and back. Loading the package loads parser and printer; files, commands and formats are elsewhere."""

from hlotool.text.parser import parse as parse
from hlotool.text.parser import parse_all as parse_all
from hlotool.text.print_options import PrintOptions as PrintOptions
from hlotool.text.printer import to_text as to_text
