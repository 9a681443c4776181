"""Command import: scores that other tools computed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

from scorecube.cli import options
from scorecube.cli.options import argument, check_choice, flag
from scorecube.cli.terminal import notify
from scorecube.errors import BadPlan, counted, option
from scorecube.ingest.formats import AUTO, NUMBERS, layouts
from scorecube.ingest.options import IMPORT
from scorecube.ingest.roles import TAKEN

if TYPE_CHECKING:
    import xarray as xr


@options.with_declared(IMPORT)
def import_(
    study: options.StudyPath,
    files: Annotated[
        list[Path],
        argument("FILE...", "Files of per-topic scores, plain or gzip, all in the same layout."),
    ],
    name: Annotated[
        Optional[str],
        flag(
            "--name",
            "Name of the collection in the study; by default, a column such as benchmark names the collections.",
        ),
    ] = None,
    *,
    no_header: Annotated[
        bool,
        flag(
            "--no-header", "Matrices without a line of names, as of NTCIREVAL: runs are numbered."
        ),
    ] = False,
    layout: str,
    replace: bool,
    **values: Any,
) -> None:
    """Add per-topic scores that other tools computed.

    Example: scorecube import study.zarr --name adhoc5 ap.csv p10.csv rr.csv
    """
    from scorecube.workflow import api

    check_choice("--layout", layout, [AUTO, *layouts()])
    layout = numbers_layout(layout) if no_header else layout
    if name is not None:
        api.check_names(name, [])
    cubes = api.import_scores(files, layout=layout, **values, collections=True, notify=_notify)
    if name is not None:
        cubes = {name: api.only_cube(cubes)}
    api.refuse_unnamed(cubes)
    opened = api.open_study(study, mode="a")
    with opened.batch():
        for collection, cube in cubes.items():
            opened.add(collection, cube=cube, replace=replace)
            notify(f"{study}: {collection}: {describe(cube)}")
            if missing := missing_scores(cube):
                notify(missing)


def numbers_layout(layout: str) -> str:
    """Return the layout without a header (BadPlan beside another one)."""
    if layout not in (AUTO, NUMBERS):
        raise BadPlan(
            f"{option('no_header', True)} is the layout {NUMBERS}, not {layout}", option="no_header"
        )
    return NUMBERS


def _notify(line: str) -> None:
    """Print what was read."""
    notify(line if line.startswith(TAKEN) else f"note: {line}")


def describe(cube: xr.Dataset) -> str:
    """Return the sizes of a cube as text."""
    sizes, n_systems = cube.sizes, len({*cube["system"].values}) if "system" in cube.coords else 0
    of = f" of {counted(n_systems, 'system')}" if 0 < n_systems < sizes["run"] else ""
    return (
        f"{counted(sizes['run'], 'run')}{of} x {counted(sizes['topic'], 'topic')}, {counted(sizes['metric'], 'metric')} x "
        f"{counted(sizes['gain'], 'gain setting')}"
    )


def missing_scores(cube: xr.Dataset) -> str:
    """Return the number of missing scores and the first of them as text; '' for none."""
    missing = cube["score"].isnull()
    if not missing.any():
        return ""
    at = {dim: int(k[0]) for dim, k in zip(missing.dims, missing.values.nonzero(), strict=True)}
    first = cube["score"].isel(at)
    return (
        f"{int(missing.sum())} of {missing.size} scores are missing, the first is {first['metric'].item()} of run {first['run'].item()} "
        f"on topic {first['topic'].item()}"
    )
