"""Reports of SWE-bench: lists of the instances that a run has resolved, and of others, or one each.

swebench/harness/reporting.py of SWE-bench/SWE-bench, schema version 2, read 2026-11-29; the lists
of results.json as in SWE-bench/experiments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scorecube.errors import BadInput, option
from scorecube.ingest.formats import File, Row, reader, summary
from scorecube.ingest.input_files import name_in

RESOLVED = ("resolved_ids", "resolved")
OTHERS = (
    *("unresolved_ids", "completed_ids", "incomplete_ids", "submitted_ids", "error_ids"),
    *("empty_patch_ids", "infra_failure_ids", "ambiguous_failure_ids"),
)
"""Lists of instances that are 0 unless they are resolved."""
IN_RESULTS = (
    "no_generation",
    "no_logs",
    "install_fail",
    "reset_failed",
    "test_errored",
    "test_timeout",
)
"""Lists of results.json, which lack the instances that were tested and not resolved."""


def _is_report(file: File) -> bool:
    lists = [file.first.get(name) for name in RESOLVED]
    is_alone = len(file.names) == 1 and any(lists)
    is_known = is_alone or not file.names.isdisjoint((*OTHERS, *IN_RESULTS))
    return any(isinstance(one, list) for one in lists) and len(file.records) == 1 and is_known


@reader("swebench", "report of SWE-bench, or its results.json with --items FILE", _is_report)
def read_swebench(file: File) -> Iterator[Row]:
    """Yield 1 for resolved instances, 0 for others; the file or its folder is the run."""
    report = file.first
    resolved = set(_ids(file, *RESOLVED))
    others = set(_ids(file, *OTHERS))
    items = set(file.asked.items) or (resolved | others if "unresolved_ids" in report else set())
    total = report.get("total_instances")
    lacking = ""
    if not items:
        lacking = (
            "a list of resolved ids only: which others there are is not said, and the union over "
            "runs lacks those that nobody solved"
        )
    elif not file.asked.items and isinstance(total, int) and total > len(items):
        lacking = f"the lists name {len(items)} of {total} instances; others count as not resolved"
    if lacking:
        way = f"name the file of all ids, one a line: {option('items', 'FILE')}"
        raise BadInput(f"{lacking}; {way}", file.path, option="items")
    if unknown := sorted(resolved - items):
        text = f"{len(unknown)} resolved ids are not among the items, such as {unknown[0]!r}"
        raise BadInput(text, file.path)
    run = name_in(file.path, r"\.json$")
    if run == "results":  # SUBMISSION/results/results.json
        folders = Path(file.path).absolute().parents
        run = (folders[1] if folders[0].name == "results" else folders[0]).name
    for number, item in enumerate(sorted(items), 1):
        yield Row(number, run, item, float(item in resolved), "resolved")


def _ids(file: File, *names: str) -> Iterator[str]:
    """Yield the ids of lists (BadInput for what is no list of ids)."""
    for name in names:
        ids = file.first.get(name, [])
        if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
            raise BadInput(f"{name} is no list of ids", file.path)
        yield from ids


LOG = "run_instance.log"
REPORT = "report.json"
BESIDE = (LOG, "patch.diff", "eval.sh", "test_output.txt")


def _instances(file: File) -> dict[str, object]:
    """Return what is resolved of a report by instance, or of the log of one without a report."""
    path = Path(file.path)
    if path.name == LOG and not (path.parent / REPORT).exists():
        return {path.parent.name: False}
    found = {name: one.get("resolved") for name, one in file.nested.items()}
    return {} if None in found.values() else found


summary(
    "files of SWE-bench about an instance",
    f"import {REPORT} beside them",
    lambda file: Path(file.path).name in BESIDE and not _instances(file),
    "no scores",
)


@reader(
    "swebench_instances",
    "report.json of SWE-bench in RUN/MODEL/INSTANCE",
    lambda file: bool(_instances(file)),
)
def read_instances(file: File) -> Iterator[Row]:
    """Yield 1 for a resolved instance, 0 for another, or one without a report; MODEL is the run."""
    run = Path(file.path).absolute().parents[1].name
    for instance, is_resolved in _instances(file).items():
        yield Row(1, run, instance, is_resolved, "resolved")
