"""The documentation: its commands print what it shows, it builds without warnings, its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import scorecube
from tests import console_pages
from tests.reference_pages import OFFERED, PAGES

REPO = Path(__file__).parents[1]
SOURCES = [*REPO.glob("*.md"), *sorted((REPO / "docs").rglob("*.md"))]
SOURCES = [page for page in SOURCES if not {"_build", "_generated"} & set(page.parts)]
DATA = (REPO / "docs/how-to/data.md").read_text(encoding="utf-8")
FIRST_LINES = re.findall(r"^\| (\S+\.\w+) \| (.+?) \| (.+) \|$", DATA, re.MULTILINE)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("page", console_pages.pages(), ids=lambda page: page.stem)
def test_commands_print_what_is_shown(tmp_path: Path, page: Path) -> None:
    for line, shown, seen in console_pages.run(page, tmp_path):
        kept = console_pages.kept_lines(seen)
        assert console_pages.without_machine(kept) == console_pages.without_machine(shown), line


@pytest.mark.parametrize(("name", "lines", "said"), FIRST_LINES)
def test_first_lines_are_taken_for_what_is_shown(
    tmp_path: Path, name: str, lines: str, said: str
) -> None:
    (tmp_path / name).write_text("\n".join(re.findall("`(.+?)`", lines)))
    notes: list[str] = []
    cube = scorecube.import_scores(tmp_path / name, notify=notes.append)
    assert f"`{notes[0]}`" == said if "`runs: " in said else cube["run"].item() in said


def test_links_and_paths_lead_somewhere() -> None:
    lost = []
    for page in SOURCES:
        text = page.read_text(encoding="utf-8")
        links = re.findall(r"\]\((?!http|#)([^)#\s]+)", text)
        paths = re.findall(r"`((?:src|tests|notebooks|cluster|docker|docs)/[\w./-]+)`", text)
        lost += [
            f"{page.relative_to(REPO)}: {place}"
            for root, places in ((page.parent, links), (REPO, paths))
            for place in places
            if "_generated" not in place and not (root / place).exists()
        ]
    assert not lost, "\n".join(lost)


def test_the_python_interface_is_grouped_as_a_whole() -> None:
    offered = [name for names in OFFERED.values() for name in names]
    callables = {name for name in scorecube.__all__ if callable(getattr(scorecube, name))}
    assert sorted(offered) == sorted(callables | {"report"})


@pytest.mark.process
@pytest.mark.slow
def test_pages_build_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("sphinx_book_theme")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs"]
    built = subprocess.run(
        [*command, tmp_path], cwd=REPO, capture_output=True, text=True, timeout=600
    )
    assert built.returncode == 0, built.stderr
    pages = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    assert {f"_generated/api/{name}.html" for name in PAGES} <= pages
