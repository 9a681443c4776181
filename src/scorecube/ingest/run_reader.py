"""Reading and judging of one run file: the unit of work of `read_rankings`, in threads and on clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import local
from typing import Any

from scorecube.collection.judgements import Qrels, RunLines
from scorecube.collection.rankings import JudgedRun, judge
from scorecube.errors import BadInput
from scorecube.ingest.cells import Problems
from scorecube.ingest.ntcireval import RankedLists, read_lists
from scorecube.ingest.trec import read_run
from scorecube.kernels.workspace import Workspace


@dataclass(eq=False)
class FileJudge:
    """Reads and judges runs one after the other; each thread reuses its memory.

    qrels: Judgements of all runs.
    run_name, order, precision, depth, duplicates: See `scorecube.read_rankings`.
    """

    qrels: Qrels
    run_name: str
    order: str
    precision: str
    depth: int | None
    duplicates: str
    _threads: local = field(default_factory=local, repr=False)

    def __call__(self, source: Path | RankedLists | RunLines) -> JudgedRun | BadInput:
        """Return the levels of one run, or what is wrong with it, so that one message names all bad files."""
        try:
            return self._judged(source)
        except BadInput as error:
            return error

    def _judged(self, source: Path | RankedLists | RunLines) -> JudgedRun:
        space: Workspace = self._threads.__dict__.setdefault("space", Workspace())
        if isinstance(source, RunLines):
            lines = source
        elif isinstance(source, RankedLists):
            lines = read_lists(source, duplicates=self.duplicates)
        else:
            lines = read_run(
                source, run_name=self.run_name, with_ranks=self.order == "rank", workspace=space
            )
        return judge(
            lines,
            self.qrels,
            order=self.order,
            precision=self.precision,
            depth=self.depth,
            duplicates=self.duplicates,
            workspace=space,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the memory of threads, which other processes do not share."""
        return {key: value for key, value in self.__dict__.items() if key != "_threads"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Start without memory of threads."""
        self.__dict__.update(state, _threads=local())


def good_runs(judged: Iterable[JudgedRun | BadInput]) -> list[JudgedRun]:
    """Return the runs of files that were read; what is wrong with the others is one error (BadInput)."""
    runs, problems = [], Problems()
    for each in judged:
        if isinstance(each, BadInput):
            problems.add("bad file", each)
        else:
            runs.append(each)
    problems.refuse()
    return runs
