"""Command standardise: scores on a scale that does not depend on how hard a topic is."""

from __future__ import annotations

from typing import Annotated, Literal, Optional

import typer

from scorecube.cli import options
from scorecube.cli.terminal import notify, split

Collection = Annotated[
    Optional[str],
    typer.Option(
        "--collection", help="Collection whose scores are standardised; the only one by default."
    ),
]
Method = Annotated[
    Literal["std-AB", "std-CDF", "z"],
    typer.Option(
        "--method",
        help="z: (score - mean) / standard deviation of the reference runs on the topic; std-CDF: its normal distribution "
        "function (Webber, Moffat and Zobel 2008); std-AB: 0.15 z + 0.5 with z from -3 to 3 (Sakai 2016).",
    ),
]
ReferenceRuns = Annotated[
    Optional[str],
    typer.Option("--reference-runs", help="Known runs, separated by commas; all by default."),
]


def standardise(
    study: options.StudyPath,
    name: options.Name,
    collection: Collection = None,
    method: Method = "std-AB",
    reference_runs: ReferenceRuns = None,
    replace: options.Replace = False,
) -> None:
    """Add the standardised scores of a collection as another collection, so that hard and easy topics have equal weight.

    Example: scorecube standardise study.zarr --collection covid --name std
    """
    from scorecube.collection.selection import standardise as standardise_cube
    from scorecube.errors import BadPlan, BadStudy, counted
    from scorecube.workflow import api

    opened = api.open_study(study, mode="a")
    stored = list(opened)
    if collection is None and len(stored) != 1:
        raise BadPlan(
            f"{study} holds {counted(len(stored), 'collection')}; choose one with --collection"
            + (f": {', '.join(stored)}" if stored else "")
        )
    source = stored[0] if collection is None else collection
    if source == name:
        raise BadStudy(
            f"{name}: the standardised scores are another collection; give it a --name of its own"
        )
    cube = standardise_cube(opened[source].cube, method, reference_runs=split(reference_runs))
    opened.add(name, cube=cube, replace=replace)
    sizes = f"{counted(cube.sizes['run'], 'run')} x {counted(cube.sizes['topic'], 'topic')}"
    known = len(cube.attrs["reference_runs"])
    metrics = ", ".join(map(str, cube["metric"].values))
    notify(f"{study}: {name}: {sizes}, {metrics}; against {counted(known, 'reference run')}")


COMMANDS = (standardise,)
