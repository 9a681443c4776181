"""Leaderboards of a page: runs, best first, with intervals and rank sets as bars in their rows, and systems by collections."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from scorecube import names
from scorecube.analyses.rank_sets import mean_of_estimates
from scorecube.errors import visible
from scorecube.report.columns import decimals_of
from scorecube.report.phrases import is_known
from scorecube.report.tables import COLLECTION, as_records
from scorecube.report.text_formats import with_labels

MOST_RUNS = 300
"""Rows of a leaderboard on the page of one collection."""
TO = "\N{EN DASH}"
"""Between limits."""
JOINED = "board"
"""Analysis of one ranking from many collections."""
NEEDED = {names.RUN, "rank", "mean", "rank_low", "rank_high"}
"""Columns of the first table of an analysis that is shown as leaderboards."""


def is_board(frame: pd.DataFrame) -> bool:
    """Return whether a table ranks runs with rank sets."""
    return set(frame.columns) >= NEEDED


def number(value: float | None, half: float | None = None) -> str:
    """Return a number with the digits that the half-width of its interval allows, below 1 at least two; three decimals without.

    Examples
    --------
    >>> number(0.8496, 0.038), number(73.2, 21.0), number(None)
    ('0.85', '73', '-')
    """
    if value is None:
        return "-"
    least = 2 if abs(value) < 1 else 0
    return f"{value:.{max(least, decimals_of(half)) if half else 3}f}"


def limited(
    value: float | None, low: float | None, high: float | None, form: str = ""
) -> tuple[str, str]:
    """Return a number and its limits, with the digits that these allow or in a form; no limits where they are not known.

    Examples
    --------
    >>> limited(-0.849, -0.883, -0.807), limited(0.5, None, None), limited(0.25, None, None, ".0%")
    (('-0.85', '-0.88 to -0.81'), ('0.500', ''), ('25%', ''))
    """
    value, low, high = (each if is_known(each) else None for each in (value, low, high))
    half = None if low is None or high is None else (high - low) / 2
    ends = [number(each, half) for each in (value, low, high)]
    if form:
        ends = ["-" if each is None else format(each, form) for each in (value, low, high)]
    between = (" to " if low is not None and low < 0 else TO).join(ends[1:]).replace("%", "")
    return ends[0], "" if half is None else between


def bar(low: float, high: float, point: float, ends: tuple[float, float], kind: str = "") -> str:
    """Return a bar from a lower to an upper limit, with a mark at a point, on a scale with these ends.

    Bars repeat what stands beside them as text; they are hidden from readers of screens.
    """
    width = (ends[1] - ends[0]) or 1.0
    left, right, place = (
        min(100.0, max(0.0, 100 * (each - ends[0]) / width)) for each in (low, high, point)
    )
    places = {"l": left, "w": right - left, "p": place}
    style = ";".join(f"--{name}:{value:.1f}" for name, value in places.items())
    return f'<i class="b{kind}" style="{style}" aria-hidden=true></i>'


def boards(
    frame: pd.DataFrame, link: Callable[[str], str], baseline: str, collections: int
) -> list[dict[str, Any]]:
    """Return the leaderboards of a table, by collection and metric, for the template of the page.

    frame: First table of an analysis of which `is_board` is true.
    link: Escapes text.
    baseline: Run that all are compared with; empty for none.
    collections: On the page.
    """
    most = max(10, MOST_RUNS // collections)
    found = []
    for (collection, label), rows in with_labels(frame).groupby([COLLECTION, "label"], sort=False):
        records = as_records(rows)
        ends = scale([(row.get("mean_low"), row.get("mean_high"), row["mean"]) for row in records])
        lines = [
            _row(row, ends, len(records), band, link)
            for row, band in zip(records[:most], bands_of(records), strict=False)
        ]
        found.append(
            {
                "collection": str(collection),
                "label": str(label),
                "rows": Markup("\n".join(lines)),  # noqa: S704 - escaped in each row
                "shown": len(lines),
                "runs": len(records),
                "difference": baseline if "difference" in rows else "",
            }
        )
    return found


def scale(limits: Iterable[Sequence[float | None]]) -> tuple[float, float]:
    """Return the smallest and largest of some limits."""
    known = [each for limit in limits for each in limit if each is not None]
    return min(known, default=0.0), max(known, default=1.0)


def bands_of(records: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return for each run, best first, in which band it is: a band ends at the last rank that its first run may have.

    Examples
    --------
    >>> bands_of([{"rank_low": 1, "rank_high": 2}, {"rank_low": 1, "rank_high": 3}, {"rank_low": 2, "rank_high": 3}])
    [0, 0, 1]
    """
    found: list[int] = []
    last = 0
    for place, row in enumerate(records, 1):
        if place > last:
            found.append(found[-1] + 1 if found else 0)
            last = max(place, int(row["rank_high"]))
        else:
            found.append(found[-1])
    return found


