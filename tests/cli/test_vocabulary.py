"""The words of people who evaluate models: by --vocabulary, or as the columns of an imported table suggest; the store keeps the field's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scorecube as sc
from scorecube.report.vocabulary import EVALS, FIELD, in_words

if TYPE_CHECKING:
    from tests.conftest import Cli

TEXTS = {
    "no run leads": "no model leads",
    "Runs by mean over 50 topics": "Models by mean over 50 items",
    "3 of 40 systems have several runs": "3 of 40 models have several runs",
    "5 collections, 2 repetitions": "5 benchmarks, 2 seeds",
    "choose --run-column run of 'run 1'": "choose --run-column model of 'run 1'",
    "my-run, run-2, run#1 and run.csv": "my-run, run-2, run#1 and run.csv",
    "truncated, rerun, topical": "truncated, rerun, topical",
}


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_replaced_and_labels_stay(text: str) -> None:
    assert in_words(text, EVALS) == TEXTS[text]
    assert in_words(text, FIELD) == in_words(text, "") == text


def written(path: Path, header: str) -> Path:
    rows = [f"m{m},{i},{s},{(m + 1) * (i + s) % 7 / 7}" for m in range(4) for i in range(12) for s in (1, 2)]  # fmt: skip
    path.write_text("\n".join([header, *rows, ""]))
    return path


def test_columns_of_models_decide_and_the_option_does(scorecube: Cli, tmp_path: Path) -> None:
    models = written(tmp_path / "a.csv", "model,item,seed,acc")
    runs = written(tmp_path / "b.csv", "run,topic,seed,acc")
    study = tmp_path / "s.zarr"
    assert (
        "8 runs of 4 models x 12 items" in scorecube("import", study, "--name", "a", models).stderr
    )
    assert (
        "8 runs of 4 systems x 12 topics" in scorecube("import", study, "--name", "b", runs).stderr
    )
    for k, words in enumerate(("evals", "field")):
        said = scorecube("import", study, "--name", f"c{k}", models, "--vocabulary", words).stderr
        assert ("8 runs of 4 models x 12 items" in said) == (words == "evals")
    assert sc.open_study(study)["a"].cube.sizes == sc.open_study(study)["b"].cube.sizes
    options = ("leaderboard", study, "--collection", "a", "--trials", 100, "--seed", 1)
    field, evals = scorecube(*options), scorecube(*options, "--vocabulary", "evals")
    assert "a  acc  4 systems, 12 topics" in field.stdout
    assert "a  acc  4 models, 12 items" in evals.stdout
    heads = [next(line for line in each.stdout.splitlines() if line.startswith("rank")) for each in (field, evals)]  # fmt: skip
    assert [head.split()[1] for head in heads] == ["run", "model"]
    assert len(heads[0]) == len(heads[1])
    compared = scorecube(
        "gate", study, "--run", "m0", "--baseline", "m1", "--metrics", "acc", "--collections", "a", "--vocabulary", "evals"
    )  # fmt: skip
    assert {"benchmark", "items"} < {*compared.stdout.splitlines()[0].split()}
    rows = [line for line in field.stdout.splitlines() if line.strip()[:1].isdigit()]
    assert rows
    assert all(row in evals.stdout for row in rows)


def test_pages_have_the_words(scorecube: Cli, tmp_path: Path) -> None:
    study, page = tmp_path / "s.zarr", tmp_path / "page.html"
    scorecube("import", study, "--name", "a", written(tmp_path / "a.csv", "model,item,seed,acc"))
    scorecube("leaderboard", study, "--trials", 100, "--seed", 1)
    scorecube("report", study, "--out", page)
    field = page.read_text()
    assert "up to date" in scorecube("report", study, "--out", page).stderr
    scorecube("report", study, "--out", page, "--vocabulary", "evals")
    evals = page.read_text()
    assert sc.report(sc.open_study(study), str(page), vocabulary="evals") == str(page)
    assert page.read_text() == evals
    for text, words, others in ((field, ("run", "topic"), ("item",)), (evals, ("item",), ("topic",))):  # fmt: skip
        shown = re.sub(r"(?s)<(script|style|svg|tbody|title)\b.*?</\1>|<[^>]*>", "\n", text)
        assert all(re.search(rf"\b{word}s?\b", shown) for word in words)
        assert not any(re.search(rf"\b{word}s?\b", shown) for word in others)
    rows = [re.findall(r"(?s)<tbody.*?</tbody>", text) for text in (field, evals)]
    assert rows[0] == rows[1]
    assert "m0#1" in "".join(rows[0]) or "m0" in "".join(rows[0])


def test_an_unknown_vocabulary_is_refused(scorecube: Cli, tmp_path: Path) -> None:
    done = scorecube("info", tmp_path, "--vocabulary", "other")
    assert done.status == 1
    assert "--vocabulary takes evals or field, found other" in done.stderr
