"""Commands that make a study or a collection of others, or change its form: merge, standardise, preferences, unpack."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Optional

from scorecube.cli import options
from scorecube.cli.options import argument, flag
from scorecube.cli.terminal import notify, split, track_progress
from scorecube.errors import BadPlan, BadStudy, counted

if TYPE_CHECKING:
    from scorecube.storage import Merged, Study


def merge(
    out: Annotated[
        str, argument("OUT", "Study to merge into: a directory, or s3://bucket/prefix.")
    ],
    parts: Annotated[
        list[str],
        argument(
            "PART...",
            "Studies to merge; patterns such as 's3://bucket/study.part-*.zarr' work for object stores, too.",
        ),
    ],
) -> None:
    """Join studies, such as those of the parts of a sweep; run it again to continue, or to add more studies.

    Example: scorecube merge study.zarr study.part-*.zarr
    """
    from scorecube.workflow import api

    start = time.monotonic()
    with track_progress("merging", None) as progress:
        merged = api.merge(out, parts, progress=progress)
    notify(f"{out}: {describe(merged)}; {time.monotonic() - start:,.0f} s")
    for line in notes(merged):
        notify(line)


def describe(merged: Merged) -> str:
    """Return what a merge did as text."""
    return (
        f"{counted(len(merged.parts), 'part')}: {counted(merged.new, 'collection')} added, {merged.extended} extended, "
        f"{merged.unchanged} already there; {counted(merged.results, 'result')} taken"
    )


def notes(merged: Merged) -> list[str]:
    """Return a note on parts of a sweep that were not merged."""
    from scorecube.workflow.sweep_parts import missing_parts

    numbers, total = missing_parts(merged.parts)
    if not numbers:
        return []
    shown = ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")
    return [
        f"note: not among them: {counted(len(numbers), 'part')} of {total} ({shown}); a part without collections has no study"
    ]


def source_of(study: Study, chosen: str | None, flag: str, name: str, kind: str) -> str:
    """Return the collection that another one, `name`, is made of: the chosen one, or the only one of a study."""
    source = only_collection(list(study), chosen, study.path, flag)
    if source == name:
        raise BadStudy(
            f"{name}: the {kind} scores are another collection; give it a --name of its own"
        )
    return source


def standardise(
    study: options.StudyPath,
    name: options.Name,
    collection: Annotated[
        Optional[str],
        flag("--collection", "Collection whose scores are standardised; the only one by default."),
    ] = None,
    method: Annotated[
        Literal["std-AB", "std-CDF", "z"],
        flag(
            "--method",
            "z: (score - mean) / standard deviation of the reference runs on the topic; std-CDF: its normal distribution "
            "function (Webber, Moffat and Zobel 2008); std-AB: 0.15 z + 0.5 with z from -3 to 3 (Sakai 2016).",
        ),
    ] = "std-AB",
    reference_runs: Annotated[
        Optional[str], flag("--reference-runs", "Known runs, separated by commas; all by default.")
    ] = None,
    replace: options.Replace = False,
) -> None:
    """Add the standardised scores of a collection as another collection, so that hard and easy topics have equal weight.

    Example: scorecube standardise study.zarr --collection covid --name std
    """
    from scorecube.collection.selection import standardise as standardise_cube
    from scorecube.workflow import api

    opened = api.open_study(study, mode="a")
    source = source_of(opened, collection, "--collection", name, "standardised")
    cube = standardise_cube(opened[source].cube, method, reference_runs=split(reference_runs))
    opened.add(name, cube=cube, replace=replace)
    sizes = f"{counted(cube.sizes['run'], 'run')} x {counted(cube.sizes['topic'], 'topic')}"
    known = len(cube.attrs["reference_runs"])
    metrics = ", ".join(map(str, cube["metric"].values))
    notify(f"{study}: {name}: {sizes}, {metrics}; against {counted(known, 'reference run')}")


def preferences(
    study: options.StudyPath,
    file: Annotated[
        Path,
        argument(
            "FILE",
            "Table with the columns topic, run_a, run_b, preferred (a run, or tie) and perhaps count.",
        ),
    ],
    name: options.Name,
    collection: Annotated[
        Optional[str],
        flag("--collection", "Collection with the runs compared; the only one by default."),
    ] = None,
    replace: options.Replace = False,
) -> None:
    """Add the agreement of metrics with preferences of people as a collection, whose runs are the metrics (Sakai and Zeng 2021).

    Example: scorecube preferences study.zarr people.csv --name agreement
    """
    from scorecube.ingest.preferences import agreement_with_preferences, read_preferences
    from scorecube.workflow import api

    api.check_names(name, [])
    opened = api.open_study(study, mode="a")
    source = only_collection(list(opened), collection, study)
    if source == name:
        raise BadStudy(f"{name}: agreement is another collection; give it a --name of its own")
    found = read_preferences(file)
    cube = agreement_with_preferences(opened[source].cube, found)
    opened.add(name, cube=cube, replace=replace)
    notify(
        f"{study}: {name}: {counted(cube.sizes['run'], 'metric')} on {counted(cube.sizes['topic'], 'pair')} of runs, "
        f"{counted(len(set(map(str, cube['topic_group'].values))), 'topic')}"
    )
    notify(
        f"intervals and ranks of metrics: scorecube leaderboard {study} --collection {name}; tests between them: scorecube tukey {study} "
        f"--collection {name}"
    )


def unpack(study: options.StudyPath) -> None:
    """Write the packed results of a study, as sweeps and object stores have them, as groups that xarray and zarr open by themselves.

    Example: scorecube unpack study.zarr
    """
    from scorecube.storage import open_study

    opened, count = open_study(study, mode="a"), 0
    with opened.batch():
        for name in opened:
            with opened.lock(name) as writer:
                count += writer.unpack()
    notify(f"{study}: {counted(count, 'result')} unpacked")


def only_collection(
    stored: list[str], chosen: str | None, study: str, flag: str = "--collection"
) -> str:
    """Return the collection that is chosen, or the only one that is stored (BadPlan if there are others)."""
    if chosen is None and len(stored) != 1:
        raise BadPlan(
            f"{study} holds {counted(len(stored), 'collection')}; choose one with {flag}"
            + (f": {', '.join(stored)}" if stored else "")
        )
    return stored[0] if chosen is None else chosen
