"""Methods: a folder each, or a file, with all that belongs to it; `index` lists them."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    index = import_module("scorecube.methods.index")
    for entry in index.all_entries():
        if entry.path.endswith(f":{name}"):
            return index.find(entry.name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
