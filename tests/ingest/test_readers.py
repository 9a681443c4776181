"""Every reader takes files in every encoding, and refuses what is damaged or wrong, naming file and line.

`evaluations/` has a folder for each format: files as a tool writes them, and their scores in `expected.csv`.
Those of lm-eval 0.4.13, inspect-ai 0.3.285, every-eval-ever 0.3.0 (its converter of lm-eval) and autojudge-evaluate 1.1.0 are written by these tools.
"""

from __future__ import annotations

import csv
import gzip
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.errors import BadInput, BadName
from scorecube.ingest import formats, readers
from scorecube.ingest.data_frames import read_run_labels, read_topic_groups
from scorecube.ingest.formats import DECLARED, File, Row, never, reader
from scorecube.ingest.qrels import read_judgements
from scorecube.workflow.api import import_scores
from tests.ingest.test_forms import OF_TEXT

RUN = b"1 Q0 d1 1 0.5 tag\n1 Q0 d2 2 3.5 tag\n1 Q0 d3 3 2.5 tag\n2 Q0 d1 1 1.5 tag\n"
QRELS = b"1 0 d1 1\n1 0 d2 2\n1 0 d3 3\n2 0 d1 1\n"


@dataclass(frozen=True)
class Reader:
    """A reader: name and content of a good file, and what it makes of one."""

    name: str
    content: bytes
    read: Callable[[Path], Any]


def with_qrels(path: Path) -> Any:
    judgements = {"1": {"d1": 1, "d2": 2, "d3": 3}, "2": {"d1": 1}}
    return sc.read_rankings([path], judgements, workers=1)["level_at_rank"].values.tolist()


