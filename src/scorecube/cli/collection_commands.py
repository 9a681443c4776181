"""Commands that add collections to a study: evaluate, import, fetch, standardise, preferences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from scorecube import names
from scorecube.cli import options
from scorecube.cli.options import NAMES, Text, argument, flag
from scorecube.cli.terminal import echo, notify, split, track_progress
from scorecube.errors import BadPlan, BadStudy, counted, on_command_line, option
from scorecube.ingest.formats import AUTO, DECLARED
from scorecube.ingest.options import EVALUATE, IMPORT
from scorecube.names import N_JUDGED, N_RETRIEVED, TOPIC

if TYPE_CHECKING:
    import xarray as xr

    from scorecube.storage import Study

MadeOf = Annotated[Text, flag("--collection", "Made of this one; the only one by default.")]
RUNS = (
    "Run files, directories or globs, plain or gzip; several may follow. Or the folder of "
    "NTCIREVAL's ranked lists <topic>/<topic>.<run>.res."
)
QRELS = "Judgements: a file, or the folder of NTCIREVAL's <topic>.rel files."
NAME = "Name of the collection, if no column names it."
STANDARD = (
    "z: standard scores by the reference runs on the topic; std-CDF: their normal distribution "
    "function (Webber 2008); std-AB: 0.15 z + 0.5, cut at 0 and 1 (Sakai 2016)."
)
KNOWN = "Known runs; all by default."
PREFERENCES = "Table: topic, run_a, run_b, preferred (a run, or tie) and perhaps count."


@options.with_options(EVALUATE)
def evaluate(
    study: options.StudyPath,
    name: options.Name,
    runs: Annotated[list[str], flag("--runs", RUNS)],
    qrels: Annotated[Path, flag("--qrels", QRELS)],
    workers: options.Workers = None,
    **values: Any,
) -> None:
    """Score run files against judgements and add them to a study.

    Example: scorecube evaluate study --name covid --runs runs/ --qrels qrels.txt --gains 2:1
    """
    from scorecube.collection.plausibility import doubts_of
    from scorecube.workflow import api, inputs

    opened = api.open_study(study, mode="a")
    inputs.check_names(name, values["metrics"])
    reading, scoring = inputs.arguments_of(values)
    noted: list[str] = []
    with track_progress("reading runs", "files") as progress:
        reading |= {"workers": workers, "progress": progress, "notify": noted.append}
        rankings = api.read_rankings(runs, qrels, **reading)
    with track_progress("evaluating", "metrics") as progress:
        scoring |= {"progress": progress, "notify": noted.append}
        cube = inputs.evaluate_into(opened, name, rankings, **scoring)
    notify(f"{opened.path}: {name}: {sizes_of(cube)}; ties by {values['order']}")
    notes = [f"note: {on_command_line(line)}" for line in [*noted, *doubts_of(cube)]]
    notify("\n".join([*lines_on_topics(rankings, cube), *notes]))


def sizes_of(cube: xr.Dataset) -> str:
    """Return the sizes of a cube as text."""
    sizes = cube.sizes
    n_systems = len({*cube["system"].values}) if "system" in cube.coords else 0
    run, topic = (names.word(cube.attrs, dim) for dim in (names.RUN, names.TOPIC))
    system = "system" if run == names.RUN else run
    of = f" of {counted(n_systems, system)}" if 0 < n_systems < sizes["run"] else ""
    gains = f" x {counted(sizes['gain'], 'gain setting')}" if sizes["gain"] > 1 else ""
    return (
        f"{counted(sizes['run'], 'run' if of else run)}{of} x {counted(sizes['topic'], topic)}, "
        f"{counted(sizes['metric'], 'metric')}{gains}"
    )


def lines_on_topics(rankings: xr.Dataset, cube: xr.Dataset) -> list[str]:
    """Return lines on judged documents by level, topics left out, and topics that runs lack."""
    from scorecube.collection.evaluation import EXCLUDED

    judged = rankings[N_JUDGED].values.sum(axis=0).tolist()
    by_level = ", ".join(f"{level}={n}" for level, n in enumerate(judged) if n or not level)
    lines = [
        f"judgements: {counted(rankings.sizes[TOPIC], 'topic')}, {sum(judged)} judged documents, "
        f"{sum(judged[1:])} relevant; by level: {by_level}"
    ]
    if excluded := cube.attrs.get(EXCLUDED):
        count = counted(len(excluded), "topic")
        labels = ", ".join(excluded[:10])
        lines.append(f"{count} without a relevant document left out: {labels}")
    if missing := int((rankings[N_RETRIEVED].sel({TOPIC: cube[TOPIC].values}) == 0).sum()):
        lines.append(f"{missing} rankings of judged topics are missing in runs: score 0")
    return lines


@options.with_options(IMPORT)
def import_(
    study: options.StudyPath,
    files: Annotated[list[Path], argument("FILE...", "Scores by topic, all in one layout.")],
    name: Annotated[Text, flag("--name", NAME)] = None,
    no_header: Annotated[bool, flag("--no-header", "Matrices without names of runs.")] = False,
    **values: Any,
) -> None:
    """Add per-topic scores that other tools computed.

    Example: scorecube import study --name adhoc5 ap.csv p10.csv rr.csv
    """
    from scorecube.ingest.headings import TAKEN
    from scorecube.ingest.readers.general import NUMBERS
    from scorecube.ingest.scores import only_cube
    from scorecube.workflow import api, inputs

    layout = values.pop("layout")
    replace = values.pop("replace")
    if layout not in (known := [AUTO, *DECLARED]):
        problem = f"{layout!r} is not one of {', '.join(known)}"
        raise typer.BadParameter(problem, param_hint="--layout")
    if no_header and layout not in (AUTO, NUMBERS):
        raise BadPlan(
            f"{option('no_header', True)} is the layout {NUMBERS}, not {layout}", option="no_header"
        )
    cubes = api.import_scores(
        files,
        layout=NUMBERS if no_header else layout,
        collections=True,
        notify=lambda line: notify(
            line if line.startswith(TAKEN) else f"note: {on_command_line(line)}"
        ),
        **values,
    )
    if name is not None:
        cubes = {name: only_cube(cubes)}
    inputs.refuse_unnamed(cubes)
    opened = api.open_study(study, mode="a")
    lines: list[str] = []
    for collection, cube in cubes.items():
        opened.add(
            collection, cube=cube, replace="cells" if replace else False, notify=lines.append
        )
        notify("\n".join([f"{study}: {collection}: {sizes_of(cube)}", *lines]))
        lines.clear()
        whole = opened[collection].head.facts["cube"]
        if whole["runs"] > cube.sizes["run"]:
            word = names.word(cube.attrs, names.RUN)
            notify(f"{collection}: {counted(whole['runs'], word)} now, with those that were there")
        missing = int(cube["score"].isnull().sum())
        if missing and names.MATCH not in cube.dims:  # of battles those of systems with themselves
            notify(f"{missing} of {cube['score'].size} scores are missing")


def fetch(
    names: Annotated[Optional[list[str]], argument("NAME", "Collections, see --list.")] = None,
    into: Annotated[Text, flag("--into", "Study to add the scores to.", metavar="STUDY")] = None,
    show_list: Annotated[bool, flag("--list", "List collections, sources and licences.")] = False,
    replace: options.Replace = False,
) -> None:
    """Fetch public score matrices, check their SHA-256 sums, and add them to a study.

    Fetched files are kept in a folder, SCORECUBE_DATA_CACHE, and read from it later;
    SCORECUBE_DATA_URL names a mirror.

    Example: scorecube fetch adhoc5 --into study

    Example: scorecube fetch --list
    """
    from scorecube.ingest import public
    from scorecube.workflow import api

    entries = public.public_collections()
    if show_list:
        for name, entry in entries.items():
            metrics = ", ".join(file["metric"] for file in entry.files)
            echo(f"{name}: {entry.title}, {entry.runs} runs x {entry.topics} topics")
            echo(f"    {metrics}\n    {entry.licence}, {entry.repository}")
        return
    if not names or into is None:
        raise BadPlan(
            "name at least one collection, and the study to add it to: scorecube fetch NAME "
            "--into STUDY; scorecube fetch --list shows all"
        )
    # Fetch all before writing any: a failure leaves the study unchanged.
    cubes = {name: public.fetch(name) for name in dict.fromkeys(names)}
    study = api.open_study(into, mode="a")
    for name, cube in cubes.items():
        study.add(name, cube=cube, replace=replace)
        for key, value in entries[name].facts.items():
            notify(f"{key:<8}{value}")
        notify(f"{into}: {name}: {sizes_of(cube)}")


def standardise(
    study: options.StudyPath,
    name: options.Name,
    collection: MadeOf = None,
    method: Annotated[Literal["std-AB", "std-CDF", "z"], flag("--method", STANDARD)] = "std-AB",
    reference_runs: Annotated[Text, flag("--reference-runs", KNOWN, metavar=NAMES)] = None,
    replace: options.Replace = False,
) -> None:
    """Add standardised scores as a collection: hard and easy topics have equal weight.

    Example: scorecube standardise study --collection covid --name std
    """
    from scorecube.collection.selection import standardise as standard
    from scorecube.workflow import api

    opened = api.open_study(study, mode="a")
    source = source_of(opened, collection, name)
    cube = standard(opened[source].cube, method, reference_runs=split(reference_runs))
    opened.add(name, cube=cube, replace=replace)
    reference = counted(len(cube.attrs["reference_runs"]), "reference run")
    metrics = ", ".join(map(str, cube["metric"].values))
    notify(f"{study}: {name}: {sizes_of(cube)}, {metrics}; against {reference}")


def preferences(
    study: options.StudyPath,
    file: Annotated[Path, argument("FILE", PREFERENCES)],
    name: options.Name,
    collection: MadeOf = None,
    replace: options.Replace = False,
) -> None:
    """Add the agreement of metrics with preferences of people as a collection of metrics.

    Sakai and Zeng 2021. Then leaderboard has ranks of metrics, tukey tests between them; battles
    ranks the systems themselves, by preferences that import reads.

    Example: scorecube preferences study people.csv --name agreement
    """
    from scorecube.ingest.preferences import agreement_with_preferences, read_preferences
    from scorecube.workflow import api

    opened = api.open_study(study, mode="a")
    source = source_of(opened, collection, name)
    cube = agreement_with_preferences(opened[source].cube, read_preferences(file))
    opened.add(name, cube=cube, replace=replace)
    n_topics = len({*cube["topic_group"].values.tolist()})
    notify(
        f"{study}: {name}: {counted(cube.sizes['run'], 'metric')} on "
        f"{counted(cube.sizes['topic'], 'pair')} of runs, {counted(n_topics, 'topic')}"
    )


def source_of(study: Study, chosen: str | None, name: str) -> str:
    """Return the collection that `name` is made of: the chosen, or the only one."""
    stored = list(study)
    if chosen is None and len(stored) != 1:
        raise BadPlan(
            f"{study.path} holds {counted(len(stored), 'collection')}; choose one with --collection"
            + (f": {', '.join(stored)}" if stored else "")
        )
    source = stored[0] if chosen is None else chosen
    if source == name:
        raise BadStudy(f"{name}: the new scores are another collection; give it another --name")
    return source
