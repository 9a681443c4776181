"""Estimates of several tasks, before the first of them starts."""

from collections.abc import Sequence

from scorecube.errors import BadPlan
from scorecube.execute.estimate import Estimate, estimate
from scorecube.execute.memory import program_bytes, release_memory
from scorecube.workflow.tasks import Task


def estimate_tasks(
    tasks: Sequence[Task], workers: int, memory: int | None = None, program: float | None = None
) -> list[Estimate]:
    """Estimate the work of tasks.

    tasks: As from `plan_in_study` or `plan_sweep`.
    workers: Blocks that are computed at a time.
    memory, program: As of `scorecube.execute.estimate.estimate`.
    Returns estimates: One for each task.
    Raises BadPlan: A task needs more memory than is allowed; the message has its collection and both numbers.
    """
    if program is None:
        release_memory()
        program = max((program_bytes(type(task.plan.analysis)) for task in tasks), default=0.0)
    estimates = []
    for task in tasks:
        try:
            estimates.append(estimate(task.prepared, workers, memory=memory, program=program))
        except BadPlan as error:
            where = f"{task.collection.name}: {task.plan.analysis.name}"
            raise BadPlan(f"{where}: {error.marked}", option=error.option) from None
    return estimates
