"""Tables for papers, in LaTeX or Markdown, with a caption, or printed as in papers; references."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses import registry
from scorecube.collection.arguments import as_cube, labels
from scorecube.errors import counted
from scorecube.report.correlate import GAINS, METRICS
from scorecube.report.formats import marked, render
from scorecube.report.pair_tests import POWER
from scorecube.report.readable import KEYS, Marked
from scorecube.report.results import conditions, of_metrics, select_rows, view_of_result
from scorecube.report.swap import SENSITIVITY
from scorecube.report.tables import AS_PRINTED, COLLECTION, MARKS, Table, crossed, trait, where
from scorecube.report.teams import VARIANCE
from scorecube.report.views import View

FORMATS = ("latex", "markdown")
COMPUTED = {"design": ("sakai2016",), "wcw": ("sakai2017",)}
"""References of what is computed from scores and is no stored analysis."""
ENTRY = re.compile(r"^@\w+\{(\w+),.*$", re.MULTILINE)


def latex(
    result: xr.Dataset,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    top: int | None = None,
    *,
    metrics: Sequence[Any] | None = None,
    digits: int | None = None,
) -> str:
    r"""Return a table of a result in LaTeX (booktabs), with a caption, for a paper.

    Parameters
    ----------
    result
        A result of an analysis, a cube or rankings.
    table
        E.g. ``matrix``; None is the first table of the analysis.
    columns
        Names of columns, or of limits such as ``mean_limits`` and ``rank_set``; the first six by
        default. Limits stand beside their estimate.
    top
        The first rows of each metric.
    metrics
        Metrics to show, in this order; all by default.
    digits
        Decimals of numbers; by default those that limits allow.

    Returns
    -------
    text
        A ``table`` environment.

    Raises
    ------
    BadName
        A table, a column or a metric that does not exist.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=2, metrics=("AP",))
    >>> print(latex(cube, columns=["run", "mean"]).splitlines()[3])
    \begin{tabular}{lr} % \usepackage{booktabs}
    """
    return _text("latex", result, table, columns, top, metrics, digits)


def markdown(
    result: xr.Dataset,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    top: int | None = None,
    *,
    metrics: Sequence[Any] | None = None,
    digits: int | None = None,
) -> str:
    """Return a table of a result in Markdown, with a caption.

    Parameters
    ----------
    result, table, columns, top, metrics, digits
        As of `latex`; all columns by default.

    Returns
    -------
    text
        The caption and the table.

    Raises
    ------
    BadName
        A table, a column or a metric that does not exist.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=2, metrics=("AP",))
    >>> print(markdown(cube, columns=["run", "mean"], top=1).splitlines()[2])
    | run         |   mean |
    """
    return _text("markdown", result, table, columns, top, metrics, digits)


def _text(
    form: str, result: Any, name: Any, columns: Any, top: Any, metrics: Any, digits: Any
) -> str:
    view, result = view_of_result(result), as_cube(result)
    table = view.find_table(name, [result])
    columns = None if columns is None else labels("columns", columns)
    shown = select_rows(table.frame(of_metrics(result, metrics)), top=top)
    above = caption(view, table, [result], shown, form)
    return render(shown, form, columns=columns, caption=above, digits=digits)


def caption(
    view: View, table: Table, results: Sequence[xr.Dataset], frame: pd.DataFrame, form: str
) -> str:
    """Return the caption of a table in one sentence: what was computed of what."""
    facts = [
        {f"n_{dim}s": of.sizes[dim] for dim in (names.RUN, names.TOPIC) if dim in of.dims}
        | of.attrs
        for of in results
    ]
    collections = filter(None, (where(of)[COLLECTION] for of in results))
    place = ", ".join(collections) if len(facts) <= 3 else counted(len(facts), "collection")
    roles, words = trait(frame, "role"), [conditions(*facts)]
    for name in map(str, frame.columns):
        value = frame[name].iloc[0] if frame[name].nunique() == 1 else names.AUTO
        if (name in KEYS[1:] or roles.get(name) == "condition") and value != names.AUTO:
            words.append(f"{name.replace('_', ' ')} {value}")
    about = f"{view.heading}{f', {place}' if place else ''}: {', '.join(filter(None, words))}"
    legend = "" if table.legend is None else table.legend(facts[0])
    return marked(f"{'; '.join(filter(None, [about, legend]))}.", form)


@cache
def references() -> dict[str, str]:
    """Return the BibTeX entry of each key."""
    text = files("scorecube").joinpath("data/references.bib").read_text(encoding="utf-8")
    return {found[1]: found[0] for found in ENTRY.finditer(text)}


def reference_keys(analysis: str) -> tuple[str, ...]:
    """Return the keys of the references of an analysis."""
    entries = {entry.name: entry.references for entry in registry.entries()}
    return entries.get(analysis, COMPUTED.get(analysis, ()))


def software() -> str:
    """Return the BibTeX entry of this version."""
    return f"@software{{scorecube, title = {{scorecube}}, version = {{{version('scorecube')}}}}}"


MISSING = Marked("-")
CONDITIONS = ("sampling", "confidence", "gain", "default", "alpha")
"""Columns that LaTeX and Markdown have where they differ; captions say them."""


def printed(rows: Callable[[xr.Dataset], Any], bold_above: float | None = None) -> Table:
    """Return the declaration of a table whose cells are texts, given a function of its rows.

    bold_above: Numbers above it are in boldface in the paper.
    """

    def make(result: xr.Dataset) -> pd.DataFrame:
        frame = pd.DataFrame(rows(result))
        frame.insert(0, COLLECTION, where(result)[COLLECTION])
        frame.attrs[AS_PRINTED] = CONDITIONS
        if bold_above is not None:
            frame.attrs[MARKS] = bold_above
        return frame

    return Table("metric gain", "", make=make)


def number(value: float, decimals: int, whole: bool = True) -> Marked:
    """Return a number with some decimals, without the 0 of a fraction where papers print none."""
    text = format(value, f".{decimals}f")
    if not whole and text.lstrip("-").startswith("0."):
        text = text.replace("0.", ".", 1)
    return Marked(text) if math.isfinite(value) else MISSING


def percent(share: float, decimals: int = 0) -> Marked:
    """Return a share as per cent."""
    return Marked(format(share, f".{decimals}%")) if math.isfinite(share) else MISSING


def swap(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield the four columns of the swap method (Sakai 2005, Tables 1-4; Sakai 2007, Table 3)."""
    decimals = 1 if result.attrs["rule"] == "s0" else 0
    for row in SENSITIVITY.frame(result).to_dict("records"):
        share = row["share"]
        yield {
            "sampling": row["sampling"],
            "confidence": percent(row["confidence"]),
            "metric": row["metric"],
            "gain": row["gain"],
            "(i) required": number(row["required_difference"], 2),
            "(ii) maximum": number(row["max_performance"], 4),
            "(iii) relative": percent(row["relative_difference"]),
            "(iv) comparisons": percent(share, max(decimals, int(share < 0.0995))),
        }


