"""Tables, figures and the report of results."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr

    from scorecube.storage import Study


def report(
    study: Study | str | xr.Dataset | Sequence[xr.Dataset],
    path: str = "report.html",
    *,
    collections: Sequence[str] | None = None,
    title: str = "",
    primary: str = "",
    min_diff: float | None = None,
    variance_of: str | None = None,
) -> str:
    """Write all results of a study as one self-contained page.

    Parameters
    ----------
    study
        A study, or its path; or a cube, or a list of a cube and its results, which are in memory.
    path
        HTML file.
    collections
        Names of those that it is about; all by default.
    title
        The name of the study by default.
    primary
        Metric that comes first.
    min_diff, variance_of
        Of the design, as of `topic_set_size`: difference to detect, 0.1 by default, and variance.

    Returns
    -------
    path
        Of the file.

    Raises
    ------
    BadStudy
        A study without collections, or without one of those.
    BadInput
        Results without the cube that they are of.
    BadOutput
        A path that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report(simulate_cube(n_runs=4), folder + "/report.html").endswith("report.html")
    True
    """
    # Imported where it is needed: the package `scorecube` imports this function, and is fast.
    from tempfile import TemporaryDirectory

    from scorecube.report.page import write_page
    from scorecube.storage import Study, open_study

    with TemporaryDirectory(prefix="scorecube-") as folder:
        opened: Any = open_study(study) if isinstance(study, str | PathLike) else study
        if not isinstance(opened, Study):
            opened = _study_of(opened, folder)
        write_page(
            opened,
            path,
            collections=collections,
            title=title,
            primary=primary,
            design={"min_diff": min_diff, "variance_of": variance_of},
        )
    return path


def _study_of(given: object, folder: str) -> Study:
    """Return a study, in a folder, of a cube and perhaps its results."""
    from scorecube.collection.arguments import as_cube
    from scorecube.errors import BadInput
    from scorecube.storage import open_study

    datasets = [as_cube(each) for each in (given if isinstance(given, list | tuple) else [given])]
    results = [each for each in datasets if "analysis" in each.attrs]
    cubes = [each for each in datasets if "analysis" not in each.attrs]
    if len(cubes) != 1:
        raise BadInput(
            f"a report of what is in memory is about one cube; found {len(cubes)} cubes and "
            f"{len(results)} results: report([cube, result, ...])"
        )
    name = str(cubes[0].attrs.get("collection", "scores"))
    study = open_study(f"{folder}/study", mode="a")
    study.add(name, cube=cubes[0])
    for result in results:
        study[name].write_result(result)
    return study
