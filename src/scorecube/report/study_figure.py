"""The figure of what a study holds: of one collection, or of several side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import xarray as xr
from matplotlib.figure import Figure

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.design import design_variances, topic_set_size, wcw
from scorecube.errors import BadName, BadPlan, BadStudy, nearest
from scorecube.report import figures
from scorecube.report.figures.design import wcw_panels
from scorecube.report.tables import COLLECTION
from scorecube.storage import Study

FROM_SCORES: Mapping[str, Callable[..., xr.Dataset]] = {"design": topic_set_size, "wcw": wcw}
"""Made of the variances of a cube when they are drawn, with all defaults."""


def draw(study: Study, analysis: str, collections: Sequence[str] | None = None, gain: str | None = None) -> Figure:
    """Return the figure of the latest results of an analysis.

    Parameters
    ----------
    study
        Where the results are.
    analysis
        Name of an analysis, or ``design`` or ``wcw``, which need none but scores.
    collections
        Names; None takes all that have a result.
    gain
        Gain setting that is drawn, for one collection; the first by default.

    Returns
    -------
    figure
        Of the result of one collection; of several, what compares them.

    Raises
    ------
    BadName
        An analysis or a gain setting that does not exist.
    BadStudy
        No result of the analysis, or one that is missing for a collection.
    BadPlan
        Several collections, and an analysis that is drawn one by one; or a gain setting for several.
    """
    if analysis not in figures.FIGURES:
        known = list(figures.FIGURES)
        raise BadName(f"no figure of {analysis!r}; nearest: {nearest(analysis, known)}; all: {', '.join(known)}")
    results = _results(study, analysis, collections)
    if not results:
        raise BadStudy(f"{study.path}: no result of {analysis} yet; run: scorecube {analysis} {study.path}")
    if len(results) == 1:
        (result,) = results.values()
        settings = labels_of(result, names.GAIN)
        if gain is not None and gain not in settings:
            raise BadName(f"no gain setting {gain!r} in the result of {analysis}; it has: {', '.join(settings)}")
        return figures.FIGURES[analysis](result, gain)
    found = ", ".join(results)
    if gain is not None:
        raise BadPlan(f"--gain chooses within one collection; name one of them with --collection: {found}")
    if analysis == "wcw":
        return wcw_panels(results)
    if analysis not in figures.OVERVIEWS:
        raise BadPlan(f"{analysis} is drawn collection by collection; name one with --collection: {found}")
    return figures.OVERVIEWS[analysis](list(results.values()))


def _results(study: Study, analysis: str, collections: Sequence[str] | None) -> Mapping[str, xr.Dataset]:
    """Return the latest result of each collection; of those that are not named, where there is one."""
    chosen = dict.fromkeys(study if collections is None else collections)
    if analysis in FROM_SCORES:
        make = FROM_SCORES[analysis]
        return {name: make(design_variances(study[name].cube)).assign_attrs({COLLECTION: name}) for name in chosen}
    return {
        name: study[name].result(analysis).assign_attrs({COLLECTION: name})
        for name in chosen
        if collections is not None or study[name].result_attributes(analysis)
    }
