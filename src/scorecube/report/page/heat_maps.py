"""Heat maps of a page: the scores of all runs on all topics, of collections that are small enough."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from markupsafe import Markup

from scorecube import names
from scorecube.analyses.score_facts import order
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.figures.labels import figure_labels, with_figure_labels
from scorecube.report.page.board import escaped
from scorecube.report.page.options import PageOptions
from scorecube.report.scores import MISSING
from scorecube.report.tables import COLLECTION
from scorecube.storage import Study

MOST_TOPICS, MOST_SCORES = 60, 6500
"""Of a heat map on a page, which takes less than 60 kB then; `scorecube figure` draws larger ones."""
LEVELS = 24
"""Colours: enough to read scores by, and few bytes."""
PALETTE = bytes.fromhex(
    "00224e002a610031711c396f2d416d3a486c45506c50576c5b606e6568706e6f73777777"
    "817f788c8878969077a19975ada272b9ab6dc4b468d0be62dcc859e8d24ff5dc41fee838" + MISSING[1:]
)
"""Levels of matplotlib's cividis, from dark to light, and the colour of missing scores."""
FloatArray = np.ndarray[Any, np.dtype[np.float64]]
PlaceArray = np.ndarray[Any, np.dtype[np.uint8]]
MOST_MAPS = 8
"""With more collections on a page there are none."""


def heat_maps(
    study: Study, collections: Sequence[Mapping[str, Any]], options: PageOptions | None = None
) -> list[dict[str, Any]]:
    """Return the heat maps of a page with their captions: of the first metric and gain setting of each collection.

    collections: Facts of the collections on the page, as from `overview`.
    options: Its first metric is drawn.
    """
    if len(collections) > MOST_MAPS:
        return []
    found = []
    for facts in collections:
        n_runs, n_topics = facts["runs"], facts["topics"]
        if (
            min(n_runs, n_topics) >= 2
            and n_topics <= MOST_TOPICS
            and n_runs * n_topics <= MOST_SCORES
        ):
            cube = study[str(facts["name"])].cube.assign_attrs({COLLECTION: facts["name"]})
            cube = cube.sel(
                {names.METRIC: (options or PageOptions()).chosen(labels_of(cube, names.METRIC))[:1]}
            )
            scores = cube[names.SCORE].isel({names.METRIC: 0, names.GAIN: 0}).values
            if np.isfinite(scores).any() and not np.isinf(scores).any():
                found.append(cube)
    return list(map(_heat_map, found))


def _heat_map(cube: xr.Dataset) -> dict[str, Any]:
    (shown,), _ = with_figure_labels([cube])
    n_runs, n_topics = cube.sizes[names.RUN], cube.sizes[names.TOPIC]
    name, metric = cube.attrs[COLLECTION], labels_of(cube, names.METRIC)[0]
    title = f"{name}: {metric} of {counted(n_runs, 'run')} on {counted(n_topics, 'topic')}"
    caption = f"{title}. Rows: runs, best mean first; columns: topics, easiest first."
    scores = shown[names.SCORE].isel({names.METRIC: 0, names.GAIN: 0})
    values = scores.transpose(names.RUN, names.TOPIC).values
    caption += " Missing scores are orange." if np.isnan(values).any() else ""
    places = order(values)
    topics = figure_labels(labels_of(cube, names.TOPIC)).values()
    labels = [
        [found[place] for place in own]
        for found, own in zip((labels_of(shown, names.RUN), list(topics)), places, strict=True)
    ]
    return {
        "title": title,
        "caption": caption,
        "picture": _picture(values[np.ix_(*places)], labels[0], labels[1], caption),
    }


def _picture(
    scores: FloatArray, runs: Sequence[str], topics: Sequence[str], caption: str
) -> Markup:
    """Return scores (run, topic) as inline SVG: an image of one pixel a score, of few colours, with labels and a scale."""
    low = min(0.0, float(np.nanmin(scores)))
    high = float(np.nanmax(scores)) if np.nanmax(scores) > low else 1.0
    with np.errstate(invalid="ignore"):
        levels = np.minimum((scores - low) / (high - low) * LEVELS, LEVELS - 1)
    places = np.where(np.isnan(levels), LEVELS, levels).astype(np.uint8)
    row, column = (
        max(least, min(most, room / len(each)))
        for least, most, room, each in ((6.5, 18.0, 300.0, runs), (9.0, 40.0, 560.0, topics))
    )
    width, height = column * len(topics), row * len(runs)
    left, below = (4.2 * max(map(len, each)) + 8 for each in (runs, topics))
    scale = np.arange(LEVELS, dtype=np.uint8)[::-1, np.newaxis]
    texts = [
        f'<text x="{left - 4:.1f}" y="{(k + 0.5) * row + 2.5:.1f}" text-anchor="end">{escaped(run)}</text>'
        for k, run in enumerate(runs)
    ]
    texts += [
        f'<text transform="translate({left + (k + 0.5) * column + 2.5:.1f},{height + 4:.1f}) rotate(-90)" text-anchor="end">{escaped(topic)}</text>'
        for k, topic in enumerate(topics)
    ]
    end = left + width + 10
    texts += [
        f'<text x="{end + 13:.1f}" y="{y:.1f}">{value:.3g}</text>'
        for value, y in ((high, 7.0), (low, min(height, 150.0)))
    ]
    images = _image(places, left, width, height) + _image(scale, end, 10.0, min(height, 150.0))
    size = f"0 0 {end + 45:.0f} {height + below:.0f}"
    return Markup(  # noqa: S704 - numbers, and labels that are escaped
        f'<svg class="tall own" role="img" aria-label="{escaped(caption)}" viewBox="{size}" font-size="7">{images}{"".join(texts)}</svg>'
    )


def _image(places: PlaceArray, left: float, width: float, height: float) -> str:
    """Return an image of a palette's colours, one pixel a place, as an element of SVG."""
    kinds = struct.pack(">IIBBBBB", *places.shape[::-1], 8, 3, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + each.tobytes() for each in places), 9)
    png = b"\x89PNG\r\n\x1a\n"
    for kind, data in ((b"IHDR", kinds), (b"PLTE", PALETTE), (b"IDAT", pixels), (b"IEND", b"")):
        png += struct.pack(">I", len(data)) + kind + data
        png += struct.pack(">I", zlib.crc32(kind + data))
    text = base64.b64encode(png).decode()
    return (
        f'<image x="{left:.1f}" width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none" '
        f'style="image-rendering: pixelated" href="data:image/png;base64,{text}"/>'
    )
