"""What a sweep has done: collections under way, done and failed; kept for its messages and written beside its study for others."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

from scorecube.errors import ClusterFailed, ScorecubeError, StoreFailed
from scorecube.storage.location import Location
from scorecube.storage.status import beat_seconds, process_facts, write_status

READING, COMPUTING = "reading", "computing"
DONE, FAILED, STOPPED = "done", "failed", "stopped"
"""States of a sweep; the last three are final."""
THERE, LEFT_OUT = "there", "left_out"
"""How work may end, beside `DONE` and `FAILED`: its result was stored before, or it is impossible."""
MAX_NAMES: Final = 20
"""Collections under way that are named in a status."""
MAX_FAILURES: Final = 1000
"""Failures that are recorded in a status."""


class Ending(NamedTuple):
    """How an analysis of a collection, or reading it, ended: `message` of a failure, or the reason why it is impossible."""

    collection: str
    what: str
    message: str = ""
    how: str = DONE


class Journal:
    """What a sweep has done; methods may be called from any thread.

    command: Shell command that repeats the sweep.
    study, part: Study, and part such as ``3/100`` of the sweep; the latter is empty for a whole sweep.
    expected: Number of its collections, as far as it is known before they are read.
    """

    def __init__(self, command: str, study: str, part: str = "", expected: int = 0) -> None:
        self.command = command
        self.failures: list[Ending] = []
        self.left_out: list[Ending] = []
        """Plans that turned out to be impossible while others were computed."""
        self._facts = {"command": command, "study": study, "part": part, "since": time.time()}
        self._expected = expected
        self._lock = threading.Lock()
        self._state, self._message = READING, ""
        self._names: set[str] = set()
        self._n_read = 0
        self._left: Counter[str] = Counter()
        """Tasks of each collection that have not ended."""
        self._running: Counter[str] = Counter()
        self._results = {"total": 0, "there": 0, "done": 0, "failed": 0, "left_out": 0}
        self._work = {"done": 0, "total": 0}
        self._computing_since: tuple[float, int] | None = None

    def fail(self, failure: Ending) -> None:
        """Note that a collection, or an analysis of it, failed."""
        with self._lock:
            self._names.add(failure.collection)
            self.failures.append(failure)

    @property
    def n_results(self) -> int:
        """Number of results that were stored."""
        return self._results["done"]

    @property
    def unread(self) -> set[str]:
        """Collections that could not be read."""
        return {failure.collection for failure in self.failures if failure.what == READING}

    def read(self, collection: str) -> None:
        """Note that a collection is in the study."""
        with self._lock:
            self._names.add(collection)
            self._n_read += 1

    def plan(self, tasks: Sequence[str], pending: Sequence[str], n_left_out: int) -> None:
        """Note the collection of each task, and of each that is to be run."""
        with self._lock:
            self._state = COMPUTING
            self._names |= set(tasks)
            self._left = Counter(pending)
            self._results |= {
                "total": len(tasks),
                "there": len(tasks) - len(pending),
                "left_out": n_left_out,
            }

    def start(self, collection: str) -> None:
        """Note that a task of a collection has started."""
        with self._lock:
            self._running[collection] += 1

    def end(self, ending: Ending) -> None:
        """Note how a task of a collection has ended."""
        if ending.how == FAILED:
            self.fail(ending)
        with self._lock:
            self._running[ending.collection] -= 1
            self._left[ending.collection] -= 1
            self._results[ending.how] += 1
            if ending.how == LEFT_OUT:
                self.left_out.append(ending)
                self._results["total"] -= 1

    @contextmanager
    def noting(self, collection: str, analysis: str) -> Iterator[None]:
        """Note that a task starts, and how it ends; a failure is not raised unless it ends the sweep."""
        self.start(collection)
        with failures_noted(collection, [analysis], self.end):
            yield
            self.end(Ending(collection, analysis))

    def work(self, done: int, total: int) -> None:
        """Note the estimated work that is done."""
        with self._lock:
            if self._computing_since is None:  # kernels are compiled before the first call
                self._computing_since = time.monotonic(), done
            self._work = {"done": done, "total": total}

    def finish(self, state: str, message: str = "") -> None:
        """Note how the sweep ended."""
        with self._lock:
            self._state, self._message = state, message

    def collections(self) -> dict[str, Any]:
        """Return the numbers of collections: in all, read, done, failed, under way, with the names of some."""
        with self._lock:
            failed = {failure.collection for failure in self.failures}
            running = sorted(name for name, count in self._running.items() if count)
            left = {name for name, count in self._left.items() if count}
            known = self._names if self._state != READING else set[str]()
            return {
                "total": max(len(self._names), self._expected),
                "read": self._n_read,
                "done": len(known - failed - left),
                "failed": len(failed),
                "under_way": len(running),
                "names": running[:MAX_NAMES],
            }

    def line(self) -> str:
        """Return the numbers of results and collections as text, for a line of progress."""
        numbers, results = self.collections(), self._results
        parts = [
            f"{results['done'] + results['there']:,} of {results['total']:,} results",
            f"{numbers['done']:,} of {numbers['total']:,} collections done",
        ]
        if numbers["under_way"]:
            names = ", ".join(numbers["names"][:2]) + (", ..." if numbers["under_way"] > 2 else "")
            parts.append(f"{numbers['under_way']} under way ({names})")
        if numbers["failed"]:
            parts.append(f"{numbers['failed']:,} failed")
        return ", ".join(parts)

    def record(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        collections = self.collections()
        with self._lock:
            since, first = self._computing_since or (time.monotonic(), 0)
            return {
                **self._facts,
                **process_facts(),
                "state": self._state,
                "message": self._message,
                "collections": collections,
                "results": dict(self._results),
                "work": {**self._work, "first": first, "seconds": time.monotonic() - since},
                "failures": [list(failure[:3]) for failure in self.failures[:MAX_FAILURES]],
                "n_failures": len(self.failures),
            }


def message_of(error: BaseException) -> str:
    """Return the message of an error, with its type unless it is one of ours."""
    if isinstance(error, ScorecubeError):
        return error.in_file()
    return ": ".join(filter(None, [type(error).__name__, str(error)]))


def ends_sweep(error: BaseException) -> bool:
    """Whether an error would meet every other collection, too: of the disk, the store or the cluster, or an interruption."""
    return isinstance(error, StoreFailed | ClusterFailed | CancelledError) or not isinstance(
        error, Exception
    )


@contextmanager
def failures_noted(
    collection: str, what: Sequence[str], note: Callable[[Ending], object]
) -> Iterator[None]:
    """Note that something of a collection failed in place of raising the error, unless it ends the sweep."""
    try:
        yield
    except BaseException as error:
        if ends_sweep(error):
            raise
        for each in what:
            note(Ending(collection, each, message_of(error), FAILED))


@contextmanager
def noted(journal: Journal | None, collection: str) -> Iterator[None]:
    """Note whether a collection could be read; without a journal, and for an error that ends the sweep, raise it."""
    if journal is None:
        yield
        return
    with failures_noted(collection, [READING], journal.fail):
        yield
        journal.read(collection)


@contextmanager
def published(journal: Journal, location: Location) -> Iterator[None]:
    """Write the status of a sweep beside its study: at once, regularly, and when the sweep ends.

    A status that cannot be written hinders no sweep.
    """
    ended = threading.Event()

    def write() -> None:
        with suppress(Exception):
            write_status(location, journal.record())

    def beat() -> None:
        while not ended.wait(beat_seconds(location)):
            write()

    write()
    thread = threading.Thread(target=beat, name="status", daemon=True)
    thread.start()
    try:
        yield
        journal.finish(FAILED if journal.failures else DONE)
    except KeyboardInterrupt:
        journal.finish(STOPPED, "interrupted")
        raise
    except BaseException as error:
        journal.finish(STOPPED, message_of(error))
        raise
    finally:
        ended.set()
        thread.join()
        write()
