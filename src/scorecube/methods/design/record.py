"""Topic set size design, and worst-case widths: methods whose results are not stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from scorecube.analyses.protocol import Method
from scorecube.declare import Preset, View
from scorecube.methods.design.view import DESIGN, WCW

OF_TEN: dict[str, Any] = {"systems": 10, "alpha": 0.05, "beta": 0.2}
SPREADSHEET = {"mode": "sakai", "variance_of": "within"} | OF_TEN


class Design(Method):
    """Topic set size design: how many topics does a test collection need?"""

    name: ClassVar[str] = "design"
    view: ClassVar[View | None] = DESIGN
    references: ClassVar[tuple[str, ...]] = ("sakai2016",)
    presets: ClassVar[Mapping[str, Preset]] = {
        "sakai-2017": Preset(SPREADSHEET),
        "sakai-shang-2016": Preset(SPREADSHEET | {"min_diff": 0.15}),
    }


class WorstCaseWidths(Method):
    """Worst-case width of confidence intervals by number of topics, to compare measures."""

    name: ClassVar[str] = "wcw"
    view: ClassVar[View | None] = WCW
    references: ClassVar[tuple[str, ...]] = ("sakai2017",)
    presets: ClassVar[Mapping[str, Preset]] = {
        "sakai-2017": Preset({"route": "anova-tool"} | OF_TEN)
    }
