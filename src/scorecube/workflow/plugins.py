"""Plugins: analyses, metrics and readers that installed packages declare as entry points."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from itertools import chain

GROUPS = ("scorecube.analyses", "scorecube.metrics", "scorecube.readers")
"""Of entry points: classes of analyses, functions with `metric` or `reader`."""


@cache
def load_plugins() -> tuple[str, ...]:
    """Load the plugins of all groups, once; return one line for each that cannot be loaded."""
    problems = []
    for point in chain.from_iterable(entry_points(group=group) for group in GROUPS):
        try:
            loaded = point.load()  # a metric and a reader declare themselves
            if point.group == "scorecube.analyses":
                from scorecube.methods.index import register

                register(loaded)
        except Exception as error:
            text = f"the plugin {point.name} ({point.value}) cannot be loaded"
            problems.append(f"{text}: {type(error).__name__}: {error}")
    return tuple(problems)
