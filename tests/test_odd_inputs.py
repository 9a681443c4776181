"""Malformed, hostile and odd inputs have the outcomes that `tests.odd_inputs` lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorecube.errors import visible
from scorecube.workflow.api import open_study
from tests.conftest import Cli
from tests.odd_inputs import CASES, observe
from tests.odd_inputs.doubtful import DOUBTFUL
from tests.odd_inputs.reading import SHOWN

FLAGS = {"dialect": "--qrels-format", "run_name": "--run-name", "precision": "--score-precision"}


def test_the_corpus_is_large() -> None:
    assert len(CASES) >= 260
    said = [case for case in CASES.values() if " | " in case.outcome]
    assert len(said) >= 77


@pytest.mark.parametrize("name", CASES)
def test_an_odd_input_has_its_outcome(name: str, tmp_path: Path) -> None:
    found = observe(CASES[name], tmp_path)
    expected = CASES[name].outcome
    assert (found[:SHOWN] if len(expected) == SHOWN else found) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_command_ends_with_one_message_or_a_collection(
    name: str, tmp_path: Path, scorecube: Cli
) -> None:
    case, study = CASES[name], tmp_path / "study.zarr"
    paths = case.write(tmp_path)
    words: list[object] = []
    for option, value in case.options.items():
        flag = FLAGS.get(option, f"--{option}")
        words += [flag] if value is True else [flag, value]
    if case.role != "scores":
        words += ["--metrics", "AP", "--gains", ",".join(case.gains)]
    if case.role == "intents":
        words += ["--qrels-format", "trec-intents"]
    for role, path in paths.items():
        words += [path] if role == "scores" else [f"--{role}", path]
    command = "import" if case.role == "scores" else "evaluate"
    done = scorecube(command, study, "--name", "odd", *words)
    if case.outcome.startswith("error: "):
        assert done.status == 1
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith("error: ")
        assert not study.exists()
    else:
        done.succeeded()
        assert f"{study}: odd: " in done.stderr
        scorecube("verify", study).succeeded()
        doubts = open_study(study).rows()["odd"].facts["cube"].get("doubts", [])
        kept = scorecube("info", study, "--warnings").succeeded().stdout
        for doubt in doubts:
            assert visible(doubt) in done.stderr
            assert visible(doubt) in kept
        if name in DOUBTFUL:
            assert [each for each in case.outcome.split(" | ")[1:] if each in doubts]
