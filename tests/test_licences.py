"""The page of licences lists what the locks install, and nothing that runs with scorecube is under the GPL."""

from __future__ import annotations

from tests.licences import REPO, locked, page

WRITTEN = (REPO / "docs/reference/licences.md").read_text(encoding="utf-8").splitlines()
ROWS = [
    [cell.strip() for cell in line.split("|")[1:-1]] for line in WRITTEN if line.startswith("| ")
]


def test_packages_are_those_of_the_locks() -> None:
    assert [row[0] for row in ROWS[1:]] == sorted(locked()), "run python -m tests.licences"


def test_licences_are_those_of_the_installed_packages() -> None:
    stated = dict(zip(page().splitlines(), WRITTEN, strict=True))
    differ = {here: there for here, there in stated.items() if here != there}
    assert all("other platforms" in here + there for here, there in differ.items()), differ


def test_nothing_that_runs_with_scorecube_is_under_the_gpl() -> None:
    copyleft = [row[0] for row in ROWS if row[2] != "tests, documentation" and "GPL" in row[1]]
    assert copyleft == []
