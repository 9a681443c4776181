"""Readers of formats: a module or more for each tool; all of this folder are declared."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from scorecube.errors import BadInput, BadPlan, option
from scorecube.ingest.formats import AUTO, DECLARED, File, Format

if TYPE_CHECKING:
    import pandas as pd

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def layouts() -> pd.DataFrame:
    """Return all formats, general ones first: `name`, `file` and `what is read`."""
    import pandas as pd

    ordered = sorted(DECLARED.values(), key=lambda one: not one.is_general)
    rows = [{"name": one.name, "file": one.about, "what is read": one.what} for one in ordered]
    return pd.DataFrame(rows)


def load_format(name: str) -> Format:
    """Return the format of a name of `layouts` (BadPlan for another one)."""
    if name not in DECLARED:
        choices = ", ".join([AUTO, *DECLARED])
        raise BadPlan(f"no layout {name!r}; known: {choices}", option="layout")
    return DECLARED[name]


def detect(file: File) -> Format:
    """Return a file's format, found from its content (BadInput for none, or for several).

    Columns that are chosen of JSON lie in tables, whatever tool wrote it.
    """
    is_table = bool(file.asked.chosen) and file.is_json
    known = [one for one in DECLARED.values() if one.is_general or not is_table]
    fitting = [one for one in known if one.detect(file)]
    added = [one for one in fitting if not one.is_ours]
    special = [one for one in fitting if not one.is_general]
    if len(special) > 1 and not added:
        layout_options = " or ".join(option("layout", one.name) for one in special)
        abouts = "; ".join(f"{one.name}: {one.about}" for one in special)
        text = f"the file can be read as several formats ({abouts}): choose {layout_options}"
        raise BadInput(text, file.path, option="layout")
    for one in (*added, *special, *fitting):
        return one
    first = " | ".join(line.strip()[:40] for line in file.lines[:2]) or file.kind
    text = (
        f"no known layout fits the first lines, {first!r}; expected cells between commas, tabs or "
        f"semicolons below a line of headings, or JSON; else choose the {option('layout')}"
    )
    raise BadInput(text, file.path, option="layout")
