"""Simulated collections: in memory, or written to a study part by part."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from scorecube.analyses.simulation import populations
from scorecube.collection.arguments import as_cube
from scorecube.execute.blas_threads import one_blas_thread
from scorecube.execute.executor import default_workers
from scorecube.execute.memory import default_memory, resident_bytes
from scorecube.storage.study import Study


def simulate(
    cube: xr.Dataset,
    *,
    topics: int = 1000,
    copula: str = "gaussian",
    null: bool = False,
    delta: float | None = None,
    seed: int = 1,
    workers: int | None = None,
) -> xr.Dataset:
    """Simulate the scores of a collection's systems on new topics, from a population whose true means are known.

    Parameters
    ----------
    cube
        Scores (metric, gain, run, topic) in [0, 1], without missing ones.
    topics
        Number of new topics, 2 to 1,000,000.
    copula
        ``gaussian``: the systems are correlated as in the cube, over all metrics and gain settings together; ``vine``: a regular vine copula
        for each metric and gain setting, which are independent of each other (needs the extra ``scorecube[simulate]``); ``independent``.
    null
        Whether all systems have the same true mean, that of the collection; by default each has its own mean.
    delta
        Equal true means, but that of the system with the best mean is larger by this number, under each metric.
    seed
        Of the random numbers; simulations with more topics begin with those of fewer.
    workers
        Number of threads; scores do not depend on it. By default one for each core.

    Returns
    -------
    cube
        Scores of the same systems on topics ``s1``, ``s2``, ..., with the true means (`true_mean`) and true variances over topics
        (`true_variance`); the attribute `simulation` holds the options, and the margin that was chosen for each system.

    Raises
    ------
    BadPlan
        Scores that are missing or not in [0, 1], too few topics, or more scores than fit into memory.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate(simulate_cube(metrics=("P@10",), n_runs=4), topics=200, null=True, seed=1)
    >>> float(cube["true_mean"].max() - cube["true_mean"].min()) < 1e-9
    True
    """
    count = default_workers() if workers is None else workers
    with one_blas_thread():
        made = populations.simulated(
            as_cube(cube),
            topics=topics,
            copula=copula,
            null=null,
            delta=delta,
            seed=seed,
            workers=count,
        )
        populations.check_size(made)
        return made.load()


def simulate_into(
    study: Study,
    name: str,
    cube: xr.Dataset,
    source: str,
    *,
    memory: int | None = None,
    workers: int | None = None,
    replace: bool = False,
    **options: Any,
) -> Mapping[str, Any]:
    """Add a simulated collection to a study; its scores are made and written part by part.

    study: Opened for writing.
    name: Of the new collection.
    cube: Scores of the collection that is simulated.
    memory: Limit of the resident size of this process; by default four fifths of the machine's memory.
    workers: Number of threads; by default one for each core.
    replace: Whether a collection of the name is replaced.
    options: Further arguments of `simulate`.
    Returns attributes: Of the new cube.
    """
    count = default_workers() if workers is None else workers
    limit = default_memory() if memory is None else memory
    with one_blas_thread():
        made = populations.simulated(
            cube, **options, workers=count, memory=limit - resident_bytes()
        )
        made.attrs["source"] = f"simulated from {source}"
        study.add(name, cube=made, replace=replace, facts={"source": made.attrs["source"]})
    return dict(made.attrs)
