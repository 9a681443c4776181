"""Analyses of a score cube, a record each (see `protocol.py`), listed in `registry.py`."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    registry = import_module("scorecube.analyses.registry")
    for entry in registry.entries():
        if entry.path.endswith(f":{name}"):
            return registry.load(entry.name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
