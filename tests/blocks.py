"""Commands in blocks of a stated length, for tests of signals, faults and resumption: ``python -m tests.blocks UNITS COMMAND...``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partialmethod
from unittest import mock

from scorecube.cli.program import main
from scorecube.workflow.tasks import Task


@contextmanager
def blocks_of(units: int | None) -> Iterator[None]:
    """Compute and record blocks of so many trials, or pairs of runs; None for those that `estimate` chooses."""
    with mock.patch.object(Task, "run", partialmethod(Task.run, block_units=units)):
        yield


if __name__ == "__main__":
    _, length, *sys.argv[1:] = sys.argv
    with blocks_of(int(length)):
        main()
