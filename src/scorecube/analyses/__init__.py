"""Analyses of a score cube, one record a file (see `protocol.py`), listed in `registry.py`."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    analysis = import_module("scorecube.analyses.registry").load_class(name)
    if analysis is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return analysis
