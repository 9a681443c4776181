"""Plugins: analyses, metrics and readers that installed packages declare as entry points."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import chain

GROUPS = ("scorecube.analyses", "scorecube.metrics", "scorecube.readers")
"""Of entry points: classes of analyses, functions with `metric` or `reader`."""


PROBLEMS: list[str] = []
"""A line for each plugin that could not be loaded."""


@cache
def _waiting() -> list[EntryPoint]:
    """Return the plugins that are still to be loaded."""
    installed = entry_points()
    return list(chain.from_iterable(installed.select(group=group) for group in GROUPS))


def load_plugins() -> tuple[str, ...]:
    """Load the plugins of all groups, each once; return one line for each that cannot be loaded."""
    points = list(_waiting())
    _waiting().clear()  # before they are loaded, as plugins may import this package
    problems = []
    for point in points:
        try:
            loaded = point.load()  # a metric and a reader declare themselves
            if point.group == "scorecube.analyses":
                from scorecube.methods.index import register

                register(loaded)
        except Exception as error:
            text = f"the plugin {point.name} ({point.value}) cannot be loaded"
            problems.append(f"{text}: {type(error).__name__}: {error}")
    PROBLEMS.extend(problems)
    return tuple(PROBLEMS)
