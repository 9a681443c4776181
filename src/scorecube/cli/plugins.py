"""Analyses, metrics and formats from other packages: modules named by entry points, which register them when imported."""

from __future__ import annotations

from importlib.metadata import entry_points

from scorecube.cli.terminal import say

GROUP = "scorecube.plugins"


def load_plugins() -> None:
    """Import the modules that installed packages name in their entry points; report those that cannot be imported."""
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:
            say(f"note: the plugin {point.name} ({point.value}) cannot be loaded: {type(error).__name__}: {error}")
