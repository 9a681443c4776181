"""Test runs of deepeval: `.latest_run_full.json` and test_run_DATE.json.

deepeval/test_run/api.py of confident-ai/deepeval and its test_run_sample.json, read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from scorecube.ingest.formats import File, Row, reader
from scorecube.ingest.input_files import name_in
from scorecube.ingest.json_rows import at, objects_in

PLACES = (
    *("testCases", "testRunData.testCases", "test_run_data.testCases"),
    *(f"{run}conversationalTestCases" for run in ("", "testRunData.", "test_run_data.")),
)
"""Where a file may hold cases."""


def _cases(file: File) -> list[Mapping[str, Any]]:
    """Return the test cases of a file."""
    return list(chain.from_iterable(objects_in(at(file.first, place)) for place in PLACES))


@reader(
    "deepeval",
    "test run of deepeval (JSON)",
    lambda file: any("metricsData" in case for case in _cases(file)[:1]),
)
def read_deepeval(file: File) -> Iterator[Row]:
    """Yield scores of test cases by name; the file is the run."""
    run = name_in(file.path, r"\.json$")
    for number, case in enumerate(_cases(file), 1):
        for one in objects_in(case.get("metricsData")):
            yield Row(number, run, case.get("name"), one.get("score"), one.get("name"))
