"""Tests of methods, a file each, which may say for the suites over all methods what is special of it:

LAWS: what becomes of its results under `RELATIONS` of `tests/analyses/test_metamorphic.py`, or why nothing is known.
DRAWN: table and column whose numbers its figure shows.
OPTIONS: with which the suites try it.
CUBE: makes the cube that it takes, where that is not one of scores.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def own(method: str, name: str, otherwise: Any = None) -> Any:
    """Return what the test of a method says, or a default where it says nothing, or there is none."""
    path = f"{__name__}.test_{method}"
    return getattr(import_module(path), name, otherwise) if find_spec(path) else otherwise
