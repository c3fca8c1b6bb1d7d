"""Entry point of `python -m hlotool`, which works even if the `hlotool` script is not on PATH."""

from __future__ import annotations

from hlotool.cli.main import main

if __name__ == "__main__":
    main()
