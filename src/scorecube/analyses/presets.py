"""The settings of the five papers in one word: ``--as sakai-2005``, ``preset="sakai-2005 swap"``.

Options that are given win. Sakai 2004 has none: its tau and its figures are as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from scorecube.errors import BadPlan, option

Paper = Literal["sakai-2005", "sakai-2007", "sakai-2017", "sakai-shang-2016"]
OF_2007 = ("3:2:1", "30:20:10", "0.3:0.2:0.1", "1:1:1", "10:5:1")
ALL_WAYS = {"sampling": ("disjoint", "replacement", "independent"), "size": "half"}
BINS = {"bins": 21, "required": "suffix", "trials": 1000}
TEAMS = {"topic_sizes": (75, 50, 25, 10), "pool_depth": 10, "trials": 10}
FIVE_EIGHTY = {"mode": "sakai", "variance_of": "within", "systems": 10, "alpha": 0.05, "beta": 0.2}


class Preset(NamedTuple):
    """Settings of an analysis in a paper: options other than the defaults, and trials, by name.

    gains: Gain settings of a collection that has several; empty for all.
    """

    values: Mapping[str, Any] = {}
    gains: tuple[str, ...] = ()


PRESETS: Mapping[str, Mapping[str, Preset]] = {
    "sakai-2005": {"swap": Preset(BINS | ALL_WAYS, OF_2007[:1])},
    "sakai-2007": {
        "swap": Preset(BINS | {"rule": "s1", "sampling": "replacement"}, OF_2007[:1]),
        "bootstrap": Preset({"plus_one": False, "alphas": (0.05,), "trials": 1000}, OF_2007[:1]),
        "correlate": Preset(gains=OF_2007),
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
