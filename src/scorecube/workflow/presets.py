"""The settings of the five papers in one word: ``--as sakai-2005``, ``preset="sakai-2005 swap"``.

Options that are given win. What a collection does not have is adapted, and said: the gain settings
of the papers by its number of relevance levels, numbers of topics below those at hand. Sakai 2004
has none: its tau and its figures are as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import uses_gains
from scorecube.declare import OF_2007, Preset
from scorecube.declare.presets import Paper
from scorecube.errors import BadPlan, option
from scorecube.methods import index

BEST_BY = "AP"


def preset_of(paper: str, name: str) -> Preset:
    """Return the settings of a method in a paper, or BadPlan where there are none."""
    method = index.find(name)
    presets = {} if method is None else method.presets
    if paper in presets:
        return presets[paper]
    all_methods = [found for each in index.all_names() if (found := index.find(each))]
    there = [each.name for each in all_methods if paper in each.presets]
    text = f"{option('preset')}: no {paper} {name}; there is {', '.join(there or get_args(Paper))}"
    raise BadPlan(text, option="preset")


def selection_of(
    preset: Preset, cube: xr.Dataset, given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return arguments of `select` as in a paper, unless they are given, and what is to be said.

    cube: A collection before anything is selected.
    given: Arguments of `select`; None for those that are not given.
    """
    chosen = dict(given)
    said = list[str]()
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
