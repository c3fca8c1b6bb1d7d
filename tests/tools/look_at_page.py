"""Opens the HTML page of `hlotool diff` in Chromium, and reports errors.

Usage: `python tests/tools/look_at_page.py A B [FOLDER]`. Opens the page normally, in dark mode, in
a narrow window, and with a search, and writes a screenshot of each to FOLDER. The exit code is 1 if
the script reports an error, or if the page takes longer than a reader would wait. Needs `chromium`
or `chrome` on PATH.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import hlotool
from hlotool.differ.rendering.difference_report import report_of
from hlotool.differ.rendering.html_page import page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update --disable-sync "
    "--hide-scrollbars --enable-logging=stderr --v=0"
).split()
VIEWS = {
    "light": ("", "1400,1000", ()),
    "dark": ("", "1400,1000", ("--blink-settings=preferredColorScheme=0",)),
    "narrow": ("", "500,1000", ()),
    "search": ("#search=fusion", "1400,1000", ()),
}
MAX_SECONDS = 10


def browser_on_path() -> str | None:
    """Returns the browser on PATH, or prints a message and returns None."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        print(f"none of {', '.join(BROWSERS)} is on PATH")
    return browser


def open_page(browser: str, file: Path, picture: Path, fragment: str, size: str, options: Sequence[str]) -> tuple[list[str], float]:
    """Opens an HTML page and takes a screenshot.

    Returns the messages of the page's script, and the time in seconds.
    """
    with tempfile.TemporaryDirectory() as profile:
        start = time.perf_counter()
        positions = [f"--user-data-dir={profile}", f"--window-size={size}", f"--screenshot={picture}", f"{file.as_uri()}{fragment}"]
        log = subprocess.run([browser, *OPTIONS, *options, *positions], capture_output=True, text=True, timeout=120, check=False).stderr
        seconds = time.perf_counter() - start
    messages = re.findall(r"CONSOLE.*", log)
    return messages if picture.exists() else [*messages, f"{picture} was not written"], seconds


def main(left: str, right: str, folder: str | None = None) -> int:
    browser = browser_on_path()
    if browser is None:
        return 2
    target = Path(folder or tempfile.mkdtemp(prefix="hlotool-page-"))
    target.mkdir(parents=True, exist_ok=True)
    modules = [hlotool.parse(Path(file).read_text(encoding="utf-8")) for file in (left, right)]
    text = page(report_of(hlotool.diff(*modules)), left, right)
    file = target / "page.html"
    file.write_text(text, encoding="utf-8")
    print(f"{file}: {len(text):,} characters")
    problems = []
    for name, (fragment, size, options) in VIEWS.items():
        errors, seconds = open_page(browser, file, target / f"{name}.png", fragment, size, options)
        print(f"{target / name}.png: {seconds:.1f} s, including the start of the browser")
        problems += errors
        if seconds > MAX_SECONDS:
            problems.append(f"{name} took {seconds:.1f} s")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
