"""Figures as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scorecube.errors import BadPlan
from scorecube.report.figures.style import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the suffix of the file is its format. See `check_figure_path` for invalid files."""
    from matplotlib import rc_context

    check_figure_path(path)
    dateless: dict[str, dict[str, None]] = {
        ".png": {},
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
    with rc_context(STYLE):
        figure.savefig(path, dpi=150, metadata=dateless[path.suffix.lower()])


def check_figure_path(path: Path) -> None:
    """Refuse a file to which no figure can be written.

    Raises
    ------
    BadPlan
        Another suffix than png, svg or pdf, or a folder that does not exist.
    """
    if path.suffix.lower() not in FORMATS:
        found = path.suffix or "no ending"
        raise BadPlan(f"{path}: a figure is written as {', '.join(FORMATS)}; found {found}")
    if not path.parent.is_dir():
        raise BadPlan(
            f"{path}: there is no folder {path.parent}; create it first, or choose another folder"
        )
