"""API pages from docstrings: ``python -m tests.api_pages FOLDER``. They are read without network: styles and search are in them."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

MODULES = [
    "analyses", "analyses.plan", "collection.evaluation", "collection.judgements", "collection.pools", "collection.rankings",
    "collection.schema", "collection.selection", "collection.topic_means", "design", "errors", "ingest.formats", "ingest.in_memory",
    "ingest.long", "ingest.matrix", "ingest.ntcireval", "ingest.public", "ingest.qrels", "ingest.trec", "metrics", "names",
    "report.results", "report.views.registry", "report.views.view", "storage", "testing", "workflow",
]  # fmt: skip
"""What has a page, below `scorecube`; `tests/test_docstrings.py` reads their docstrings."""
UNRESOLVED = "Error parsing type annotation"
"""Inherited fields of records are annotated with names of the module above; the page shows the annotation as it is written."""


def write_pages(folder: Path) -> Path:
    """Write one page a module and return the first."""
    import pdoc
    import pdoc.render

    offered: dict[str, list[str]] = {}
    for module in MODULES:
        parts = ["scorecube", *module.split(".")]
        for depth in range(1, len(parts)):
            offered.setdefault(".".join(parts[:depth]), []).append(parts[depth])
    for above, children in offered.items():
        package: Any = import_module(above)
        names = [*getattr(package, "__all__", ()), *sorted(set(children))]
        # The generator goes by `__all__`, and does not see what is imported when it is first used.
        for name in names:
            setattr(
                package,
                name,
                import_module(f"{above}.{name}") if name in children else getattr(package, name),
            )
        package.__all__ = names
    pdoc.render.configure(docformat="numpy", show_source=False, footer_text="scorecube")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", UNRESOLVED)
        pdoc.pdoc("scorecube", output_directory=folder)
    return folder / "scorecube.html"


if __name__ == "__main__":
    print(write_pages(Path(sys.argv[1])))
