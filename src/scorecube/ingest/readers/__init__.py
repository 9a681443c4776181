"""Readers of formats: a module or more for each tool; all of this folder are declared."""

from __future__ import annotations

import importlib
import pkgutil

from scorecube.errors import BadInput, BadPlan, option
from scorecube.ingest.formats import AUTO, DECLARED, File, Format

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def layouts() -> dict[str, str]:
    """Return the names of all formats, with their content in a few words, general ones first."""
    ordered = sorted(DECLARED.values(), key=lambda one: not one.is_general)
    return {one.name: one.about for one in ordered}


def load_format(name: str) -> Format:
    """Return the format of a name of `layouts` (BadPlan for another one)."""
    if name not in DECLARED:
        choices = ", ".join([AUTO, *layouts()])
        raise BadPlan(f"no layout {name!r}; known: {choices}", option="layout")
    return DECLARED[name]


def detect(file: File) -> Format:
    """Return a file's format, found from its content (BadInput for none, or for several)."""
    added = [one for one in DECLARED.values() if not one.is_ours]
    ours = [one for one in DECLARED.values() if one.is_ours]
    for one in added:
        if one.detect(file):
            return one
    fitting = [one for one in ours if not one.is_general and one.detect(file)]
    if len(fitting) > 1:
        layout_options = " or ".join(option("layout", one.name) for one in fitting)
        abouts = "; ".join(f"{one.name}: {one.about}" for one in fitting)
        text = f"the file can be read as several formats ({abouts}): choose {layout_options}"
        raise BadInput(text, file.path, option="layout")
    for one in fitting or (one for one in ours if one.is_general):
        if fitting or one.detect(file):
            return one
    text = f"no known layout fits the first lines; choose the {option('layout')}"
    raise BadInput(text, file.path, option="layout")
