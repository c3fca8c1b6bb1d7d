"""PNG pictures, rendered from SVG."""

from __future__ import annotations

from importlib import import_module

from hlotool.graph.graph_options import GraphError
from hlotool.graph.painting import Paint
from hlotool.graph.picture import Picture
from hlotool.graph.svg import size_of_svg, svg

__all__ = ["png"]

_MAX_PIXELS = 60_000_000
"""The maximum number of pixels.

Image viewers fail on much larger images, and rendering takes four bytes per pixel.
"""
_ZOOM = 2


def png(picture: Picture, paint: Paint) -> bytes:
    """Returns the picture as a PNG file.

    Raises GraphError if the picture is too large, or if igraph or resvg is not installed.
    """
    try:
        resvg = import_module("resvg_py")
    except ImportError as error:
        raise GraphError("the format png requires the package resvg-py: pip install 'hlotool[graph]'; svg does not require it") from error
    text = svg(picture, paint)
    width, height = size_of_svg(text)
    if width * height > _MAX_PIXELS:
        raise GraphError(
            f"a picture of {width:,} by {height:,} pixels is too large for png; use the format svg or html,"
            " or show less with --expand auto, --computation, --around or --path"
        )
    zoom = _ZOOM if width * height * _ZOOM**2 <= _MAX_PIXELS else 1
    return bytes(resvg.svg_to_bytes(svg_string=text, zoom=zoom))
