"""`python -m hlotool`: the command line, where the `hlotool` script is not on the path."""

from __future__ import annotations

from hlotool.cli.main import main

if __name__ == "__main__":
    main()
