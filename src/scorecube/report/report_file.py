"""The report of a study as one file, for programs: what calling `scorecube.report` does."""

from __future__ import annotations

from scorecube.storage import Study, open_study


def report(
    study: Study | str,
    path: str = "report.html",
    *,
    title: str = "",
    authors: str = "",
    date: str = "",
) -> str:
    """Write all results of a study as one self-contained page.

    Parameters
    ----------
    study
        A study, or its path.
    path
        HTML file.
    title, authors, date
        Stand above the page; the name of the study, and nothing, by default.

    Returns
    -------
    path
        Of the file.

    Raises
    ------
    BadStudy
        A study without collections.
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
    from scorecube.report.page.render import Heading, write_page

    opened = open_study(study) if isinstance(study, str) else study
    write_page(opened, path, heading=Heading(title, authors, date))
    return path
