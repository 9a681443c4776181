"""Plugins: modules of other packages that register analyses, metrics or formats when imported."""

from importlib.metadata import entry_points

from scorecube.cli.terminal import notify

GROUP = f"{__name__.partition('.')[0]}.plugins"
"""Group of the entry points: ``scorecube.plugins``, which is no module."""


def load_plugins() -> None:
    """Import the plugins that installed packages declare as entry points; report those that fail to import."""
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:
            notify(
                f"note: the plugin {point.name} ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
            )
