"""The README: its commands print what it shows, its figure is what its script draws, its links and tables lead somewhere."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import matplotlib as mpl
import pytest

from scorecube.analyses import registry
from scorecube.metrics import DEFINITIONS
from scorecube.report.views.registry import view_names
from scorecube.workflow.sweep_file import read_sweep
from tests import newcomer, readme_figure
from tests.terminal import on_terminal, program

REPO = Path(__file__).parents[1]
README = (REPO / "README.md").read_text(encoding="utf-8")
MACHINE = [
    (
        r"about [\d.,]+ s on \d+ workers?, [\d,]+ MiB each, [\d,]+ MiB in all",
        "about N s on N workers, N MiB each, N MiB in all",
    ),
    (r"in [\d,]+ blocks?;", "in N blocks;"),
    (r"\([\d,]+ KiB\)", "(N KiB)"),
]
"""What another machine, or another release of a library, makes different."""

PROGRESS = re.compile(r".+: [\d,]+ of [\d,]+ \w+(, about .+ left)?")
"""A line that only a slow machine prints."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def without_machine(text: str) -> list[str]:
    for pattern, instead in MACHINE:
        text = re.sub(pattern, instead, text)
    return [
        line.rstrip() for line in text.strip().splitlines() if not PROGRESS.fullmatch(line.rstrip())
    ]


@pytest.mark.process
@pytest.mark.slow
def test_the_road_from_runs_to_a_report_prints_what_is_shown(tmp_path: Path) -> None:
    newcomer.write(tmp_path)
    road = blocks("console")
    assert 1 <= len(road) <= 5
    for block in road:
        line, shown = block.split("\n", 1)
        prompt, name, *words = shlex.split(line)
        assert (prompt, name) == ("$", "scorecube")
        # A dumb terminal has no bar; what is printed beside it is the same.
        status, seen = on_terminal(program(*words), tmp_path, TERM="dumb")
        assert status == 0, seen
        assert without_machine(seen) == without_machine(shown)
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


def test_the_figure_is_what_its_script_draws(tmp_path: Path) -> None:
    kept = readme_figure.FILE.read_text(encoding="utf-8")
    assert readme_figure.FILE.stat().st_size < 60 * 1024
    assert f"]({readme_figure.FILE.relative_to(REPO)})" in README
    assert all(f">{word}<" in kept for word in ("AP", "Q", "nDCG@10", "P+", "swap rate"))
    if f"Matplotlib v{mpl.__version__}," not in kept:
        pytest.skip(f"drawn with another Matplotlib than {mpl.__version__}")
    readme_figure.draw(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == kept


def test_every_analysis_is_in_the_table_and_every_named_file_exists() -> None:
    named = set(re.findall(r"^\| `(\w+)`", README, re.MULTILINE)) | set(
        re.findall(r"^\| `\w+`, `(\w+)`", README, re.MULTILINE)
    )
    assert set(view_names()) - {"scores"} <= named
    assert set(registry.names()) <= named
    assert f"evaluates {len(DEFINITIONS)} measures" in README
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (REPO / link).exists(), link
    for path in re.findall(r"`((?:src|tests|notebooks|cluster|docker)/[\w./-]+)`", README):
        assert (REPO / path).exists(), path
    assert len(README.splitlines()) <= 330


def test_the_sweep_can_be_read(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    assert tomllib.loads(text)["study"] == "sweep.zarr"
    (tmp_path / "matrices").mkdir()
    for name in ("one", "two"):
        (tmp_path / "matrices" / f"{name}.csv").write_text("topic,a,b\n1,0.5,1\n2,0.25,1\n")
    (tmp_path / "sweep.toml").write_text(text)
    asked = read_sweep(tmp_path / "sweep.toml")
    assert [source.name for source in asked.sources] == ["one", "two"]
    assert len(asked.entries) == 2
