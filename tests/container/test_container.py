"""The image really built and the compose study really run, by `run.sh`, where this machine can."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.container, pytest.mark.slow]
SCRIPT = Path(__file__).with_name("run.sh")
LACKING = 77
"""Exit status of the script where something it needs is missing."""


def test_the_compose_study_gives_the_same_bits_and_lets_nobody_in() -> None:
    done = subprocess.run(
        [SCRIPT],
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    if done.returncode == LACKING:
        pytest.skip(done.stderr.strip().removeprefix("skipped: "))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same bits as on this machine" in done.stdout
    assert "strangers refused" in done.stdout
    print(done.stdout)
