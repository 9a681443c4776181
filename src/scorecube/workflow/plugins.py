"""Plugins: analyses, metrics and readers that installed packages declare as entry points."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

GROUPS = ("scorecube.analyses", "scorecube.metrics", "scorecube.readers")
"""Of entry points: classes of analyses, functions with the decorator `metric`, a `Format` each."""


@cache
def load_plugins() -> tuple[str, ...]:
    """Load the plugins of all groups, once; return one line for each that cannot be loaded."""
    problems = []
    for point in (point for group in GROUPS for point in entry_points(group=group)):
        try:
            _add(point.group, point.load())
        except Exception as error:
            problems.append(
                f"the plugin {point.name} ({point.value}) cannot be loaded: "
                f"{type(error).__name__}: {error}"
            )
    return tuple(problems)


def _add(group: str, loaded: object) -> None:
    """Register what an entry point names; a metric registers itself."""
    if group == "scorecube.analyses":
        from scorecube.analyses.protocol import Analysis
        from scorecube.analyses.registry import register

        if not (isinstance(loaded, type) and issubclass(loaded, Analysis)):
            raise TypeError(f"expected an analysis, found {loaded!r:.60}")
        register(loaded)
    elif group == "scorecube.readers":
        from scorecube.ingest.formats import Format, register_format

        if not isinstance(loaded, Format):
            raise TypeError(f"expected a Format, found {loaded!r:.60}")
        register_format(loaded)
