"""The command line."""

from scorecube.cli.program import main

__all__ = ["main"]
