"""The figure of the results of a study: of one collection, or of several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import BadName, BadPlan, BadStudy, option
from scorecube.report.results import figure, no_figure, of_metrics
from scorecube.report.study_overview import find_view
from scorecube.report.tables import COLLECTION
from scorecube.report.view import View
from scorecube.storage import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(
    study: Study,
    analysis: str,
    collections: Sequence[str] | None = None,
    gain: str | None = None,
    metrics: Sequence[Any] | None = None,
    by: str | None = None,
) -> Figure:
    """Return the figure of the latest results of an analysis.

    study: Where the results are.
    analysis: Name of an analysis, or ``scores``, ``design`` or ``wcw``, which are made from the scores.
    collections: Names; None takes all that have a result.
    gain: Gain setting that is drawn, for one collection; the first by default.
    metrics: Metrics that are drawn, in this order; by default the first of a figure that has a panel for each, else
        all.
    by: ``gain``, ``size`` or an option of the analysis: a panel for each of its values among the results of one
        collection.
    Returns figure: Of the result of one collection, or a comparison of several.
    Raises BadName: An analysis, a gain setting or a metric that does not exist.
    Raises BadStudy: No result of the analysis, or one that is missing for a collection.
    Raises BadPlan: Several collections, and an analysis that is drawn one by one; or a gain setting or panels for
        several.
    """
    view = find_view(study, analysis)
    if view.figure is None:
        raise BadName(no_figure(view))
    results = _results(study, view, collections)
    if not results:
        raise BadStudy(
            f"{study.path}: no result of {analysis} yet; run: scorecube {analysis} {study.path}"
        )
    if len(results) == 1:
        (result,) = results.values()
        settings = labels_of(result, names.GAIN)
        if gain is not None and gain not in settings:
            raise BadName(
                f"no gain setting {gain!r} in the result of {analysis}; it has: {', '.join(settings)}"
            )
        if by is not None:
            from scorecube.report.figures.panels import draw_panels

            stored = [result] if view.compute else study[next(iter(results))].results(analysis)
            attributes = {COLLECTION: next(iter(results))}
            return draw_panels(
                view.draw,
                [of_metrics(each, metrics).assign_attrs(attributes) for each in stored],
                by,
                gain,
            )
        return figure(result, gain, metrics=metrics)
    found = ", ".join(results)
    if gain is not None or by is not None:
        own = "gain" if by is None else "by"
        raise BadPlan(
            f"{option(own)} chooses within one collection; name one with {option('collections')}: {found}",
            option=own,
        )
    if view.overview is None:
        raise BadPlan(
            f"{analysis} is drawn for one collection at a time; name one with {option('collections')}: {found}"
        )
    return view.draw_overview([of_metrics(each, metrics) for each in results.values()])


def shown(drawn: Figure) -> Figure:
    """Return a figure that notebooks show; matplotlib shows those of pyplot only."""
    from scorecube.report.figures.canvas import ShownFigure

    drawn.__class__ = ShownFigure
    return drawn


def _results(
    study: Study, view: View, collections: Sequence[str] | None
) -> Mapping[str, xr.Dataset]:
    """Return the latest result of each collection; of those that are not named, where there is one."""
    chosen = dict.fromkeys(study if collections is None else collections)
    if view.compute is not None:
        return {
            name: view.computed(study[name].cube).assign_attrs({COLLECTION: name})
            for name in chosen
        }
    return {
        name: study[name].result(view.name).assign_attrs({COLLECTION: name})
        for name in chosen
        if collections is not None or study[name].result_attributes(view.name)
    }
