"""Blocks go to the store on a thread of their own: no worker waits while one is packed and written."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from scorecube.analyses.base import Arrays, Output
from scorecube.storage.blocks import BlockStore, Segment

BACKLOG = 4
"""Blocks that may wait to be written; one more waits for the first of them, so that memory stays bounded."""

Interval = tuple[int, int]


class Recorder:
    """Records blocks in the order in which they are put.

    Parameters
    ----------
    blocks
        Where they are recorded.
    outputs, pending
        What a block yields, and the blocks to come: room is made for them at once.
    facts
        Go into every record.
    """

    def __init__(
        self, blocks: BlockStore, outputs: Sequence[Output], pending: Sequence[Interval], facts: Mapping[str, Any]
    ) -> None:
        first = blocks.reserve(outputs, pending)
        self._blocks, self._facts = blocks, facts
        self._place_of = {interval: first + k for k, interval in enumerate(pending)}
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="record")
        self._waiting: deque[Future[None]] = deque()
        self._failed = False

    def put(self, interval: Interval, arrays: Arrays) -> None:
        """Have a block recorded; raises what went wrong with an earlier one."""
        while self._waiting and (len(self._waiting) >= BACKLOG or self._waiting[0].done()):
            self._waiting.popleft().result()
        self._waiting.append(self._writer.submit(self._write, Segment(self._place_of[interval], *interval, arrays)))

    def _write(self, segment: Segment) -> None:
        if self._failed:  # as if it had stopped there
            return
        self._failed = True
        self._blocks.write(segment, self._facts)
        self._failed = False

    def __enter__(self) -> Self:
        """Return the recorder."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait until all is written; raise what went wrong, unless something else did before."""
        self._writer.shutdown()
        if kind is None:
            for written in self._waiting:
                written.result()