def _row(
    row: Mapping[str, Any],
    ends: tuple[float, float],
    runs: int,
    band: int,
    escape: Callable[[str], str],
) -> str:
    mean, interval, limits = _interval(row, ends)
    team = row.get(names.TEAM)
    beside = [str(team)] if team is not None and team != row[names.RUN] else []
    if row.get("repetitions") is not None:
        beside.append(f"{row['repetitions']} runs")
    small = f"<small>{escape(', '.join(beside))}</small>" if beside else ""
    first, last = int(row["rank_low"]), int(row["rank_high"])
    ranks = bar(first - 1, last, row["rank"] - 0.5, (0, runs), " r")
    extra = ""
    if "difference" in row:
        shown, ends_of = limited(
            row["difference"], row.get("difference_low"), row.get("difference_high")
        )
        extra = f'<td class="n">{shown} <small>{ends_of}</small></td>'
    return (
        f'<tr class="band{band % 2}"><td class="n">{row["rank"]}</td>'
        f'<th scope="row">{escape(str(row[names.RUN]))}{small}</th>'
        f'<td class="bar"><b>{mean}</b>{interval or "<i></i>"}<span>{limits}</span></td>'
        f'<td class="bar">{ranks}<span>{_rank_set(row)}</span></td>{extra}</tr>'
    )


def matrices(
    frame: pd.DataFrame, escape: Callable[[str], str], over: pd.DataFrame | None = None
) -> list[dict[str, Any]]:
    """Return the means of runs that all of several collections have, with their intervals, by metric; none where they have no two runs in common.

    frame: First table of an analysis of which `is_board` is true, over several collections; or the means by collection of a board.
    escape: Escapes text.
    over: First table of that board: the means over collections, with rank sets.
    """
    found, known = [], dict[tuple[str, str], dict[str, Any]]()
    if over is not None:
        known = {(row["label"], row[names.RUN]): row for row in as_records(with_labels(over))}
    for label, rows in with_labels(frame).groupby("label", sort=False):
        columns = [str(each) for each in rows[COLLECTION].unique()]
        by_run: dict[str, dict[str, dict[str, Any]]] = {}
        for row in as_records(rows):
            by_run.setdefault(str(row[names.RUN]), {})[str(row[COLLECTION])] = row
        common = {run: cells for run, cells in by_run.items() if len(cells) == len(columns)}
        if len(columns) < 2 or len(common) < 2:
            continue
        ends = scale(
            [
                (row.get("mean_low"), row.get("mean_high"), row["mean"])
                for cells in common.values()
                for row in cells.values()
            ]
        )
        means = {
            run: known.get((str(label), run)) or _mean(list(cells.values()))
            for run, cells in common.items()
        }
        ordered = sorted(common, key=lambda run: -means[run]["mean"])[:MOST_RUNS]
        lines = [
            f'<tr><th scope="row">{escape(run)}</th>{_cell(means[run], ends)}{_rank_cell(means[run])}'
            + "".join(_cell(common[run][name], ends) for name in columns)
            + "</tr>"
            for run in ordered
        ]
        found.append(
            {
                "label": str(label),
                "collections": columns,
                "rows": Markup("\n".join(lines)),  # noqa: S704 - escaped above
                "ranks": bool(known),
            }
        )
    return found


def _mean(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    columns = ("mean", "mean_low", "mean_high")
    found: list[list[Any]] = [[row.get(name) for row in rows] for name in columns]
    if any(None in each for each in found):
        return {"mean": sum(found[0]) / len(rows)}
    return dict(zip(columns, mean_of_estimates(*found), strict=True))


def _rank_cell(row: Mapping[str, Any]) -> str:
    if "rank_low" not in row:
        return ""
    return f'<td class="n">{_rank_set(row)}</td>'


def _rank_set(row: Mapping[str, Any]) -> str:
    first, last = row["rank_low"], row["rank_high"]
    return f"{first}" if first == last else f"{first}{TO}{last}"


def _cell(row: Mapping[str, Any], ends: tuple[float, float]) -> str:
    mean, drawn, limits = _interval(row, ends)
    return f'<td class="bar cell"><b>{mean}</b>{drawn}<span>{limits}</span></td>'


def _interval(row: Mapping[str, Any], ends: tuple[float, float]) -> tuple[str, str, str]:
    """Return the mean of a row, its interval as a bar, and its limits; empty where there are none."""
    low, high = row.get("mean_low"), row.get("mean_high")
    mean, limits = limited(row["mean"], low, high)
    drawn = bar(low, high, row["mean"], ends) if low is not None and high is not None else ""
    return mean, drawn, limits


def escaped(text: str) -> str:
    """Return a text for a page, without control characters."""
    return html.escape(visible(text))
