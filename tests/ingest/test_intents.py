"""Judgements by intent and probabilities of intents: NTCIREVAL's forms, what is refused with file and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.errors import BadInput, BadPlan
from tests.conftest import Cli

DQRELS = (
    "1 1 b L1\n1 1 c L0\n1 10 b L2\n1 2 a L1\n1 2 c L0\n2 1 a L3\n# a comment\n2 x a L1\n1 3 d L0\n"
)
IPROBS = "1 1 0.5\n1 2 0.3\n1 10 0.2\n2 1 0.25\n2 x 0.75\n"
RUN = "1 Q0 c 1 9 r\n1 Q0 zz 2 8 r\n1 Q0 b 3 7 r\n2 Q0 a 1 3 r\n2 Q0 d 2 2 r\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("dqrels", DQRELS), ("iprobs", IPROBS), ("run", RUN)):
        (tmp_path / name).write_text(text)
    return tmp_path


def read(
    folder: Path, qrels: str = "dqrels", said: list[str] | None = None, **how: str
) -> xr.Dataset:
    files: dict[str, Any] = {
        key: folder / name for key, name in ({"intents": "dqrels"} | how).items()
    }
    notes: list[str] = [] if said is None else said
    return sc.read_rankings(folder / "run", folder / qrels, notify=notes.append, **files)


def test_levels_and_probabilities_of_intents(folder: Path) -> None:
    rankings = read(folder, intent_probabilities="iprobs")
    # Intents 1, 10, 2, 3 of topic 1, and 1, x of topic 2; documents a, b, c, d and a.
    np.testing.assert_array_equal(
        rankings["intent_level"].values[0],
        [[-1, -1, 1, -1], [1, 2, -1, -1], [0, -1, 0, -1], [-1, -1, -1, 0]],
    )
    np.testing.assert_array_equal(rankings["intent_level"].values[1, 0], [3, 1, -1, -1])
    np.testing.assert_array_equal(
        rankings["intent_probability"].values, [[0.5, 0.2, 0.3, 0], [0.25, 0.75, 0, 0]]
    )
    assert rankings["n_judged"].values.tolist() == [[2, 1, 1, 0], [0, 0, 0, 1]]
    assert rankings["level_at_rank"].values.tolist() == [[[0, -1, 2], [3, -1, -1]]]
    cube = sc.evaluate(rankings, ["I-rec@3", "I-rec@1", "D-nDCG@3"])
    gained: float = (0.5 * 1 + 0.2 * 2) / 2 / (0.9 + 0.3 / np.log2(3))
    expected = np.array([[2 / 3, 1], [0, 1], [gained, 1]])
    np.testing.assert_allclose(cube["score"].values[:, 0, 0], expected, rtol=1e-15)


def test_other_judgements_number_the_documents(folder: Path) -> None:
    (folder / "qrels").write_text("1 0 a 1\n1 0 A 0\n1 0 b 3\n1 0 c 0\n1 0 d 0\n2 0 a 3\n")
    rankings = read(folder, "qrels", intent_probabilities="iprobs")
    metrics = ["I-rec@3", "D-nDCG@3", "D#-nDCG@3"]
    expected = sc.evaluate(read(folder, intent_probabilities="iprobs"), metrics)
    np.testing.assert_array_equal(sc.evaluate(rankings, metrics)["score"], expected["score"])
    assert rankings["n_judged"].values.tolist() == [[3, 1, 0, 1], [0, 0, 0, 1]]


def test_probabilities_may_have_a_type_or_be_missing(folder: Path) -> None:
    (folder / "typed").write_text("".join(f"{line} inf\n" for line in IPROBS.splitlines()))
    typed = read(folder, intent_probabilities="typed")
    assert typed.equals(read(folder, intent_probabilities="iprobs"))
    said: list[str] = []
    equal = read(folder, said=said)
    np.testing.assert_array_equal(equal["intent_probability"], [[1, 1, 1, 0], [1, 1, 0, 0]])
    assert len([line for line in said if "intent_probabilities" in line]) == 1
    assert len([line for line in said if line.startswith("1 intent ")]) == 1  # number 3 of topic 1


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("iprobs", IPROBS + "1 1 0.5\n", "iprobs:6: "),
        ("iprobs", IPROBS.replace("0.3", "-0.3"), "iprobs:2: "),
        ("iprobs", IPROBS.replace("0.3", "inf"), "iprobs:2: "),
        ("iprobs", IPROBS.replace("0.3", "x"), "iprobs:2: "),
        ("iprobs", IPROBS.replace("0.3", ""), "iprobs:2: "),
        ("iprobs", IPROBS.replace("1 2", "1 4"), "iprobs: .*topic 1 intent 2"),
        ("dqrels", DQRELS + "1 1 b L2\n", "dqrels:10: "),
        ("dqrels", DQRELS.replace("L3", "x"), "dqrels:6: "),
        ("dqrels", "1 a L3\n", "dqrels:1: "),
        ("qrels", "1 0 a 1\n1 0 b 2\n1 0 d 0\n2 0 a 3\n", "dqrels:2: .*'c' of topic 1"),
        ("qrels", "1 0 a 1\n1 0 b 2\n1 0 c 0\n1 0 d 0\n", "dqrels:6: .*'a' of topic 2"),
        ("qrels", "1 0 a 1\n1 0 b 1\n1 0 c 0\n1 0 d 0\n2 0 a 1\n", "dqrels:3: .*level 2"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(folder: Path, name: str, text: str, where: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(BadInput, match=re.escape(str(folder)) + "/" + where):
        read(folder, "qrels" if name == "qrels" else "dqrels", intent_probabilities="iprobs")


def test_probabilities_need_intents(folder: Path) -> None:
    with pytest.raises(BadPlan) as caught:
        sc.read_rankings(folder / "run", folder / "dqrels", intent_probabilities=folder / "iprobs")
    assert caught.value.option == "intent_probabilities"


def test_a_study_keeps_intents(folder: Path, scorecube: Cli) -> None:
    study = folder / "study"
    files = ["--runs", folder / "run", "--qrels", folder / "dqrels"]
    by_intent = ["--intents", folder / "dqrels", "--intent-probabilities", folder / "iprobs"]
    command = ["evaluate", study, "--name", "web", *files]
    scorecube(*command, *by_intent, "--metrics", "D#-nDCG@3,AP").succeeded()
    scorecube(*command, *by_intent, "--metrics", "I-rec@1").succeeded()
    stored = sc.open_study(study)["web"]
    rankings = read(folder, intent_probabilities="iprobs")
    assert stored.cube.equals(sc.evaluate(rankings, ["D#-nDCG@3", "AP", "I-rec@1"]))
    assert sc.evaluate(stored.rankings, ["D#-nDCG@3"])["score"].equals(stored.cube["score"][:1])
    assert scorecube("teams", study).status == 1
    (folder / "qrels").write_text("1 0 a 1\n")
    plain = ["--runs", folder / "run", "--qrels", folder / "qrels", "--metrics", "I-rec@1"]
    assert scorecube("evaluate", folder / "other", "--name", "web", *plain).status == 1
