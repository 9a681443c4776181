"""Help and completion import no scientific package, and list what other packages register."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"numpy", "xarray", "pandas", "scipy", "numba", "dask", "distributed", "zarr", "matplotlib"}
RUN = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from scorecube.cli.program import main
sys.argv = ["scorecube", *{words!r}]
main()
"""
PLUGIN = """
from dataclasses import dataclass
from typing import ClassVar

from scorecube.analyses.options import option_field
from scorecube.analyses.registry import Entry, register

register(Entry("graded", "graded_plugin.analysis:Graded", "Stability with grades."))
"""
ANALYSIS = '''
from dataclasses import dataclass
from typing import ClassVar

from scorecube.analyses.options import option_field
from scorecube.analyses.topic_samples.stability import Stability


@dataclass(frozen=True, kw_only=True)
class Graded(Stability):
    """Stability with grades."""

    name: ClassVar[str] = "graded"

    grade: str = option_field("fine", "How fine the result is.", choices=("fine", "coarse"))
'''


def run(*words: str, **environment: str) -> tuple[str, set[str]]:
    """Run the program in a process of its own; return what it printed and the names of the modules it imported."""
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(words=list(words))],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    modules = set(json.loads(done.stderr.splitlines()[-1]))
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout, modules


def top_level(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


@pytest.mark.parametrize("words", ["--help", "--version", "list --help", "sweep --help"])
def test_help_is_light(words: str) -> None:
    shown, modules = run(*words.split())
    assert shown
    assert not top_level(modules) & HEAVY
    assert "scorecube.analyses.base" not in modules


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("scorecube sw", "swap"),
        ("scorecube --inst", "--install-completion"),
        ("scorecube --quiet sw", "swap"),
        ("scorecube show study.zarr sta", "stability"),
        ("scorecube list an", "analyses"),
        ("scorecube evaluate study.zarr --order ra", "rank"),
    ],
)
def test_completion_is_light(line: str, offered: str) -> None:
    words = line.split(" ")
    shown, modules = run(
        _SCORECUBE_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1)
    )
    assert offered in shown.split()
    assert not top_level(modules) & HEAVY
    # Options of the program itself are no reason to load what reads values.
    assert "pydantic" not in modules or len(words) > 2


def test_the_help_of_an_analysis_imports_no_other() -> None:
    _, modules = run("swap", "--help")
    assert "scorecube.analyses.topic_samples.swap" in modules
    assert (
        not {"scorecube.analyses.pair_tests", "scorecube.workflow", "scorecube.execute", "zarr"}
        & modules
    )


@pytest.fixture
def plugin(tmp_path: Path) -> dict[str, str]:
    """Install a package with a plugin; return the environment that has it."""
    (tmp_path / "graded_plugin").mkdir()
    (tmp_path / "graded_plugin" / "__init__.py").write_text(PLUGIN)
    (tmp_path / "graded_plugin" / "analysis.py").write_text(ANALYSIS)
    metadata = tmp_path / "graded_plugin-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: graded-plugin\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[scorecube.plugins]\ngraded = graded_plugin\nlost = graded_nowhere\n"
    )
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}


def test_plugins_are_listed_and_completed(plugin: dict[str, str]) -> None:
    shown, modules = run("--help", **plugin)
    assert shown.endswith("Further analyses:\n  graded  Stability with grades.\n")
    assert not top_level(modules) & HEAVY
    assert "graded" in run("list", "analyses", **plugin)[0]
    shown, _ = run("graded", "--help", **plugin)
    assert "--grade fine|coarse" in shown
    completed, _ = run(
        _SCORECUBE_COMPLETE="complete_bash", COMP_WORDS="scorecube gr", COMP_CWORD="1", **plugin
    )
    assert completed.split() == ["graded"]


def test_a_plugin_that_cannot_be_loaded_is_reported(plugin: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scorecube", "--version"],
        env=os.environ | plugin,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "note: the plugin lost (graded_nowhere) cannot be loaded: ModuleNotFoundError: No module named 'graded_nowhere'"
    ]
