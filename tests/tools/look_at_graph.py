"""Opens the HTML page of `hlotool graph` in Chromium, and reports errors.

Usage: `python tests/tools/look_at_graph.py FILE [FOLDER]`. Opens the page in several views, writes
a screenshot of each to FOLDER, and measures the time per frame while the graph moves with all
groups open. The exit code is 1 if the script reports an error, or if anything takes longer than a
reader would wait. Needs `chromium` or `chrome` on PATH.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from graph_readers import page_data
from look_at_page import MAX_SECONDS, OPTIONS, browser_on_path, open_page

import hlotool
from hlotool.graph.layout import Arrangement
from hlotool.graph.placing import place

VIEWS = {
    "light": ("", "1500,1000", ()),
    "dark": ("#color=source", "1500,1000", ("--blink-settings=preferredColorScheme=0",)),
    "narrow": ("#color=flops", "600,1000", ()),
    "bytes": ("#color=bytes", "1500,1000", ()),
    "search": ("#search=dot", "1500,1000", ()),
    "all": ("#open=all", "1500,1000", ()),
}
MAX_FRAME_LENGTH = 100
# Moves the graph with all groups open, at scales from the full extent to legible text.
MEASURE = """
byId("expand").click();
const start = performance.now();
update(null);
const laidOut = performance.now() - start;
const whole = layout.boxes[0], results = [];
for (const wanted of [scale, 0.05, 0.2, 0.6, 1]) {
  scale = wanted;
  const frames = [];
  for (let k = 0; k < 30; k++) {
    shiftX = -whole.width * scale * k / 30;
    shiftY = -whole.height * scale * k / 30;
    const before = performance.now();
    draw();
    context.getImageData(0, 0, 1, 1);
    frames.push(performance.now() - before);
  }
  frames.sort((a, b) => a - b);
  results.push(wanted.toFixed(3) + ": " + frames[15].toFixed(1) + " ms, slowest " + frames[29].toFixed(1) + " ms");
}
console.log("MEASURED " + layout.boxes.length + " boxes and " + layout.edges.length + " edges, layout " + laidOut.toFixed(0) + " ms; at scale "
  + results.join("; "));
"""


# Reports the positions of boxes of different sizes; Python must compute the same positions.
POSITIONS = """
const found = groups.items.map((items, k) => {
  const sizes = items.map((_, j) => [60 + 20 * (j % 7), 20 + 10 * (j % 3)]);
  return place(groups.rows[k], groups.columns[k], new Map(), sizes, data.metrics).centers;
});
document.body.textContent = "POSITIONS" + JSON.stringify(found) + "SNOITISOP";
"""


def misplaced(browser: str, file: Path, text: str) -> int:
    """Returns the number of groups whose boxes the script and Python place differently."""
    file.write_text(text.replace("</body>", f"<script>{{{POSITIONS}}}</script></body>"), encoding="utf-8")
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *OPTIONS, f"--user-data-dir={profile}", "--dump-dom", file.as_uri()]
        dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout
    found = json.loads(dom.partition("POSITIONS")[2].partition("SNOITISOP")[0])
    groups = page_data(text)["groups"]
    count = 0
    for rows, columns, centers in zip(groups["rows"], groups["columns"], found, strict=True):
        sizes = [(60.0 + 20 * (k % 7), 20.0 + 10 * (k % 3)) for k in range(len(rows))]
        expected = place(Arrangement(rows, columns, {}), sizes).centers
        count += any(abs(a - b) > 0.01 for pair in zip(expected, centers, strict=True) for a, b in zip(*pair, strict=True))
    return count


def main(name: str, folder: str | None = None) -> int:
    browser = browser_on_path()
    if browser is None:
        return 2
    target = Path(folder or tempfile.mkdtemp(prefix="hlotool-graph-"))
    target.mkdir(parents=True, exist_ok=True)
    module = hlotool.parse_file(name)
    count = sum(len(computation) for computation in module.computations)
    start = time.perf_counter()
    text = hlotool.to_graph(module)
    file = target / "page.html"
    file.write_text(text, encoding="utf-8")
    print(f"{file}: {len(text):,} characters for {count:,} instructions in {time.perf_counter() - start:.1f} s")
    problems: list[str] = []
    for view, (fragment, size, options) in VIEWS.items():
        errors, seconds = open_page(browser, file, target / f"{view}.png", fragment, size, options)
        print(f"{target / view}.png: {seconds:.1f} s, including the start of the browser")
        problems += errors
        if seconds > MAX_SECONDS:
            problems.append(f"{view} took {seconds:.1f} s")
    measured = target / "measured.html"
    measured.write_text(text.replace("</body>", f"<script>{{{MEASURE}}}</script></body>"), encoding="utf-8")
    messages, _ = open_page(browser, measured, target / "measured.png", "", "1500,1000", ())
    message = next(text for text in messages if "MEASURED" in text)
    print(message)
    # Reading a pixel makes the browser draw immediately; the browser warns about frequent reads.
    errors = [text for text in messages if text is not message and "getImageData" not in text]
    slow = [number for number in re.findall(r": ([\d.]+) ms", message) if float(number) > MAX_FRAME_LENGTH]
    problems += [*errors, *(f"a frame takes {number} ms" for number in slow)]
    wrong = misplaced(browser, target / "places.html", text)
    problems += [f"groups that the script and Python place differently: {wrong}"] if wrong else []
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
