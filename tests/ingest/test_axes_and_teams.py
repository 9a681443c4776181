"""Runs and topics that were exchanged, and teams and topics that do not fit the runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scorecube.errors import BadInput
from scorecube.ingest.objects import cube_from_scores
from scorecube.workflow.api import import_scores

RUNS, TOPICS = ["r1", "r2"], ["401", "402", "403"]
SCORES = np.array([[0.5, 0.25, 1.0], [0.0, 0.125, 0.75]])


def frame(index_name: str | None = None, columns_name: str | None = None) -> pd.DataFrame:
    """Return scores with named axes, runs down."""
    made = pd.DataFrame(SCORES, RUNS, TOPICS)
    return made.rename_axis(index=index_name, columns=columns_name)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(frame(), id="runs down"),
        pytest.param(frame("run", "topic"), id="runs down, named"),
        pytest.param(frame("System", "QID"), id="runs down, named otherwise"),
        pytest.param(frame("name", "metric"), id="runs down, other names"),
        pytest.param(frame("run", "topic").T, id="topics down, named"),
        pytest.param(frame("run").T, id="topics down, runs named"),
        pytest.param(frame(None, "topic").T, id="topics down, topics named"),
    ],
)
def test_names_of_axes_decide(given: pd.DataFrame) -> None:
    cube = cube_from_scores({"AP": given})
    assert cube["run"].values.tolist() == RUNS
    assert cube["topic"].values.tolist() == TOPICS
    np.testing.assert_array_equal(cube["score"].values[0, 0], SCORES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pd.DataFrame(index=["a"], columns=[]), "the matrix of AP has no topic"),
        (pd.DataFrame(index=[], columns=["1"]), "the matrix of AP has no run"),
        (pd.DataFrame([[0.5]], ["a\udce9"], ["1"]), r"the run 'a\udce9' has the invalid character"),
        (pd.DataFrame([[0.5]], ["a"], ["1\n"]), r"the topic '1\n' has the control character '\n'"),
        (pd.DataFrame([[0.5]], [""], ["1"]), "the run is missing"),
    ],
    ids=["no topic", "no run", "surrogate", "newline", "empty"],
)
def test_labels_that_cannot_be_stored_are_refused(given: pd.DataFrame, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        cube_from_scores({"AP": given})
    assert str(caught.value).startswith(message)


def test_labels_of_files_are_not_doubted(tmp_path: Path) -> None:
    """Runs with numbers as names and topics with letters: the header says which is which."""
    table, matrix = tmp_path / "rr.csv", tmp_path / "ap.csv"
    table.write_text("run,topic,score\n1,x,0.5\n")
    matrix.write_text("topic,1\nx,0.5\n")
    for path in (table, matrix):
        cube = import_scores([path])
        assert (cube["run"].item(), cube["topic"].item()) == ("1", "x")
