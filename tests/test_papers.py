"""docs/reference/papers.md: every command runs, in the order of the page, on a study made from what Sakai 2007 prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.papers import ITEMS, make_study, page

RESAMPLING = ("swap", "bootstrap", "teams")
PAGE = Path(__file__).parents[1] / "docs/reference/papers.md"


def test_the_page_is_what_is_printed() -> None:
    assert PAGE.read_text(encoding="utf-8") == "\n".join(page()).rstrip() + "\n"


@pytest.mark.slow
def test_every_command_of_the_page_runs(
    tmp_path: Path, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_study(tmp_path / "STUDY", n_runs=6, n_teams=3)
    commands = [
        line for items in ITEMS.values() for item in items for line in item.command.splitlines()
    ]
    for command in dict.fromkeys(commands):
        words = [*command.split()[1:]]
        if words[0] in RESAMPLING:  # six runs of three teams show the same
            words += ["--trials", "10"]
        outcome = scorecube(*words)
        assert outcome.status == 0, (command, outcome.stderr)
        if "--out" in words:
            assert (tmp_path / words[words.index("--out") + 1]).stat().st_size > 1000
        elif words[0] == "show":
            assert len(outcome.stdout.splitlines()) > 2, command
