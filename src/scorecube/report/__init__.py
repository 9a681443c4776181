"""Tables, figures and the report of results; calling the package writes the report: ``sc.report(study)``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from inspect import signature
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scorecube.storage import Study


def report(
    study: Study | str,
    path: str = "report.html",
    *,
    collections: Sequence[str] | None = None,
    title: str = "",
    authors: str = "",
    date: str = "",
) -> str:
    """Write all results of a study as one self-contained page; of more than 50 collections their distributions.

    Parameters
    ----------
    study
        A study, or its path.
    path
        HTML file.
    collections
        Names of those that it is about; all by default.
    title, authors, date
        Stand above the page; the name of the study, and nothing, by default.

    Returns
    -------
    path
        Of the file.

    Raises
    ------
    BadStudy
        A study without collections, or without one of those.
    BadOutput
        A path that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.storage import open_study
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = open_study(folder + "/study.zarr", mode="a")
    ...     study.add("demo", cube=simulate_cube(n_runs=4))
    ...     report(study, folder + "/report.html").endswith("report.html")
    True
    """
    from scorecube.report.page.heading import Heading
    from scorecube.report.page.writing import write_page
    from scorecube.storage import open_study

    opened = open_study(study) if isinstance(study, str) else study
    write_page(opened, path, collections=collections, heading=Heading(title, authors, date))
    return path


class _CallableModule(ModuleType):
    """A package with the name of what it makes."""

    __call__ = staticmethod(report)
    __signature__ = signature(report)


sys.modules[__name__].__class__ = _CallableModule
