"""The documentation: its commands print what it shows, it builds without warnings and is read without network, its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import scorecube
from scorecube.analyses import registry
from tests import console_pages
from tests.reference_pages import OFFERED, PAGES

REPO = Path(__file__).parents[1]
SOURCES = [*REPO.glob("*.md"), *sorted((REPO / "docs").rglob("*.md"))]
SOURCES = [page for page in SOURCES if not {"_build", "_generated"} & set(page.parts)]


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("page", console_pages.pages(), ids=lambda page: page.stem)
def test_commands_print_what_is_shown(tmp_path: Path, page: Path) -> None:
    for line, shown, seen in console_pages.run(page, tmp_path):
        kept = console_pages.kept_lines(seen)
        assert console_pages.without_machine(kept) == console_pages.without_machine(shown), line


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


class Addresses(HTMLParser):
    """Collects what a page loads, where its links lead, and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href", "data", "srcset") and value is not None:
                (self.links if tag == "a" else self.loaded).append(value)


@pytest.mark.process
@pytest.mark.slow
def test_pages_build_without_warnings_and_are_read_without_network(tmp_path: Path) -> None:
    pytest.importorskip("sphinx_book_theme")
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "--keep-going",
            "-q",
            "-b",
            "html",
            "docs",
            tmp_path,
        ],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert built.returncode == 0, built.stderr
    pages = {
        path.relative_to(tmp_path).as_posix(): path.read_text(encoding="utf-8")
        for path in tmp_path.rglob("*.html")
    }
    assert {f"_generated/api/{name}.html" for name in PAGES} <= set(pages)
    assert all(f'id="{name}"' in pages["_generated/commands.html"] for name in registry.names())
    for name, text in pages.items():
        found = Addresses()
        found.feed(text)
        assert [each for each in found.loaded if re.match(r"(https?:)?//", each)] == [], name
        for link in found.links:
            place = link.partition("#")[0]
            if place and "://" not in place and not place.startswith("mailto:"):
                assert (tmp_path / name).parent.joinpath(place).exists(), f"{name} links to {link}"
