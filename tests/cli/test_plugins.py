"""What other packages add by entry points: analyses, metrics and readers, in Python as on the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ANALYSIS = '''
from dataclasses import dataclass
from typing import ClassVar, Literal

from scorecube.analyses.options import option_field
from scorecube.analyses.protocol import Sum, Analysis
from scorecube.collection.schema import Variable

VARIABLES = (Variable("trials_run", ("metric", "gain"), "iu", "trials", "trials", "count"),)


@dataclass(frozen=True, kw_only=True)
class Graded(Analysis):
    """Counts its trials."""

    name: ClassVar[str] = "graded"

    grade: Literal["fine", "coarse"] = option_field("fine", "How fine the result is.")

    def block(self, table, start, stop):
        return {"trials_run": Sum((stop - start) * (table.scores[:, 0, 0] >= 0).astype(int))}

    def result(self, table, totals):
        return table.dataset(VARIABLES, totals)
'''
METRIC = '''
from scorecube.metrics import metric


@metric("First", source="a test")
def first(ranks, levels, judged, gains, cutoff, parameters, out):
    """Whether the first document is relevant."""
    out[0] = 1.0 if ranks.shape[0] > 0 and ranks[0] == 1 and levels[0] > 0 else 0.0
'''
READER = """
import pandas as pd

from scorecube.ingest.formats import Format


def read(file, metric):
    rows = [("a", *line.split("="), "M") for line in file.text.split()]
    return pd.DataFrame(rows, columns=["run", "topic", "score", "metric"])


FORMAT = Format("equals", "topic=score", lambda file: "=" in file.text, read)
"""


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    command = [sys.executable, "-m", "scorecube", *words]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
    )


@pytest.fixture
def plugin(tmp_path: Path) -> dict[str, str]:
    """Install a package with plugins; return the environment that has it."""
    package = tmp_path / "graded_plugin"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, text in (("analysis", ANALYSIS), ("metric", METRIC), ("reader", READER)):
        (package / f"{name}.py").write_text(text)
    metadata = tmp_path / "graded_plugin-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: graded-plugin\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[scorecube.analyses]\ngraded = graded_plugin.analysis:Graded\nlost = graded_nowhere:X\n"
        "[scorecube.metrics]\nfirst = graded_plugin.metric:first\n"
        "[scorecube.readers]\nequals = graded_plugin.reader:FORMAT\n"
    )
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}


def test_plugins_are_commands(plugin: dict[str, str]) -> None:
    shown = run("--help", **plugin)
    assert "graded" in shown.stdout.partition("Further analyses")[2]
    (problem,) = shown.stderr.splitlines()
    assert "lost (graded_nowhere:X)" in problem
    assert "graded" in run("list", "analyses", **plugin).stdout
    assert "First" in run("list", "metrics", **plugin).stdout
    assert "fine|coarse" in run("graded", "--help", **plugin).stdout
    done = run(
        _SCORECUBE_COMPLETE="complete_bash", COMP_WORDS="scorecube gr", COMP_CWORD="1", **plugin
    )
    assert done.stdout.split() == ["graded"]


def test_plugins_are_there_in_python(plugin: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "scores.txt").write_text("t1=0.5\nt2=0.25\n")
    code = """
import sys, warnings
warnings.simplefilter("ignore")
import scorecube as sc
cube = sc.import_scores(sys.argv[1])
from graded_plugin.analysis import Graded
result = sc.analyse(cube, Graded(grade="coarse"), trials=7)
print(result["trials_run"].values.tolist(), cube["score"].values.ravel().tolist())
judged = {"t1": {"d1": 1, "d2": 0}, "t2": {"d1": 1, "d2": 0}}
ranked = {"a": {"t1": {"d1": 2.0, "d2": 1.0}, "t2": {"d1": 1.0, "d2": 2.0}}}
scores = sc.evaluate(sc.read_rankings(ranked, judged), metrics=["First"])["score"]
print(len(sc.table(result)), scores.values.ravel().tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "scores.txt")],
        env=os.environ | plugin, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "[[7]] [0.5, 0.25]"
    assert done.stdout.splitlines()[1] == "1 [1.0, 0.0]"
