"""What all methods share: a cube as a table, units of topics, plans, limits, frames of results."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorecube.analyses.frames import frame_of as frame_of
    from scorecube.analyses.protocol import Analysis as Analysis
    from scorecube.analyses.protocol import Concat as Concat
    from scorecube.analyses.protocol import Max as Max
    from scorecube.analyses.protocol import Sum as Sum
    from scorecube.analyses.step_down import drawn_counts as drawn_counts

_HOMES = {"frame_of": "frames", "drawn_counts": "step_down"} | dict.fromkeys(
    ("Analysis", "Concat", "Max", "Sum"), "protocol"
)
"""What modules of methods import; loaded when it is asked for, as it loads xarray."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
