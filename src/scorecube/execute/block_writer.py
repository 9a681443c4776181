"""Writing blocks to the store on a separate thread, so that no worker waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from scorecube.analyses.base import Arrays, Output
from scorecube.storage.blocks import BlockStore, Segment

MAX_WAITING = 4
"""Blocks that wait to be written; a further one waits for the first of them, which bounds the memory."""

Interval = tuple[int, int]


class BlockWriter:
    """Write blocks in the order in which they are submitted.

    blocks: Where they are recorded.
    outputs, pending: The outputs of a block, and the blocks to come; they are reserved at once.
    facts: Added to every record.
    """

    def __init__(
        self,
        blocks: BlockStore,
        outputs: Sequence[Output],
        pending: Sequence[Interval],
        facts: Mapping[str, Any],
    ) -> None:
        first = blocks.reserve(outputs, pending)
        self._blocks, self._facts = blocks, facts
        self._index_of = {interval: first + k for k, interval in enumerate(pending)}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="block-writer")
        self._waiting: deque[Future[None]] = deque()
        self._failed = False

    def submit(self, interval: Interval, arrays: Arrays) -> None:
        """Schedule a block to be written; raises the error of an earlier one."""
        while self._waiting and (len(self._waiting) >= MAX_WAITING or self._waiting[0].done()):
            self._waiting.popleft().result()
        self._waiting.append(
            self._thread.submit(self._write, Segment(self._index_of[interval], *interval, arrays))
        )

    def _write(self, segment: Segment) -> None:
        if self._failed:  # write nothing after a failure, as if the process had ended there
            return
        self._failed = True
        self._blocks.write(segment, self._facts)
        self._failed = False

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait until all blocks are written; raise a failure unless another is raised."""
        self._thread.shutdown()
        if kind is None:
            for written in self._waiting:
                written.result()
