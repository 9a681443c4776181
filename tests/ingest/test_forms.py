"""One table of scores in every form, in every encoding, with every damage: one cube, bit by bit, or a refusal with its place.

A form writes the scores of two runs on four topics by two metrics. Whatever the encoding, all give one cube. A damage of the last score, or of the
last file, leaves that cube, or a gap in it, or is refused with file and line; then nothing is written.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.errors import BadInput

if TYPE_CHECKING:
    from tests.conftest import Cli

METRICS, RUNS = ("AP", "P@5"), ("bm25", "dense")
Rows = list[tuple[str, str, Any, Any]]
"""Run, topic, and its scores."""
ROWS: Rows = [
    (run, f"q{k}", ap, 0.2 if ap else 0.0)
    for run, scores in (("bm25", (1.0, 0.5, 0.0, 0.25)), ("dense", (0.5, 1.0, 0.0, 0.25)))
    for k, ap in enumerate(scores, 1)
]
Files = dict[str, str]
"""Name -> text."""


def lines(rows: Any, mark: str = ",") -> str:
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    return "".join(mark.join(row) + "\n" for row in texts)


def records(rows: Rows) -> list[dict[str, Any]]:
    return [dict(zip(("run", "topic", *METRICS), row, strict=True)) for row in rows]


def of_run(rows: Rows, run: str) -> Rows:
    return [row for row in rows if row[0] == run]


def matrices(rows: Rows) -> Files:
    """Write a file a metric, with a row a topic; a topic that comes again has a row of its own."""
    frame = pd.DataFrame(rows, columns=["run", "topic", *METRICS])
    frame["again"] = frame.groupby(["run", "topic"]).cumcount()
    labels = pd.MultiIndex.from_frame(frame[["again", "topic"]].drop_duplicates())
    found = {}
    for metric in METRICS:
        cells = frame.astype(object).pivot(index=labels.names, columns="run", values=metric)
        table = cells.where(cells.notna(), None).reindex(labels).reset_index("topic")
        found[f"{metric}.csv"] = lines([["topic", *RUNS], *table.to_numpy().tolist()])
    return found


def dictionary(rows: Rows) -> dict[str, Any]:
    return {run: {row[1]: dict(zip(METRICS, row[2:], strict=True)) for row in of_run(rows, run)} for run in RUNS}  # fmt: skip


def trec_eval(rows: Rows) -> Files:
    def scores(run: str) -> list[Any]:
        return [(name, row[1], row[k]) for row in of_run(rows, run) for k, name in ((2, "map"), (3, "P_5"))]  # fmt: skip

    return {f"{run}.eval": lines(scores(run), "\t") for run in RUNS}


def ranked(rows: Rows) -> Files:
    """Write judgements, and runs whose only relevant document stands at rank 1 / AP."""
    files = {"qrels": "".join(f"q{k} 0 yes 1\n" for k in (1, 2, 3, 4))}
    for run in RUNS:
        found: list[Any] = []
        for _, topic, ap, _ in of_run(rows, run):
            documents = [f"no{k}" for k in range(1, 5)]
            if ap:
                documents.insert(round(1 / ap) - 1, "yes")
            found += [(topic, "Q0", name, k, 9 - k, run) for k, name in enumerate(documents)]
        files[f"{run}.run"] = lines(found, " ")
    return files


TABLES: dict[str, Callable[[Rows], Files]] = {
    "long": lambda rows: {"s.csv": lines([("run", "topic", "metric", "score"), *((*row[:2], m, row[k]) for row in rows for k, m in enumerate(METRICS, 2))])},
    "metrics": lambda rows: {"s.csv": lines([("run", "topic", *METRICS), *rows])},
    "matrix": matrices,
    "by file": lambda rows: {f"{run}.csv": lines([("qid", *METRICS), *(row[1:] for row in of_run(rows, run))]) for run in RUNS},
}  # fmt: skip
FILES = TABLES | {
    "tsv": lambda rows: {"s.tsv": lines([("run", "topic", *METRICS), *rows], "\t")},
    "list": lambda rows: {"s.json": json.dumps(records(rows), indent=1)},
    "lines": lambda rows: {"s.jsonl": "".join(json.dumps(row) + "\n" for row in records(rows))},
    "nested": lambda rows: {"s.json": json.dumps(dictionary(rows), indent=1)},
    "trec_eval": trec_eval,
    "ranked": ranked,
}
OBJECTS: dict[str, Callable[[Rows], Any]] = {
    "frame": lambda rows: pd.DataFrame(records(rows)),
    "frame with labels": lambda rows: pd.DataFrame(records(rows)).set_index(["run", "topic"]),
    "frame of other types": lambda rows: pd.DataFrame(records(rows)).astype({"run": "category", "AP": object}),
    "dictionary": dictionary,
}  # fmt: skip


def quoted(text: str) -> str:
    return "".join('"' + line.replace(",", '","') + '"\n' for line in text.splitlines())


OF_TEXT: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, big end first": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "UTF-32": lambda text: text.encode("utf-32"),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "no end of the last line": lambda text: text.rstrip("\n").encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
}
OF_TABLES: dict[str, Callable[[str], bytes]] = {
    "semicolons": lambda text: text.replace(",", ";").encode(),
    "tabs": lambda text: text.replace(",", "\t").encode(),
    "decimal commas": lambda text: text.replace(",", ";").replace(".", ",").encode(),
    "quotes": lambda text: quoted(text).encode(),
    "sep=": lambda text: ("sep=;\n" + text.replace(",", ";")).encode(),
    "comments": lambda text: ("# by hand\n" + text + "# the end\n").encode(),
    "blanks": lambda text: text.replace(",", " , ").replace("\n", "\n\n").encode(),
}
ENCODED = [(form, how) for form in FILES for how in OF_TEXT] + [(form, how) for form in TABLES for how in OF_TABLES]  # fmt: skip


def state_of(cube: xr.Dataset) -> tuple[dict[str, list[Any]], bytes]:
    """Return the labels and the bits of a cube."""
    labels = {name: cube[name].values.tolist() for name in ("metric", "gain", "run", "topic", "team")}  # fmt: skip
    return labels, cube["score"].transpose("metric", "gain", "run", "topic").values.tobytes()


def expected(rows: Rows) -> Any:
    """Return the state of a cube that no file was read for."""
    frame = pd.DataFrame(rows, columns=["run", "topic", *METRICS])
    frames = {m: frame.pivot(index="run", columns="topic", values=m).astype(float) for m in METRICS}
    return state_of(sc.cube_from_scores(frames))


def write(folder: Path, files: Files, how: Callable[[str], bytes] = str.encode) -> list[Path]:
    for name, text in files.items():
        (folder / name).write_bytes(how(text))
    return [folder / name for name in files]


def read(scores: Any) -> Any:
    """Return the state of what files, the first of which may hold judgements, or an object give."""
    if isinstance(scores, list) and scores[0].name == "qrels":
        rankings = sc.read_rankings(scores[1:], scores[0], workers=1)
        return state_of(sc.evaluate(rankings, [*METRICS]))
    return state_of(sc.import_scores(scores))


@pytest.mark.parametrize(("form", "how"), ENCODED)
def test_every_form_in_every_encoding_is_one_cube(tmp_path: Path, form: str, how: str) -> None:
    paths = write(tmp_path, FILES[form](ROWS), (OF_TEXT | OF_TABLES)[how])
    assert read(paths) == expected(ROWS)


@pytest.mark.parametrize("form", OBJECTS)
def test_objects_are_the_same_cube(form: str) -> None:
    scores = OBJECTS[form](ROWS)
    assert read(scores) == state_of(sc.cube_from_scores(scores)) == expected(ROWS)


def test_parquet_is_the_same_cube_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.parquet"
    path.write_bytes(b"PAR1 and so on")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        patch.setitem(sys.modules, "pyarrow.parquet", None)
        with pytest.raises(BadInput, match="pyarrow"):
            read(path)
    pytest.importorskip("pyarrow")
    stream = io.BytesIO()
    pd.DataFrame(records(ROWS)).to_parquet(stream)
    path.write_bytes(stream.getvalue())
    assert read(path) == expected(ROWS)
    path.write_bytes(stream.getvalue()[:-200])
    with pytest.raises(BadInput) as caught:
        read(path)
    assert caught.value.path == path


# Damages

LAST, FILE, NOWHERE = "line of the score", "file", "no place"
SAME, GAP = "the same cube", "a gap"


def with_last(*, topic: str = "q4", ap: Any = 0.25) -> Rows:
    return [*ROWS[:-1], ("dense", topic, ap, 0.2)]


BINARY: Rows = [(run, topic, float(ap > 0), p5) for run, topic, ap, p5 in ROWS[:-1]]
MEANS: Rows = [(run, "all", 0.4, 0.2) for run in RUNS]
OF_ROWS: dict[str, tuple[Rows, str]] = {
    "a second score": ([*ROWS, ("dense", "q4", 0.5, 0.2)], LAST),
    "no row": (ROWS[:-1], GAP),
    "text": (with_last(ap="good"), LAST),
    "an empty cell": (with_last(ap=None), GAP),
    "NaN": (with_last(ap=float("nan")), GAP),
    "infinity": (with_last(ap=float("inf")), LAST),
    "a code": ([*BINARY, ("dense", "q4", -1.0, 0.2)], NOWHERE),
    "a list": (with_last(ap=[0.25]), LAST),
    "rows of means": ([*ROWS[:4], MEANS[0], *ROWS[4:], MEANS[1]], SAME),
    "a deviation": (with_last(ap="0.25 \u00b1 0.1"), LAST),
    "no topic": (with_last(topic=""), LAST),
}
OF_TEXTS: dict[str, tuple[Callable[[str], str], str]] = {
    "cut off": (lambda text: text[: max(map(text.rstrip("\n}] ").rfind, ", \t"))], LAST),
    "a cell more behind a blank line": (lambda text: "\n\n".join([text, text.splitlines()[-1] + ("\tx" if "\t" in text else " x" if "Q0" in text else ",x")]), LAST),
    "an open quote": (lambda text: text[:-1] + ',"x\n', LAST),
    "a second header": (lambda text: text + text.partition("\n")[0] + "\n", LAST),
    "a zero byte": (lambda text: text[:-4] + "\0" + text[-4:], FILE),
    "a pointer": (lambda _: "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", FILE),
    "nothing": (lambda _: "", FILE),
}  # fmt: skip
OF_KEYS = ("nested", "dictionary")
"""Forms that have no second score."""
DAMAGED = [
    (form, damage)
    for form in (*FILES, *OBJECTS)
    for damage in (*OF_ROWS, *OF_TEXTS)
    if not (form in OF_KEYS and damage == "a second score")
    and not (form in OBJECTS and damage in OF_TEXTS)
    and not (form == "ranked" and damage in OF_ROWS)
]


def place_of(form: str, damage: str, files: Files, place: str) -> tuple[str | None, int | None]:
    """Return the file and the line that a refusal names; JSON as a whole has rows and keys instead."""
    if place == NOWHERE or form in OBJECTS:
        return None, None
    name = list(files)[0 if form == "matrix" and damage in OF_ROWS else -1]
    if place == FILE:
        return name, None
    n_lines = len(files[name].splitlines())
    if damage in OF_TEXTS:
        return name, n_lines
    lines_of = {"long": n_lines - 1, "trec_eval": n_lines - 1, "list": None, "nested": None}
    return name, lines_of.get(form, n_lines)


@pytest.mark.parametrize(("form", "damage"), DAMAGED)
def test_a_damage_leaves_a_gap_or_is_refused_with_its_place(
    tmp_path: Path, scorecube: Cli, form: str, damage: str
) -> None:
    rows, place = OF_ROWS.get(damage) or (ROWS, OF_TEXTS[damage][1])
    if (form, damage) == ("trec_eval", "an empty cell"):
        place = LAST
    files = FILES[form](rows) if form in FILES else {}
    if damage in OF_TEXTS:
        last = list(files)[-1]
        files[last] = OF_TEXTS[damage][0](files[last])
    scores = write(tmp_path, files) or OBJECTS[form](rows)
    if place in (SAME, GAP):
        assert read(scores) == expected(ROWS if place == SAME else rows)
        return
    with pytest.raises(BadInput) as caught:
        read(scores)
    path = caught.value.path and Path(caught.value.path).name
    assert (path, caught.value.line) == place_of(form, damage, files, place)
    assert damage != "a code" or "no_score" in str(caught.value)
    if place == LAST and form in ("dictionary", "nested") and damage in OF_ROWS:
        assert "dense" in str(caught.value) or "topic is missing" in str(caught.value)
    elif place == LAST and (not files or (form == "list" and damage in OF_ROWS)):
        assert re.search(r"(^|s\.json: )row (8|9): ", str(caught.value))
    if files:
        words = ["--runs", *scores[1:], "--qrels", scores[0]] if form == "ranked" else scores
        study = tmp_path / "s.zarr"
        command = "evaluate" if form == "ranked" else "import"
        refused = scorecube(command, study, "--name", "x", *words)
        assert (refused.status, study.exists()) == (1, False)
        assert refused.stderr.splitlines()[-1].startswith("error: ")
