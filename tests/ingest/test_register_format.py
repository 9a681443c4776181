"""A format from code outside the package: imported by name and by detection."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from scorecube.errors import BadName, BadPlan
from scorecube.ingest import formats
from scorecube.ingest.formats import detect, layouts, load_format, register_format
from scorecube.ingest.source import BUILT_IN, File, Format
from scorecube.storage import open_study
from tests.conftest import Cli

CONTENT = "%toy\nAP/r1/401=0.5\nAP/r1/402=0.25\n"


def read_toy(file: File, metric: str | None) -> pd.DataFrame:
    """Return the scores of lines of measure/run/topic=value."""
    rows = [line.replace("=", "/").split("/") for line in file.text.split()[1:]]
    return pd.DataFrame(rows, columns=["metric", "run", "topic", "score"])


TOY = Format("toy", "measure/run/topic=value", lambda file: file.lines[0] == "%toy", read_toy)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Format:
    monkeypatch.setattr(formats, "_registered", {})
    register_format(TOY)
    return TOY


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("options", [[], ["--layout", "toy"]], ids=["detected", "by name"])
def test_a_registered_format_is_imported(
    scorecube: Cli, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "scores").write_text(CONTENT)
    scorecube("import", tmp_path / "s", "--name", "x", tmp_path / "scores", *options).succeeded()
    assert open_study(tmp_path / "s")["x"].cube["score"].values.tolist() == [[[[0.5, 0.25]]]]


def test_a_registered_format_is_tried_first_and_can_be_replaced(
    tmp_path: Path, toy: Format
) -> None:
    (tmp_path / "matrix").write_text("topic,a\n1,0.5\n")
    assert (detect(tmp_path / "matrix"), list(layouts())) == ("matrix", [*BUILT_IN, "toy"])
    greedy = dataclasses.replace(toy, detect=lambda _: True)
    register_format(greedy)
    assert (detect(tmp_path / "matrix"), load_format("toy")) == ("toy", greedy)


@pytest.mark.usefixtures("toy")
def test_formats_of_the_package_are_not_replaced() -> None:
    for name in ("auto", "matrix"):
        with pytest.raises(BadName):
            register_format(dataclasses.replace(TOY, name=name))
    with pytest.raises(BadPlan) as caught:
        load_format("toys")
    assert caught.value.option == "layout"
    assert {name: load_format(name).about for name in BUILT_IN} == BUILT_IN


def test_the_list_does_not_import_heavy_packages() -> None:
    code = "import sys, scorecube.ingest.formats as f; f.layouts(); print(sorted({'numpy', 'pandas', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
