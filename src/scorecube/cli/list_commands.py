"""Command list: metrics, analyses, and gain settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from scorecube.cli.options import argument, check_choice
from scorecube.cli.terminal import echo, echo_table, wrap_lines
from scorecube.errors import visible

if TYPE_CHECKING:
    from scorecube.storage import Catalogue, Study

LISTED = ("metrics", "analyses", "gains")
NOTATION = """\
A gain setting gives one gain for each relevance level, highest level first.
With levels 3, 2 and 1, 3:2:1 gives a document of level 3 the gain 3, and 1:1:1
makes all relevant documents equal. Documents judged not relevant, or not
judged, gain 0. Gains are numbers >= 0 (10:5:1, 1:0.5:0.1) that do not rise
towards the lowest level; "auto", the default, gives each level its number.
scorecube evaluate takes several (--gains auto,1:1:1); metrics that use no
gains (scorecube list metrics says which) have the same scores in all of them."""


def list_(
    kind: Annotated[str, argument("metrics|analyses|gains", "What to list.")],
    study: Annotated[
        Optional[str], argument("STUDY", "With gains: the study whose gain settings to list.")
    ] = None,
) -> None:
    """List metrics or analyses; explain gain settings, or list those of a study.

    Example: scorecube list metrics

    Example: scorecube list gains study.zarr
    """
    from scorecube.workflow import api

    check_choice("list", kind, LISTED)
    if study is not None and kind != "gains":
        raise typer.BadParameter(
            f"only gains are listed of a study: scorecube list gains {study}", param_hint="STUDY"
        )
    if kind == "gains":
        echo(wrap_lines(NOTATION if study is None else gains_of(api.open_study(study))))
        return
    frame = api.list_metrics() if kind == "metrics" else api.list_analyses()
    echo_table(frame, "text")


def gains_of(study: Study | Catalogue) -> str:
    """Return the gain settings of all collections of a study, one line per collection."""
    lines = []
    for name, row in study.rows().items():
        rankings, levels = row.facts["rankings"], ""
        if rankings is not None:
            relevant = [level for level in rankings["levels"] if level > 0]
            levels = f"levels {', '.join(map(str, reversed(relevant)))}; "
        gains = ", ".join(row.facts["cube"]["gains"])
        lines.append(visible(f"{name}: {levels}gains {gains}"))
    return "\n".join(lines) or f"{study.path}: no collections"
