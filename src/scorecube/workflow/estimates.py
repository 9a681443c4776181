"""The memory that tasks need, before the first of them starts."""

from collections.abc import Sequence

from scorecube.errors import BadPlan
from scorecube.execute.memory import Needs, needs_of, program_bytes
from scorecube.workflow.tasks import Task


def needs_of_tasks(tasks: Sequence[Task], workers: int, memory: int | None = None) -> list[Needs]:
    """Return what each task needs.

    tasks: As from `plan_in_study`.
    workers: Blocks that are computed at a time in this process; 0 on a cluster.
    memory: Limit in bytes; None for four fifths of the machine's memory.
    Raises BadPlan: A task needs more; the message has its collection and both numbers.
    """
    program = program_bytes() if tasks else 0.0
    found = [needs_of(task.prepared, workers, program) for task in tasks]
    for task, needs in zip(tasks, found, strict=True):
        try:
            needs.check(memory)
        except BadPlan as error:
            where = f"{task.collection.name}: {task.plan.analysis.name}"
            raise BadPlan(f"{where}: {error.marked}", option=error.option) from None
    return found
