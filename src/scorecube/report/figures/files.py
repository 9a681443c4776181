"""Figures as files."""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path
from typing import Any

from scorecube.errors import BadPlan
from scorecube.files import check_target, write_file
from scorecube.report.figures.style import STYLE, Figure

FORMATS = (".png", ".svg", ".pdf")


MISSING = re.compile(r"Glyph (\d+) .*missing from font")


def save_figure(figure: Figure, path: Path) -> list[str]:
    """Write a figure; the suffix of the file is its format.

    Returns notes: On what the file shows differently: characters that the font does not have.
    Raises BadPlan, BadOutput: As of `check_figure_path` and `scorecube.files.write_file`.
    """
    check_figure_path(path)
    drawn, missing = draw_figure(figure, path.suffix.lower()[1:], dpi=150)
    write_file(path, drawn)
    if not missing:
        return []
    return [
        f"the font of the figure lacks {''.join(missing[:10])}, which the file shows as boxes; a figure in .svg keeps them as text"
    ]


def draw_figure(figure: Figure, form: str, **settings: Any) -> tuple[bytes, list[str]]:
    """Return a figure in a file format, and the characters that it cannot show; an SVG image keeps all as text."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file = io.BytesIO()
    with rc_context(STYLE), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if form == "svg":  # `savefig` draws twice
            canvas: Any = FigureCanvasSVG(figure)
            canvas.print_svg(file, metadata={"Date": None})
        else:
            dateless = {"CreationDate": None} if form == "pdf" else {}
            figure.savefig(file, format=form, metadata=dateless, **settings)
    found = [(MISSING.match(str(each.message)), each) for each in caught]
    for match, warning in found:
        if match is None:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    characters = dict.fromkeys(chr(int(match[1])) for match, _ in found if match)
    return file.getvalue(), [] if form == "svg" else list(characters)


def check_figure_path(path: Path) -> None:
    """Refuse a file to which no figure can be written.

    Raises BadPlan: Another suffix than png, svg or pdf.
    Raises BadOutput: As of `scorecube.files.check_target`.
    """
    if path.suffix.lower() not in FORMATS:
        found = path.suffix or "no ending"
        raise BadPlan(f"{path}: a figure is written as {', '.join(FORMATS)}; found {found}")
    check_target(path)