def discriminative_power(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield significant pairs and the estimated difference (Sakai 2007, Tables 4 and 6)."""
    for row in POWER.frame(result).to_dict("records"):
        pairs = f"{row['significant']}/{row['pairs']} = {row['share']:.0%}"
        yield {
            "metric": row["metric"],
            "gain": row["gain"],
            "alpha": Marked(f"{row['alpha']:g}"),
            "ASL < alpha": Marked(pairs),
            "estimated diff.": number(row.get("estimated_difference", math.nan), 2),
        }


def taus(result: xr.Dataset) -> pd.DataFrame:
    """Return a triangle of tau of metrics (Sakai 2007, Table 2)."""
    frame = METRICS.frame(result).rename(columns={"metric_a": "metric"})
    return crossed(frame, ["gain", "metric"], "metric_b", taus_of(frame))


def taus_of_gains(result: xr.Dataset) -> pd.DataFrame:
    """Return tau of each gain setting with the first (Sakai 2007, Table 5)."""
    frame = GAINS.frame(result)
    return crossed(frame, ["metric", "default"], "gain", taus_of(frame))


def both_coefficients(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield rho and tau of every two metrics with their gains (Sakai 2004, Tables 3 to 12)."""
    gains, seen = GAINS.frame(result), set[frozenset[str]]()
    with_gains = {*gains["metric"]}
    rows = METRICS.frame(result).to_dict("records")
    for row in gains.to_dict("records"):
        rows.append(row | {"metric_a": row["metric"], "metric_b": row["metric"]})
    for row in rows:
        settings = row.get("default", row["gain"]), row["gain"]
        metrics = row["metric_a"], row["metric_b"]
        first, second = (
            f"{metric} {gain}" if metric in with_gains else metric
            for metric, gain in zip(metrics, settings, strict=True)
        )
        if (pair := frozenset((first, second))) not in seen:
            seen.add(pair)
            rho, tau = (number(row[name], 4, whole=False) for name in ("spearman", "tau"))
            yield {"metric": first, "and": second, "Spearman": rho, "Kendall": tau}


def taus_of(frame: pd.DataFrame) -> list[Marked]:
    """Return tau with four decimals."""
    return [number(tau, 4, whole=False) for tau in frame["tau"]]


def variances(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield variances by topics, and topics needed (Sakai and Shang 2016, Table 3)."""
    frame = VARIANCE.frame(result)
    whole = frame[frame["left_out"] == 0]
    for (metric, gain), rows in whole.groupby(["metric", "gain"], sort=False):
        cells = {
            f"n' = {row['n_topics_wanted']}": Marked(
                f"{number(row['variance_mean'], 3, whole=False)} ({row['topics_needed_tool']})"
            )
            for row in rows.to_dict("records")
        }
        yield {"metric": metric, "gain": gain, **cells}


TABLES: Mapping[str, Mapping[str, Table]] = {
    "swap": {"sakai-2005": printed(swap), "sakai-2007": printed(swap)},
    "bootstrap": {"sakai-2007": printed(discriminative_power)},
    "correlate": {
        "sakai-2007": printed(taus, 0.8),
        "sakai-2007-gains": printed(taus_of_gains, 0.8),
        "sakai-2004": printed(both_coefficients, 0.99),
    },
    "teams": {"sakai-shang-2016": printed(variances)},
}
"""Analysis -> tables by paper. Limits of tau (Sakai and Shang 2016, Table 2): its ``triangle``."""
