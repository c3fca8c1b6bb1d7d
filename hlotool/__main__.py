"""`python -m hlotool`: the command line, for when the `hlotool` script is not on the PATH."""

from __future__ import annotations

from hlotool.cli.main import main

if __name__ == "__main__":
    main()
