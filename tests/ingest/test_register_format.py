"""A format from code outside the package: imported by name and by detection."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from scorecube.errors import BadName, BadPlan
from scorecube.ingest import formats
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import (
    BUILT_IN,
    FileHead,
    Format,
    detect,
    layouts,
    load_format,
    register_format,
)
from scorecube.ingest.in_memory import Matrices, matrices_of
from scorecube.storage import open_study
from tests.conftest import Cli

CONTENT = "%toy\nAP/r1/401=0.5\nAP/r1/402=0.25\n"


def is_toy(head: FileHead) -> bool:
    return head.lines[0] == "%toy"


def read_toy(paths: Sequence[PathLike], metric: str | None) -> dict[str, Matrices]:
    nested: dict[str, dict[str, dict[str, float]]] = {}
    for path in paths:
        for line in Path(path).read_text().splitlines()[1:]:
            place, value = line.split("=")
            measure, run, topic = place.split("/")
            if metric in (None, measure):
                nested.setdefault(measure, {}).setdefault(run, {})[topic] = float(value)
    return {"": matrices_of(nested)}


TOY = Format("toy", "lines of measure/run/topic=value", is_toy, read_toy)


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
@pytest.mark.parametrize("name", ["auto", "matrix"])
def test_formats_of_the_package_are_not_replaced(name: str) -> None:
    with pytest.raises(
        BadName, match=f"^layout '{name}' exists in scorecube; choose another name$"
    ):
        register_format(dataclasses.replace(TOY, name=name))


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(
        BadPlan, match=r"^no layout 'toy'; known: auto, matrix, numbers, long,"
    ) as caught:
        load_format("toy")
    assert caught.value.option == "layout"


@pytest.mark.parametrize("name", BUILT_IN)
def test_records_agree_with_the_list(name: str) -> None:
    found = load_format(name)
    assert (found.name, found.about) == (name, BUILT_IN[name].about)


def test_the_list_does_not_import_heavy_packages() -> None:
    code = "import sys, scorecube.ingest.formats as f; f.layouts(); print(sorted({'numpy', 'pandas', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
