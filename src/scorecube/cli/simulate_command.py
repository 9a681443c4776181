"""Command simulate: a collection of simulated scores whose true means are known."""

from typing import Annotated, Literal, Optional

from scorecube.cli import options
from scorecube.cli.options import flag
from scorecube.cli.study_commands import source_of
from scorecube.cli.terminal import notify, split
from scorecube.errors import counted


def simulate(
    study: options.StudyPath,
    name: options.Name,
    source: Annotated[
        Optional[str],
        flag("--from", "Collection whose systems are simulated; the only one by default."),
    ] = None,
    copula: Annotated[
        Literal["gaussian", "vine", "independent"],
        flag(
            "--copula",
            "Dependence between systems: gaussian, over all metrics and gain settings together; a vine for each of them; or none.",
        ),
    ] = "gaussian",
    topics: Annotated[
        int, flag("--topics", "Number of simulated topics.", min=2, max=1_000_000)
    ] = 1000,
    null: Annotated[
        bool, flag("--null", "Give all systems the same true mean under each metric.")
    ] = False,
    delta: Annotated[
        Optional[float],
        flag(
            "--delta", "The same, but one that is larger by this number: that of the best system."
        ),
    ] = None,
    metrics: options.SomeMetrics = None,
    seed: Annotated[
        Optional[int],
        flag("--seed", "Seed of the random numbers; drawn and reported by default.", min=0),
    ] = None,
    replace: options.Replace = False,
    workers: options.Workers = None,
    memory: options.Memory = None,
) -> None:
    """Add a collection of simulated scores: the same systems on other topics, with known true means. They are written part by part.

    Example: scorecube simulate study.zarr --name truth --from covid --topics 10000 --seed 1
    """
    from scorecube.execute.memory import parse_memory
    from scorecube.workflow import api
    from scorecube.workflow.simulation import simulate_into

    opened = api.open_study(study, mode="a")
    chosen = source_of(opened, source, "--from", name, "simulated")
    seed = api.new_seed() if seed is None else seed
    cube = api.select(opened[chosen].cube, metrics=split(metrics))
    attributes = simulate_into(
        opened,
        name,
        cube,
        chosen,
        topics=topics,
        copula=copula,
        null=null,
        delta=delta,
        seed=seed,
        memory=None if memory is None else parse_memory(memory),
        workers=workers,
        replace=replace,
    )
    sizes = f"{counted(cube.sizes['run'], 'run')} x {counted(topics, 'topic')}"
    notify(f"{study}: {name}: {sizes}, {', '.join(map(str, cube['metric'].values))}")
    notify(f"{name}: {attributes['note']}; from {chosen}")
