"""A format from code outside the package: imported by name and by detection."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from scorecube.errors import BadName, BadPlan
from scorecube.ingest.formats import BUILT_IN, REGISTERED, File, Format, layouts, register_format
from scorecube.ingest.tools import detect, load_format
from scorecube.storage import open_study
from tests.conftest import Cli


def read_toy(file: File, metric: str | None) -> pd.DataFrame:
    """Return the scores of lines of measure/run/topic=value."""
    rows = [line.replace("=", "/").split("/") for line in file.text.split()[1:]]
    return pd.DataFrame(rows, columns=["metric", "run", "topic", "score"])


TOY = Format("toy", "measure/run/topic=value", lambda file: file.lines[0] == "%toy", read_toy)


def test_a_registered_format_is_imported_and_tried_first(
    scorecube: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REGISTERED, "toy", TOY)  # and not after this test
    register_format(TOY)
    (tmp_path / "scores").write_text("%toy\nAP/r1/401=0.5\nAP/r1/402=0.25\n")
    for options in ([], ["--layout", "toy"]):
        study = tmp_path / f"s{len(options)}"
        scorecube("import", study, "--name", "x", tmp_path / "scores", *options).succeeded()
        assert open_study(study)["x"].cube["score"].values.tolist() == [[[[0.5, 0.25]]]]
    (tmp_path / "matrix").write_text("topic,a\n1,0.5\n")
    assert (detect(tmp_path / "matrix"), list(layouts())) == ("matrix", [*BUILT_IN, "toy"])
    greedy = dataclasses.replace(TOY, detect=lambda _: True)
    register_format(greedy)
    assert (detect(tmp_path / "matrix"), load_format("toy")) == ("toy", greedy)
    for name in ("auto", "matrix"):
        with pytest.raises(BadName):
            register_format(dataclasses.replace(TOY, name=name))
    with pytest.raises(BadPlan) as caught:
        load_format("toys")
    assert caught.value.option == "layout"
