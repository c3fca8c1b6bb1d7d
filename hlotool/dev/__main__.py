"""Runs `python -m hlotool.dev`."""

from __future__ import annotations

import sys

from hlotool.dev.tasks import main

if __name__ == "__main__":
    sys.exit(main())
