"""Writing blocks to the store on a separate thread, so that no worker waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from scorecube.analyses.base import Arrays, Output
from scorecube.execute.executor import Interval
from scorecube.storage import BlockStore, Segment

MAX_WAITING = 4
"""Blocks that wait to be written; a further one waits for the first of them, which bounds the memory."""


@contextmanager
def recording(
    blocks: BlockStore,
    outputs: Sequence[Output],
    pending: Sequence[Interval],
    facts: Mapping[str, Any],
) -> Iterator[Callable[[int, Arrays], None]]:
    """Yield a function that schedules a pending block, by its position, to be written, and raises the failure of an earlier one.

    blocks: Where they are recorded, in the order of the calls.
    outputs, pending: The outputs of a block, and the blocks to come; they are reserved at once.
    facts: Added to every record.
    """
    first, failed, waiting = blocks.reserve(outputs, pending), False, deque[Future[None]]()

    def write(segment: Segment) -> None:
        nonlocal failed
        if failed:  # write nothing after a failure, as if the process had ended there
            return
        failed = True
        blocks.write(segment, facts)
        failed = False

    def record(position: int, arrays: Arrays) -> None:
        while waiting and (len(waiting) >= MAX_WAITING or waiting[0].done()):
            waiting.popleft().result()
        segment = Segment(first + position, *pending[position], arrays)
        waiting.append(thread.submit(write, segment))

    with ThreadPoolExecutor(1, thread_name_prefix="block-writer") as thread:
        yield record
    for written in waiting:
        written.result()
