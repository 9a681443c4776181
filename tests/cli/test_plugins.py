"""Help and completion list what other packages register."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    command = [sys.executable, "-m", "scorecube", *words]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
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
    shown = run("--help", **plugin)
    assert shown.stdout.endswith("Further analyses:\n  graded  Stability with grades.\n")
    assert shown.stderr.splitlines() == [
        "note: the plugin lost (graded_nowhere) cannot be loaded: ModuleNotFoundError: No module named 'graded_nowhere'"
    ]
    assert "graded" in run("list", "analyses", **plugin).stdout
    assert "--grade fine|coarse" in run("graded", "--help", **plugin).stdout
    done = run(
        _SCORECUBE_COMPLETE="complete_bash", COMP_WORDS="scorecube gr", COMP_CWORD="1", **plugin
    )
    assert done.stdout.split() == ["graded"]