def with_run(path: Path) -> Any:
    runs = {"a": {"1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "2": {"d1": 1.0}}}
    return sc.read_rankings(runs, path, workers=1)["level_at_rank"].values.tolist()


def labels(path: Path) -> Any:
    found = read_judgements(path)
    return str((found.topics, found.levels.tolist(), found.documents))


READERS = {
    "run": Reader("a.run", RUN, with_qrels),
    "qrels": Reader("a.qrels", QRELS, with_run),
    "rel": Reader("1.rel", b"d1 L1\nd2 L2\nd3 L3\n", with_run),
    "res": Reader("1.me.res", b"d2\nd3\nd1\n", with_qrels),
    "labels": Reader("a.csv", b"topic,document,judge,label\n1,d1,j,2\n1,d2,j,0\n", labels),
    "teams": Reader("teams.csv", b"run,team\nr1,A\nr2,B\n", read_run_labels),
    "groups": Reader("groups.csv", b"topic,topic_group\n1,x\n2,y\n", read_topic_groups),
}  # fmt: skip


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / READERS[name].name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("encoding", OF_TEXT)
@pytest.mark.parametrize("name", READERS)
def test_files_are_read_in_every_encoding(tmp_path: Path, name: str, encoding: str) -> None:
    reader = READERS[name]
    expected = reader.read(written(tmp_path, name, reader.content))
    content = OF_TEXT[encoding](reader.content.decode())
    assert reader.read(written(tmp_path, name, content)) == expected


BAD = [
    # Reader, further lines, number of the line that is named (0 for none), words of the message.
    ("run", b"1 Q0 d4 1 0.5\n", 5, "5 columns"),
    ("run", b"\n1\n", 6, "1 column"),
    *(("run", b"1 Q0 d4 1 %s tag\n" % text, 5, f"score {text.decode()!r} is not a number") for text in (b"abc", b"NaN", b"1.2.3", b"1_0", b"-.", b"1e+", b"0x1p3")),
    ("run", b"#\n2 Q0 d1 9 0 tag\n", 6, "stands twice in topic 2"),
    ("run", b"2 Q0 d4 9 0 tags\n", 5, "the run tag changes from 'tag' to 'tags'"),
    ("run", b"2 Q0 d4 9 0 t\xe9\n", 5, "the run tag changes"),
    ("qrels", b"1 0 d9\n", 5, "3 columns"),
    *(("qrels", b"1 0 d9 %s\n" % text, 5, f"level {text.decode()!r} is not an integer") for text in (b"1.5", b"L1.5", b"nan", b"128")),
    ("qrels", b"1 0 d2 0\n", 5, "judged twice in topic 1"),
    ("qrels", b"9 0 d\xe9 0\n9 0 d\xe9 0\n", 6, "judged twice in topic 9"),
    ("rel", b"d4\n", 4, "not a line"),
    ("rel", b"d4 L1 1 1\n", 4, "not a line"),
    ("rel", b"d4 1\n", 4, "not a line"),
    ("rel", b"d4 L128\n", 4, "level 'L128'"),
    ("rel", b"# d\nd1 L0\n", 5, "judged twice in topic 1"),
    ("res", b"d4 L1\n", 4, "2 fields"),
    ("res", b"d2\n", 4, "stands twice in topic 1"),
    ("labels", b"1,d3,j,good\n", 4, "level 'good' is not an integer"),
    ("labels", b"1,d1,j,0\n", 4, "judged twice"),
    ("labels", b"1,,j,0\n", 4, "is empty or has blanks"),
    ("teams", b"r3\n", 4, "1 cell"),
    ("teams", b"r1,B\n", 4, "two teams"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "lines", "number", "words"), BAD)
def test_bad_lines_are_refused_by_file_and_line(
    tmp_path: Path, name: str, lines: bytes, number: int, words: str
) -> None:
    path = written(tmp_path, name, READERS[name].content + lines)
    with pytest.raises(BadInput) as caught:
        READERS[name].read(path)
    first = str(caught.value).splitlines()[0]
    assert first.startswith(f"{path}:{number}: ")
    assert words in first


# Formats of scores

DATA = Path(__file__).parent / "evaluations"
EXPECTED = "expected.csv"
Cells = dict[tuple[str, ...], float]
"""Collection, metric, run and topic -> score."""


def files_of(layout: str) -> list[Path]:
    paths = sorted(path for path in (DATA / layout).rglob("*") if path.is_file())
    return [path for path in paths if path.name != EXPECTED]


def expected(layout: str) -> Cells:
    header, *rows = csv.reader((DATA / layout / EXPECTED).read_text().splitlines())
    assert header == ["collection", "metric", "run", "topic", "score"]
    return {(*labels,): float(score) for *labels, score in rows}


def read(paths: Any, **options: Any) -> Cells:
    cubes = import_scores(paths, collections=True, notify=lambda _: None, **options)
    return {(name, *labels): score for name, cube in cubes.items() for labels, score in cells(cube)}


def cells(cube: xr.Dataset) -> Any:
    return cube["score"].isel(gain=0, drop=True).to_series().dropna().items()


TEXTS = [layout for layout in DECLARED if files_of(layout)[0].suffix != ".nc"]


def content_of(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def damaged(layout: str, folder: Path, damage: Callable[[bytes], bytes]) -> list[Path]:
    """Return the files of a format with a damage, in folders of the same names."""
    shutil.copytree(DATA / layout, folder / layout)
    paths = [folder / path.relative_to(DATA) for path in files_of(layout)]
    for path in paths:
        path.write_bytes(damage(content_of(path)))
    return [path.rename(str(path).removesuffix(".gz")) for path in paths]


@pytest.mark.parametrize("layout", DECLARED)
def test_a_file_of_each_format_is_found_by_content_and_read(layout: str) -> None:
    paths = files_of(layout)
    assert len(set(expected(layout).values())) > 1
    assert read(paths, layout=layout) == expected(layout)
    is_found = DECLARED[layout].detect is not never
    assert all(DECLARED[layout].detect(File.read(path)) == is_found for path in paths)
    found: Any
    try:
        found = read(paths)
    except BadInput as error:  # of lines that several formats fit
        found = str(error)
    assert found == expected(layout) or f"layout='{layout}'" in found


@pytest.mark.parametrize("encoding", OF_TEXT)
@pytest.mark.parametrize("layout", TEXTS)
def test_formats_are_read_in_every_encoding(tmp_path: Path, layout: str, encoding: str) -> None:
    paths = damaged(layout, tmp_path, lambda content: OF_TEXT[encoding](content.decode()))
    assert read(paths, layout=layout) == expected(layout)


JSON = [layout for layout in TEXTS if ".json" in files_of(layout)[0].name]


@pytest.mark.parametrize("layout", JSON)
def test_files_that_are_cut_off_are_refused(tmp_path: Path, layout: str) -> None:
    paths = damaged(layout, tmp_path, lambda content: content[: len(content) * 2 // 3])
    with pytest.raises(BadInput) as caught:
        read(paths, layout=layout)
    assert caught.value.path in paths


BAD_LINES = {
    "ir_measures": ("3\t0.5", "3 AP 0.5 1"),
    "nev": ("AP=   0.5", "3 AP   0.5", "3 =   0.5", "3 AP= 0.5 1"),
}


@pytest.mark.parametrize(
    ("layout", "line"), [(layout, line) for layout in BAD_LINES for line in BAD_LINES[layout]]
)
def test_lines_of_another_form_are_refused(tmp_path: Path, layout: str, line: str) -> None:
    (path,) = damaged(layout, tmp_path, lambda content: content + f"{line}\n".encode())
    n_lines = content_of(path).count(b"\n")
    with pytest.raises(BadInput, match=rf":{n_lines}: "):
        read(path, layout=layout)


WITHOUT_NUMBERS = {
    "alpaca_eval": "a preference is refused as such",
    "alpaca_battles": "a preference is refused as such",
    "battles": "a winner is a word",
    "arena_hard": "a verdict is a word",
    "lm_eval": "lists are no scores",
    "swebench": "has ids",
}


@pytest.mark.parametrize("layout", [layout for layout in JSON if layout not in WITHOUT_NUMBERS])
def test_a_list_where_a_number_is_expected_is_named(tmp_path: Path, layout: str) -> None:
    score = re.compile(rb': ?(\d+\.\d+|true|"[CPI]")(?=[,}\n])')
    paths = damaged(layout, tmp_path, lambda content: score.sub(b": [1, 2]", content))
    with pytest.raises(BadInput, match=r"(:\d+|row \d+|json): score '\[1, 2\]'") as caught:
        read(paths, layout=layout)
    assert caught.value.path in paths


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget formats that a test declares."""
    monkeypatch.setattr(formats, "DECLARED", formats.DECLARED.copy())
    monkeypatch.setattr(readers, "DECLARED", formats.DECLARED)


@pytest.mark.usefixtures("declared")
def test_a_format_from_outside_without_a_column_is_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"run": ["a"], "item": ["1"], "score": [0.5]})
    reader("mine", "of a test", lambda _: False)(lambda _: frame)
    (tmp_path / "x").write_text("1")
    with pytest.raises(BadInput, match=r"mine .* 'topic'"):
        import_scores(tmp_path / "x", layout="mine")


@pytest.mark.usefixtures("declared")
def test_formats_from_outside_are_tried_first_and_keep_our_names(tmp_path: Path) -> None:
    reader("mine", "of a test", lambda file: file.text.startswith("topic,"))(
        lambda file: [Row(1, "m", "t", [0.5])]
    )
    path = tmp_path / "x.csv"
    path.write_text("topic,a\n1,0.5\n")
    with pytest.raises(BadInput, match=r"x\.csv:1: score '\[0\.5\]'"):
        import_scores(path)
    with pytest.raises(BadName, match="exists in scorecube"):
        reader("trec_eval", "of a test", lambda _: True)(lambda _: [])
    with pytest.raises(BadName):
        reader("auto", "of a test", lambda _: True)(lambda _: [])
