"""Scores one to a line: what is read, how it becomes a cube, what is refused with file and line."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorecube.errors import BadInput, BadPlan
from scorecube.workflow.api import import_scores
from tests.ingest.reading import read_scores

LONG = "run,topic,metric,score\na,1,AP,0.5\na,2,AP,0.25\nb,1,AP,1\nb,2,AP,0\na,1,map_cut_10,0.125\n"
TOKENS = st.text("abcXYZ0123456789._-+ é", min_size=1, max_size=6).map(str.strip).filter(bool)
SCORES = st.floats(1e-9, 1e6) | st.floats(-1e6, -1e-9) | st.just(0.0)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(LONG, id="plain"),
        pytest.param(LONG.replace(",", "\t"), id="tabs"),
        pytest.param(LONG.replace(",", ";"), id="semicolons"),
        pytest.param(
            LONG.replace("run,topic,metric,score", "System,QID,Measure,Value"), id="other words"
        ),
        pytest.param(
            LONG.replace("run,topic,metric,score", "RUN_ID, Query ID ,METRIC,Score"),
            id="capitals and blanks",
        ),
        pytest.param(LONG.replace("AP,", "map,"), id="name of trec_eval"),
        pytest.param(
            "".join(f"{k},{line}\n" for k, line in enumerate(LONG.splitlines())),
            id="another column",
        ),
    ],
)
def test_long_files_are_read(tmp_path: Path, content: str | bytes) -> None:
    (matrices,) = read_scores([write(tmp_path / "scores.csv", content)], layout="long").values()
    assert list(matrices) == ["AP", "map_cut_10"]
    assert matrices["AP"].index.tolist() == ["a", "b"]
    assert matrices["AP"].columns.tolist() == ["1", "2"]
    assert matrices["AP"].to_numpy().tolist() == [[0.5, 0.25], [1.0, 0.0]]
    np.testing.assert_array_equal(
        matrices["map_cut_10"].to_numpy(), [[0.125, math.nan], [math.nan, math.nan]]
    )


@given(
    st.dictionaries(
        st.tuples(TOKENS, TOKENS, st.sampled_from(["AP", "last_rel"])),
        SCORES,
        min_size=1,
        max_size=30,
    ),
    st.sampled_from(",;\t"),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    cells: dict[tuple[str, str, str], float],
    delimiter: str,
) -> None:
    path = tmp_path_factory.mktemp("long") / "scores.csv"
    rows = [
        ("run", "topic", "metric", "score"),
        *((*cell, repr(value)) for cell, value in cells.items()),
    ]
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows), encoding="utf-8")
    matrices = import_scores([path], layout="long")["score"]
    assert int(matrices.notnull().sum()) == len(cells)
    for (run, topic, metric), value in cells.items():
        assert float(matrices.sel(run=run, topic=topic, metric=metric).item()) == value


def test_without_a_metric_column_the_file_or_the_option_names_it(tmp_path: Path) -> None:
    content = "qid,run,score\n1,a,0.5\n1,b,\n"
    path = write(tmp_path / "ndcg_cut_10.csv", content)
    assert import_scores([path])["metric"].values.tolist() == ["nDCG@10"]
    cube = import_scores([path], metric="wss")
    assert cube["metric"].values.tolist() == ["wss"]
    np.testing.assert_array_equal(cube["score"].values, [[[[0.5], [math.nan]]]])


def test_several_files_are_one(tmp_path: Path) -> None:
    first = write(tmp_path / "ap.csv", "qid,run,score\n1,a,0.5\n1,b,1\n")
    second = write(tmp_path / "rr.csv", "qid,run,score\n1,a,0.25\n2,a,0.125\n")
    cube = import_scores([first, second])
    assert cube["metric"].values.tolist() == ["AP", "RR"]
    np.testing.assert_array_equal(
        cube["score"].values[:, 0],
        [[[0.5, math.nan], [1, math.nan]], [[0.25, 0.125], [math.nan, math.nan]]],
    )


def test_one_metric_is_selected_by_either_name(tmp_path: Path) -> None:
    path = write(tmp_path / "scores.csv", LONG.replace("AP,", "map,"))
    for asked in ("AP", "map"):
        assert import_scores([path], metric=asked)["metric"].values.tolist() == ["AP"]
    with pytest.raises(
        BadInput, match=re.escape(f"{path}: no score of Q; there are AP, map_cut_10")
    ):
        import_scores([path], metric="Q")


GAINS = "run,topic,metric,gain,score\na,1,Q,1:1,0.5\na,1,Q,2:1,0.25\na,1,AP,,0.75\nb,1,Q,1:1,0\nb,1,Q,2:1,1\nb,1,AP,,1\n"


def test_gain_settings_become_an_axis(tmp_path: Path) -> None:
    path = write(tmp_path / "scores.csv", GAINS)
    cube = import_scores([path], teams=write(tmp_path / "teams.csv", "run,team\na,A\nb,B\n"))
    assert cube["gain"].values.tolist() == ["1:1", "2:1"]
    assert cube["metric"].values.tolist() == ["Q", "AP"]
    assert cube["team"].values.tolist() == ["A", "B"]
    assert cube["score"].values[..., 0].tolist() == [[[0.5, 0], [0.25, 1]], [[0.75, 1], [0.75, 1]]]
    assert set(cube.coords) == set(import_scores([path], gain="2:1").coords)
    assert cube["score"].attrs["long_name"] == "effectiveness score"


def test_one_gain_setting_is_selected(tmp_path: Path) -> None:
    path = write(tmp_path / "scores.csv", GAINS)
    cube = import_scores([path], gain="2:1")
    assert cube["score"].values[..., 0].tolist() == [[[0.25, 1]], [[0.75, 1]]]
    with pytest.raises(BadPlan, match=r"^gain='3:1': the scores have the gain settings 1:1, 2:1$"):
        import_scores([path], gain="3:1")


def test_gain_settings_that_do_not_fit_together(tmp_path: Path) -> None:
    path = write(tmp_path / "one.csv", GAINS.replace("AP,,", "AP,1:1,"))
    with pytest.raises(
        BadInput, match=re.escape("no score of AP at gain setting 2:1, but at others")
    ):
        read_scores([path], layout="long")
    path = write(tmp_path / "both.csv", GAINS + "a,2,Q,,1\n")
    with pytest.raises(
        BadInput, match=re.escape("scores of Q both with gain setting 1:1 and without one")
    ):
        read_scores([path], layout="long")


ITEMS = (
    "model,item,benchmark,accuracy,score\na,1,x,1,0.25\na,2,x,0,0.5\nb,1,x,1,0.75\nb,2,x,1,0.125\n"
)


@pytest.mark.parametrize(
    ("header", "metric", "expected", "notes"),
    [
        ("", "accuracy", [1, 0, 1, 1], ["not read: score"]),
        ("", "score", [0.25, 0.5, 0.75, 0.125], ["not read: accuracy"]),
        ("", "Accuracy", [1, 0, 1, 1], ["not read: score"]),
        (
            "", "F1", [0.25, 0.5, 0.75, 0.125],
            ["no column F1: the column score is read as F1", "not read: accuracy"],
        ),
        ("model,item,benchmark,accuracy,other", "other", [0.25, 0.5, 0.75, 0.125], ["not read: accuracy"]),
        ("model,item,,accuracy,score", "accuracy", [1, 0, 1, 1], ["not read: column 3 (without a name), score"]),
    ],
)  # fmt: skip
def test_the_named_column_is_read_and_others_are_named(
    tmp_path: Path, header: str, metric: str, expected: list[float], notes: list[str]
) -> None:
    text = ITEMS.replace(ITEMS.partition("\n")[0], header) if header else ITEMS
    noted: list[str] = []
    cube = import_scores(write(tmp_path / "s.csv", text), metric=metric, notify=noted.append)
    assert cube.score.sel(metric=metric).values.ravel().tolist() == expected
    assert noted[0].startswith(
        f"columns: run = model, topic = item, {'' if ',,' in header else 'collection = benchmark, '}metric = "
    )
    assert noted[1:] == notes
