"""Texts on what a sweep has done: failures with the commands that repeat them, and the status that another process wrote."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorecube.cli.terminal import notify, time_left
from scorecube.errors import counted

if TYPE_CHECKING:
    from scorecube.storage import Study
    from scorecube.workflow.sweep_file import SweepFile
    from scorecube.workflow.sweep_journal import Journal
    from scorecube.workflow.sweep_parts import Part

MAX_FAILURES = 50
"""Collections whose failures are printed at the end of a sweep; `--status` prints all that are recorded."""
MAX_COUNTED = 1000
"""Largest number of collections whose results are counted for the status: each is a request."""


def repeat_command(file: Path, given: Mapping[str, object]) -> str:
    """Return the shell command that repeats a sweep with the options that were given.

    Examples
    --------
    >>> repeat_command(Path("my sweep.toml"), {"part": "1/2", "study": None})
    "scorecube sweep 'my sweep.toml' --part 1/2"
    """
    words = ["scorecube", "sweep", os.fspath(file)]
    for name, value in given.items():
        if value is not None:
            words += [f"--{name}", str(value)]
    return shlex.join(words)


def failure_lines(
    failures: Iterable[Sequence[str]], command: str, limit: int | None = None
) -> list[str]:
    """Return lines on failures by collection, each with the command that repeats just it.

    failures: Collection, analysis or ``reading``, and message of each.
    command: Repeats the whole sweep.
    limit: Largest number of collections.
    """
    messages: dict[str, list[str]] = {}
    for collection, what, message in failures:
        messages.setdefault(collection, []).append(
            f"{what}: {message.removeprefix(f'{collection}: ')}"
        )
    lines = []
    for name in list(messages)[:limit]:
        lines += [f"  {name}: {text}" for text in messages[name]]
        lines.append(f"    repeat with: {command} --collection {shlex.quote(name)}")
    if limit is not None and len(messages) > limit:
        lines.append(f"  and {len(messages) - limit:,} more, which this lists: {command} --status")
    return lines


def failure_summary(journal: Journal) -> str:
    """Return the message of a sweep some of whose collections failed."""
    numbers = journal.collections()
    head = f"{numbers['failed']:,} of {counted(numbers['total'], 'collection')} failed; the others are done"
    failures = [(each.collection, each.what, each.message) for each in journal.failures]
    return "\n".join([head, *failure_lines(failures, journal.command, MAX_FAILURES)])


def notify_failures(journal: Journal) -> None:
    """Print the failures of a sweep that something else ended."""
    import sys

    if journal.failures and sys.exc_info()[1] is not None:
        notify(failure_summary(journal))


def status_lines(sweep: SweepFile, part: Part | None, study: str | None) -> list[str]:
    """Return the status of a sweep, or of one part; without a part also one line for each part that was started."""
    from scorecube.storage.location import open_location
    from scorecube.storage.status import read_status

    path = study or (sweep.study if part is None else part.path(sweep.study))
    location = open_location(path)
    status = read_status(location)
    parts = [] if part else _part_lines(path)
    lines = [] if status is None else _described(path, status)
    if status is None and not parts:
        lines = [f"{path}: no sweep has written its status there"]
    return [*lines, *stored_lines(path), *parts]


def stored_lines(path: str) -> list[str]:
    """Return a line on what a study holds; none if there is no study."""
    from scorecube.storage.location import open_location
    from scorecube.workflow.api import open_study

    location = open_location(path)
    with location.failures():
        if not location.holds_zarr():
            return []
    return [f"stored: {_stored(open_study(path))}"]


def _stored(study: Study) -> str:
    names = list(study)
    text = counted(len(names), "collection")
    if len(names) > MAX_COUNTED:
        return text
    results = sum(sum(study[name].contents()["results"].values()) for name in names)
    return f"{text}, {counted(results, 'result')}"


def _described(path: str, status: Mapping[str, Any]) -> list[str]:
    """Return the status of one sweep as text."""
    collections, results = status["collections"], status["results"]
    names = ", ".join(collections["names"]) + (
        ", ..." if collections["under_way"] > len(collections["names"]) else ""
    )
    to_do = collections["total"] - collections["done"] - collections["failed"]
    counts = [
        f"{collections['done']:,} of {collections['total']:,} done",
        f"{collections['failed']:,} failed",
        f"{collections['under_way']} under way" + (f" ({names})" if names else ""),
        f"{to_do - collections['under_way']:,} to do",
    ]
    if status["state"] == "reading":
        counts.insert(0, f"{collections['read']:,} read so far")
    lines = [
        f"{path}: {_state(status)}",
        f"collections: {', '.join(counts)}",
        f"results: {results['done'] + results['there']:,} of {results['total']:,} stored, {results['there']:,} of them before; "
        f"{results['failed']:,} failed; {results['left_out']:,} plans left out as impossible",
    ]
    work = status["work"]
    if work["total"]:
        computed, seconds = work["done"] - work["first"], work["seconds"]
        left = time_left(computed, work["total"] - work["first"], seconds) if _runs(status) else ""
        share = f"work: {work['done'] / work['total']:.0%} in {duration(seconds)}"
        lines.append(", ".join(filter(None, [share, left])))
    if status["failures"]:
        lines += ["failed:", *failure_lines(status["failures"], status["command"])]
        if status["n_failures"] > len(status["failures"]):
            lines.append(f"  and {status['n_failures'] - len(status['failures']):,} more")
    return lines


FINAL = {"done": "done", "failed": "done, except what failed", "stopped": "stopped"}
"""States in which no process runs."""


def _runs(status: Mapping[str, Any]) -> bool:
    from scorecube.storage.status import has_ended

    return status["state"] not in FINAL and not has_ended(dict(status))


def _state(status: Mapping[str, Any]) -> str:
    """Return whether a sweep runs, and who runs it, as text."""
    host = str(status["machine"]).split(" ")[0]
    process = f"process {status['process']} on {host}"
    since = datetime.fromtimestamp(status["since"], UTC).strftime("%Y-%m-%d %H:%M UTC")
    ago = duration(time.time() - status["beat"])
    if status["state"] in FINAL:
        message = f" ({status['message'].splitlines()[0]})" if status["message"] else ""
        took = duration(status["beat"] - status["since"])
        return f"{FINAL[status['state']]}{message}, {ago} ago, after {took}; {process}"
    if _runs(status):
        return f"{status['state']}: {process} since {since}, last sign of life {ago} ago"
    return f"NOT RUNNING: {process} ended without finishing, last sign of life {ago} ago; resume with: {status['command']}"


def _part_lines(path: str) -> list[str]:
    """Return one line for each part of a sweep that has a status, and one for all."""
    from scorecube.storage.location import open_location
    from scorecube.storage.status import names_with_status, read_status
    from scorecube.workflow.sweep_parts import parts_of

    lines, total, done, failed = [], 0, 0, 0
    parts = parts_of(path, names_with_status(open_location(path)))
    for part, study in parts:
        status = read_status(open_location(study))
        if status is None:
            continue
        numbers = status["collections"]
        total, done, failed = (
            total + numbers["total"],
            done + numbers["done"],
            failed + numbers["failed"],
        )
        counts = f"{numbers['done']:,} of {numbers['total']:,} collections done, {numbers['failed']:,} failed"
        lines.append(f"part {part}: {counts}; {_state(status)}")
    if lines:
        lines.append(
            f"{counted(len(lines), 'part')} started: {done:,} of {total:,} collections done, {failed:,} failed"
        )
    if len(several := sorted({part.parts for part, _ in parts})) > 1:
        lines.append(
            f"these are parts of sweeps in {' and in '.join(map(str, several))} parts: remove the studies of the others"
        )
    return lines


def duration(seconds: float) -> str:
    """Return a duration as text.

    Examples
    --------
    >>> duration(7.4), duration(95), duration(3720)
    ('7 s', '1:35 min', '1:02 h')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    hours = whole >= 3600
    high, low = divmod(whole // 60 if hours else whole, 60)
    return f"{high}:{low:02d} {'h' if hours else 'min'}"
