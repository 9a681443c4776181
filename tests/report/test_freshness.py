"""Pages that are up to date are kept; all others are written again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import scorecube as sc
from scorecube.execute.processes import ordered_map, processes
from scorecube.files import write_file
from scorecube.report.page import freshness, sections
from scorecube.report.page.writing import INDEX, write_page, write_pages
from scorecube.storage import Study
from scorecube.testing import simulate_cube
from scorecube.workflow import api
from tests.test_architecture import SOURCE, House

NAMES = ("a", "b", "c")


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures of results empty, which take most of the time."""
    monkeypatch.setattr(sections, "picture", lambda _figure, _words: "")


@pytest.fixture
def study(tmp_path: Path) -> Study:
    study = sc.open_study(tmp_path / "study.zarr", mode="a")
    for k, name in enumerate(NAMES):
        study.add(name, cube=simulate_cube(n_runs=4, seed=k, metrics=("AP",), gains=("3:2:1",)))
    analyse(study, *NAMES)
    return study


def analyse(study: Study, *names: str, seed: int = 1) -> None:
    for task in api.plan_in_study(study, sc.Tukey(), trials=20, seed=seed, collections=names):
        task.run()


def written(folder: Path, write: Callable[[], int]) -> tuple[int, set[str]]:
    """Return what the function returns, and the pages that it wrote."""
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*")}
    count = write()
    after = {path.name: path.stat().st_mtime_ns for path in folder.glob("*")}
    return count, {name for name, time in after.items() if before.get(name) != time}


@pytest.mark.slow
def test_only_pages_of_changed_collections_are_written(study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    write = lambda: write_pages(study, folder)  # noqa: E731 - called several times
    everything = {INDEX, "a.html", "b.html", "c.html"}
    assert written(folder, write) == (4, everything)
    assert written(folder, write) == (0, set())
    analyse(study, "b", seed=2)
    assert written(folder, write) == (2, {INDEX, "b.html"})
    fresh = tmp_path / "fresh"
    write_pages(study, fresh)
    for name in everything:
        assert (folder / name).read_bytes() == (fresh / name).read_bytes(), name


def test_one_file_is_kept_until_a_result_changes(study: Study, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert write_page(study, page)
    assert not write_page(study, page)
    assert not write_page(sc.open_study(study.path), page)
    analyse(study, "c", seed=3)
    assert write_page(study, page)
    assert not write_page(study, page)


@pytest.mark.parametrize(
    "damage",
    [
        lambda page: page[: len(page) // 2],
        lambda page: page.replace(b"<h1>", b"<h1>my ", 1),
        lambda page: page.rpartition(b"<!--")[0],
        lambda page: page + b"\n",
        lambda page: page[:-30] + b"\xff" + page[-29:],
        lambda page: page[:0],
    ],
    ids=["half", "edited", "no last line", "longer", "last line", "empty"],
)
def test_a_changed_page_is_not_current(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    page, sources = tmp_path / "page.html", "ab" * 32
    content = freshness.sealed("<html><h1>Report \udcff</h1></html>\n", sources)
    write_file(page, content)
    assert freshness.is_current(page, sources)
    assert not freshness.is_current(page, "cd" * 32)
    page.write_bytes(damage(page.read_bytes()))
    assert not freshness.is_current(page, sources)
    page.unlink()
    assert not freshness.is_current(page, sources)


def test_pages_of_other_programs_and_places_are_written_again(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = freshness.source_digest(study, study)
    copy = Path(shutil.copytree(study.path, tmp_path / "copy.zarr"))
    assert freshness.source_digest(sc.open_study(copy), study) != known  # a page names its study
    assert freshness.source_digest(study, NAMES[:2]) != known
    freshness.program_digest.cache_clear()
    monkeypatch.setattr(freshness, "LIBRARIES", freshness.LIBRARIES[:-1])
    assert freshness.source_digest(study, study) != known
    freshness.program_digest.cache_clear()


@pytest.mark.parametrize(("file", "redrawn"), [("ingest/trec.py", False), ("report/swap.py", True)])
def test_pages_follow_the_programs_that_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, redrawn: bool
) -> None:
    package = Path(shutil.copytree(freshness.PACKAGE, tmp_path / "scorecube"))
    monkeypatch.setattr(freshness, "PACKAGE", package)
    made_by = freshness.program_digest.__wrapped__
    before = made_by()
    with (package / file).open("a") as changed:
        changed.write("# changed\n")
    assert (made_by() != before) == redrawn


def test_no_page_is_made_of_what_is_left_out() -> None:
    house = House(SOURCE)
    rooms, reached = {"report"}, set[str]()
    while rooms - reached:
        reached |= rooms
        rooms |= {
            each.target.split(".")[1]
            for file in house.files
            if file.room in reached
            for each in file.imports
            if not each.typing_only and each.target.startswith("scorecube.")
        } & house.rooms
    left_out = {name.removesuffix(".py") for name in freshness.OTHERS}
    assert left_out <= house.rooms
    assert not reached & left_out


def test_removed_collections_lose_their_page_and_others_keep_theirs(
    study: Study, tmp_path: Path
) -> None:
    folder = tmp_path / "pages"
    write_pages(study, folder)
    (folder / "zzz.html").write_text("an earlier page")
    analyse(study, "a", seed=2)
    assert written(folder, lambda: write_pages(study, folder)) == (2, {INDEX, "a.html"})
    assert sorted(path.name for path in folder.iterdir()) == ["a.html", "b.html", "c.html", INDEX]


@pytest.mark.process
def test_pages_drawn_in_other_processes_are_the_same(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    write_page(study, tmp_path / "one.html")
    with processes(2) as pool:
        write_page(
            study,
            tmp_path / "two.html",
            ordered_map=lambda function, items: ordered_map(pool, 2, function, items),
        )
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
