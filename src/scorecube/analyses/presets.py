"""The settings of the five papers in one word: ``--as sakai-2005``, ``preset="sakai-2005 swap"``.

Options that are given win. What a collection does not have is adapted, and said: the gain settings
of the papers by its number of relevance levels, numbers of topics below those at hand. Sakai 2004
has none: its tau and its figures are as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import uses_gains
from scorecube.errors import BadPlan, option

Paper = Literal["sakai-2005", "sakai-2007", "sakai-2017", "sakai-shang-2016"]
OF_2007 = ("3:2:1", "30:20:10", "0.3:0.2:0.1", "1:1:1", "10:5:1")
ALL_WAYS = {"sampling": ("disjoint", "replacement", "independent"), "size": "half"}
BINS = {"bins": 21, "required": "suffix", "trials": 1000, "confidence": (0.95,)}
TEAMS = {"topic_sizes": (75, 50, 25, 10), "lost": "all_runs_zero", "trials": 10}
FIVE_EIGHTY = {"mode": "sakai", "variance_of": "within", "systems": 10, "alpha": 0.05, "beta": 0.2}
BEST_RUNS, BEST_BY = 30, "AP"
"""Both papers of 2005 and 2007 take the best runs by relaxed average precision."""
TOPIC_SIZES = "topic_sizes"


class Preset(NamedTuple):
    """Settings of an analysis in a paper: options other than the defaults, and trials, by name.

    gains: Gain settings of a collection that has several; empty for all.
    best_runs: How many runs are taken, the best; 0 for all.
    """

    values: Mapping[str, Any] = {}
    gains: tuple[str, ...] = ()
    best_runs: int = 0


PRESETS: Mapping[str, Mapping[str, Preset]] = {
    "sakai-2005": {"swap": Preset(BINS | ALL_WAYS, OF_2007[:1], BEST_RUNS)},
    "sakai-2007": {
        "swap": Preset(BINS | {"rule": "s1", "sampling": "replacement"}, OF_2007[:1], BEST_RUNS),
        "bootstrap": Preset(
            {"plus_one": False, "alphas": (0.05,), "trials": 1000}, OF_2007[:1], BEST_RUNS
        ),
        "correlate": Preset(gains=OF_2007, best_runs=BEST_RUNS),
    },
    "sakai-2017": {
        "design": Preset(FIVE_EIGHTY),
        "wcw": Preset({"route": "anova-tool", "systems": 10, "alpha": 0.05, "beta": 0.2}),
    },
    "sakai-shang-2016": {
        "teams": Preset(TEAMS, ("3:1",)),
        "correlate": Preset(gains=("3:1",)),
        "design": Preset(FIVE_EIGHTY | {"min_diff": 0.15}),
    },
}


def preset_of(paper: str, analysis: str) -> Preset:
    """Return the settings of an analysis in a paper, or BadPlan where there are none."""
    presets = PRESETS.get(paper, {})
    if analysis not in presets:
        there = ", ".join(presets or PRESETS)
        text = f"{option('preset')}: no {paper} {analysis}; there is {there}"
        raise BadPlan(text, option="preset")
    return presets[analysis]


def selection_of(
    preset: Preset, cube: xr.Dataset, given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return arguments of `select` as in a paper, unless they are given, and what is to be said.

    cube: A collection before anything is selected.
    given: Arguments of `select`; None for those that are not given.
    """
    chosen, said = dict(given), list[str]()
    is_open = given.get("top_runs") is None and given.get("runs") is None
    if is_open and 0 < preset.best_runs < cube.sizes[names.RUN]:
        metrics = labels_of(cube, names.METRIC)
        by = str(given.get("by") or (BEST_BY if BEST_BY in metrics else metrics[0]))
        chosen |= {"top_runs": preset.best_runs, "by": by}
        why = "as in the paper" if by == BEST_BY else f"the paper has them by {BEST_BY}"
        said.append(
            f"the {preset.best_runs} best of {cube.sizes[names.RUN]} runs by {by}, {why}; "
            f"{option('top_runs')} takes others"
        )
    if preset.gains and given.get("gains") is None:
        settings, remark = gains_of(cube, preset.gains)
        chosen["gains"] = settings
        said += [remark] if remark else []
    return chosen, said


def gains_of(cube: xr.Dataset, of_paper: Sequence[str]) -> tuple[list[str], str]:
    """Return the gain settings of a cube that are a paper's, and what is to be said if none are.

    A setting of three levels gives two levels its last two values, as NTCIR's levels B and A; of
    four levels gain = level is 3:2:1. Where no setting is one of the paper's, it is the first for a
    paper that has one, and all for a paper that has several.
    """
    has = labels_of(cube, names.GAIN)
    default = OF_2007[0]  # gain = level
    only_auto = has == [names.AUTO]
    if not uses_gains(cube).any() or (only_auto and list(of_paper) == [default]):
        return has, ""
    n_levels = max((label.count(":") + 1 for label in has if label != names.AUTO), default=0)
    values = {label: _values(label, n_levels) for label in has}
    found = list[str]()
    for setting in () if only_auto else of_paper:
        wanted = _of_levels(setting, n_levels)
        equal = [label for label in has if values[label] == wanted and label not in found]
        found += [setting] if setting in equal else equal[:1]
    if {*of_paper} <= {*found} or (len(of_paper) == 1 and found == list(of_paper)):
        return found, ""
    paper = ", ".join(of_paper)
    if len(found) < len(of_paper):
        found = found[:1] if len(of_paper) == 1 else [*found, *(g for g in has if g not in found)]
    found = found or has[:1]
    return found, (
        f"gain settings {', '.join(found)} of {n_levels or 'these'} relevance levels; the paper "
        f"has {paper}; {option('gains')} takes others"
    )


def _values(setting: str, n_levels: int) -> list[float]:
    """Return the gains of a setting, highest level first."""
    if setting == names.AUTO:
        return [float(level) for level in range(n_levels, 0, -1)]
    return [float(part) for part in setting.split(":")]


def _of_levels(setting: str, n_levels: int) -> list[float]:
    """Return the gains that a paper's setting has with a number of levels, or nothing."""
    values = _values(setting, 0)
    if n_levels <= len(values):
        return values[len(values) - n_levels :]
    if setting == OF_2007[0]:
        return _values(names.AUTO, n_levels)
    return [1.0] * n_levels if {*values} == {1.0} else []


def adapted(preset: Preset, analysis: Any, n_topics: int) -> tuple[Any, list[str]]:
    """Return an analysis whose numbers of topics, where they are the paper's, are below n_topics.

    Also returns what is to be said.
    """
    of_paper = preset.values.get(TOPIC_SIZES)
    if of_paper is None or getattr(analysis, TOPIC_SIZES) != of_paper or n_topics > of_paper[0]:
        return analysis, []
    below = tuple(size for size in of_paper if size < n_topics)
    text = ", ".join(map(str, below)) or "none"
    said = (
        f"numbers of topics beside all {n_topics}: {text}; the paper, of 100 topics, has "
        f"{', '.join(map(str, of_paper))}"
    )
    return replace(analysis, topic_sizes=below or None), [said]
