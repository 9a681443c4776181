"""The documentation: its commands print what it shows, it builds without warnings and is read without network, its links lead somewhere."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import pytest
import yaml

import scorecube
from scorecube.analyses import registry
from scorecube.report.views import view_names, view_of
from scorecube.workflow.sweep_file import read_sweep
from tests import console_pages, newcomer, readme_figure
from tests.reference_pages import OFFERED, PAGES

REPO = Path(__file__).parents[1]
README = (REPO / "README.md").read_text(encoding="utf-8")
SOURCES = [REPO / "README.md", *sorted((REPO / "docs").rglob("*.md"))]
SOURCES = [page for page in SOURCES if not {"_build", "_generated"} & set(page.parts)]


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("page", console_pages.pages(), ids=lambda page: page.stem)
def test_commands_print_what_is_shown(
    request: pytest.FixtureRequest, tmp_path: Path, page: Path
) -> None:
    if console_pages.uses_public_data(page):
        request.getfixturevalue("data")
    for line, shown, seen in console_pages.run(page, tmp_path):
        kept = console_pages.kept_lines(seen)
        assert console_pages.without_machine(kept) == console_pages.without_machine(shown), line
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!")


def test_the_made_up_task_is_what_it_says(tmp_path: Path) -> None:
    newcomer.write(tmp_path)
    assert len(list((tmp_path / "runs").glob("*.txt"))) == newcomer.N_TEAMS * newcomer.RUNS_PER_TEAM
    levels = [line.split() for line in (tmp_path / "qrels.txt").read_text().splitlines()]
    assert {each[3] for each in levels} == {"0", "1", "2", "3"}
    relevant = [
        sum(each[0] == topic and each[3] != "0" for each in levels)
        for topic in {each[0] for each in levels}
    ]
    assert len(relevant) == newcomer.N_TOPICS
    assert 4 <= min(relevant) <= max(relevant) <= 20
    again = tmp_path / "again"
    again.mkdir()
    newcomer.write(again)
    assert (again / "runs" / "teamD-3.txt").read_bytes() == (
        tmp_path / "runs" / "teamD-3.txt"
    ).read_bytes()


@pytest.mark.slow
def test_the_figure_is_what_its_script_draws(tmp_path: Path) -> None:
    kept = readme_figure.FILE.read_text(encoding="utf-8")
    assert readme_figure.FILE.stat().st_size < 80 * 1024
    assert f"]({readme_figure.FILE.relative_to(REPO)})" in README
    if f"Matplotlib v{mpl.__version__}," not in kept:
        pytest.skip(f"drawn with another Matplotlib than {mpl.__version__}")
    readme_figure.draw(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == kept


def test_the_readme_is_short_and_names_every_analysis() -> None:
    lines = README.splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 100
    assert len(re.findall(r"^\$ scorecube", README, re.MULTILINE)) == 3
    named = set(re.findall(r"`([\w-]+)`", README))
    assert set(registry.names()) <= named
    table = (REPO / "docs/explanation/analyses.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w-]+)`", table))
    assert (set(view_names()) - {"scores"}) | set(registry.names()) <= named


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: page.relative_to(REPO).as_posix())
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "[](" not in text, "a code host shows nothing of a link without words"
    for link in re.findall(r"\]\((?!http)([^)#\s]+)", text):
        if "_generated" not in link:
            assert (page.parent / link).exists(), link
    for path in re.findall(r"`((?:src|tests|notebooks|cluster|docker|docs)/[\w./-]+)`", text):
        assert (REPO / path).exists() or path.startswith("docs/_"), path


def test_the_python_interface_is_grouped_as_a_whole() -> None:
    offered = [name for names in OFFERED.values() for name in names]
    callables = {name for name in scorecube.__all__ if callable(getattr(scorecube, name))}
    assert sorted(offered) == sorted(callables | {"report"})


def texts_of_output(file: Path) -> Iterator[str]:
    """Yield the literal texts of a module without docstrings and without descriptions of variables, which are prose."""

    def texts(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        for child in ast.iter_child_nodes(node):
            is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            is_table = (
                isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) == "VARIABLES"
            ) or file.stem.endswith(("_quantities", "score_facts"))
            is_docstring |= isinstance(child, ast.keyword) and child.arg == "detail"
            if not (is_docstring or is_table):
                yield from texts(child)

    return texts(ast.parse(file.read_text(encoding="utf-8")))


def test_percentages_have_a_space_in_prose_and_none_in_output() -> None:
    package = REPO / "src" / "scorecube"
    printed = [(file, text) for file in package.rglob("*.py") for text in texts_of_output(file)]
    assert sum("%" in text for _, text in printed) > 20
    wrong = [f"{file.name}: {text}" for file, text in printed if re.search(r"(^|\d) %", text)]
    for script in package.rglob("*.js"):
        wrong += re.findall(r".*[\d}] %.*", script.read_text(encoding="utf-8"))
    for page in (*SOURCES, REPO / "CHANGELOG.md", *REPO.glob("cluster/*.md")):
        text = re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text("utf-8"), flags=re.M | re.S)
        wrong += [f"{page.name}: {line}" for line in text.splitlines() if re.search(r"\d%", line)]
    assert not wrong, "\n".join(wrong)


def test_reports_name_pages_of_the_documentation_by_their_titles() -> None:
    paths = [
        text
        for file in (REPO / "src" / "scorecube" / "report").rglob("*.py")
        for text in texts_of_output(file)
        if re.search(r"\b(docs|tests|src)/", text)
    ]
    assert not paths, "\n".join(paths)
    titles = {page.read_text(encoding="utf-8").partition("\n")[0].strip("# ") for page in SOURCES}
    named = [
        re.findall(r'"([^"]+)"', view_of(name).about.partition("the documentation of scorecube")[2])
        for name in view_names()
    ]
    found = [each[0] for each in named if each]
    assert len(found) >= 4
    assert set(found) <= titles


def test_sweeps_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "matrices").mkdir()
    for name in ("one", "two"):
        (tmp_path / "matrices" / f"{name}.csv").write_text("topic,a,b\n1,0.5,1\n2,0.25,1\n")
    found = [
        text
        for page in SOURCES
        for text in re.findall(r"^```toml\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    ]
    assert found
    for text in found:
        given = tomllib.loads(text).get("collection", [])  # a study may have them already
        named = [each for each in given if "each" not in each]
        for file in (tmp_path / name for each in named for name in each["scores"]):
            file.parent.mkdir(exist_ok=True)
            shutil.copy(tmp_path / "matrices" / "one.csv", file)
        (tmp_path / "sweep.toml").write_text(text)
        asked = read_sweep(tmp_path / "sweep.toml")
        names = [each["name"] for each in named] or ["one", "two"] * bool(given)
        assert [source.name for source in asked.sources] == names
        assert len(asked.entries) == 2


def test_the_citation_has_the_version() -> None:
    citation = yaml.safe_load((REPO / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == scorecube.__version__
    assert citation["license"] == "Apache-2.0"


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
