"""What other packages add by entry points: the plugins of two pages, in Python and as commands; a method takes ten names."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
METHOD = (HOW_TO / "method.md").read_text("utf-8")
TEXT = (HOW_TO / "extend.md").read_text("utf-8") + METHOD
FILES = dict(re.findall(r"^`(\S+)`:\n\n```\w+\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
"""The package of the pages: name of a file -> its content."""


def test_a_method_takes_ten_names_that_its_page_lists() -> None:
    imports = [
        node
        for node in ast.walk(ast.parse(FILES["my_plugin/analysis.py"]))
        if isinstance(node, ast.ImportFrom)
        and node.module in ("scorecube.analyses", "scorecube.declare")
    ]
    taken = {alias.name for node in imports for alias in node.names}
    assert {*re.findall(r"^\|.*\| `(\w+)` \|", METHOD, re.MULTILINE)} == taken
    assert len(taken) == 10
    others = re.findall(
        r"^from scorecube\.(?!analyses|declare)", FILES["my_plugin/analysis.py"], re.MULTILINE
    )
    assert not others


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    command = [sys.executable, "-m", "scorecube", *words]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
    )


@pytest.fixture
def plugin(tmp_path: Path) -> dict[str, str]:
    """Install the package of the page, and a plugin without a module; return the environment."""
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    modules = {name: text for name, text in FILES.items() if name.endswith(".py")}
    assert len(modules) == 3
    for name, text in {"my_plugin/__init__.py": "", **modules}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    metadata = tmp_path / "my_plugin-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = project["entry-points"]
    groups["scorecube.analyses"]["lost"] = "nowhere:X"
    points = [
        line
        for group, of in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in of.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(points))
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.process
def test_plugins_are_commands(plugin: dict[str, str], tmp_path: Path) -> None:
    shown = run("--help", **plugin)
    assert "winners" in shown.stdout.partition("Further analyses")[2]
    (problem,) = shown.stderr.splitlines()
    assert "lost (nowhere:X)" in problem
    assert "First" in run("list", "metrics", **plugin).stdout
    assert "--places" in run("winners", "--help", **plugin).stdout
    done = run(
        _SCORECUBE_COMPLETE="complete_bash", COMP_WORDS="scorecube wi", COMP_CWORD="1", **plugin
    )
    assert done.stdout.split() == ["winners"]
    for name, scores in (("a", "t1=0.5\nt2=0.25\n"), ("b", "t1=0.25\nt2=0.25\n")):
        (tmp_path / name).write_text(scores)
    study = str(tmp_path / "study.zarr")
    run("import", study, *(str(tmp_path / name) for name in "ab"), "--name", "mine", **plugin)
    assert "a 100.0%" in run("winners", study, **plugin).stdout
    table = run("show", study, "winners", "--format", "csv", **plugin).stdout.splitlines()
    assert table[:2] == ["collection,metric,gain,run,mean,share", "mine,score,auto,a,0.375,1.0"]
    run("figure", study, "winners", "--out", str(tmp_path / "winners.svg"), **plugin)
    # Neither is the leaderboard of a page an analysis that answers its question.
    run("report", study, "--out", str(tmp_path / "page.html"), **plugin)
    assert "How often a run leads when" in (tmp_path / "page.html").read_text()


def test_plugins_are_there_in_python(plugin: dict[str, str]) -> None:
    code = """
import warnings
import numpy as np
warnings.simplefilter("ignore")
import xarray as xr
import scorecube as sc
from scorecube.testing import simulate_rankings
cube = sc.evaluate(simulate_rankings(n_runs=4, seed=1), metrics=["First", "AP"])
from my_plugin.analysis import Winners
results = [
    sc.analyse(cube, Winners(places=2), trials=60, workers=workers, block_units=units).drop_attrs()
    for workers, units in ((1, 60), (1, 7), (2, 20))
]
for result in results:
    xr.testing.assert_identical(result, results[0])
drawn = sc.samples(cube, sc.Bootstrap(), trials=60)["topic_sample"].values
means = cube["score"].values[..., drawn].mean(axis=-1).round(9)
edge = np.sort(means, axis=2)[:, :, [-2]]
print((results[0]["leads"].values == (means >= edge).sum(axis=-1)).all())
print(set(cube["score"].sel(metric="First").values.ravel().tolist()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | plugin, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["True", "{0.0, 1.0}"]
