"""What is fuzzed: one target a reader. A target takes the bytes of an input and may only raise a `ScorecubeError`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scorecube.collection.judgements import Qrels, RunLines
from scorecube.collection.rankings import build_rankings, judge
from scorecube.errors import ScorecubeError
from scorecube.ingest.formats import read_collections
from scorecube.ingest.in_memory import cube_from_scores
from scorecube.ingest.in_memory_runs import runs_of_json
from scorecube.ingest.judge_labels import qrels_of_table
from scorecube.ingest.layouts import BY_NAME
from scorecube.ingest.ntcireval import (
    RankedLists,
    levels_of,
    read_judgements,
    read_lists,
    run_sources,
)
from scorecube.ingest.qrels import parse_level_map, read_qrels
from scorecube.ingest.trec import read_run, read_teams
from scorecube.metrics import gain_values, parse_metric

Target = Callable[[bytes], None]
MEMORY = Path("/dev/shm")
RUN = b"1 Q0 d1 1 3 t\n1 Q0 d2 2 2 t\n2 Q0 d1 1 1 t\n"
QRELS = b"1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n"


@cache
def folder() -> TemporaryDirectory[str]:
    """A folder of this process, in memory where the system has one."""
    return TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)


def write(name: str, content: bytes) -> Path:
    path = Path(folder().name, name)
    path.write_bytes(content)
    return path


@cache
def known_qrels() -> Qrels:
    return read_qrels(write("known-qrels", QRELS))


@cache
def known_run() -> RunLines:
    return read_run(write("known-run", RUN))


def run(data: bytes, **options: Any) -> None:
    """A run file, judged."""
    lines = read_run(write("run", data), with_ranks=options.get("order") == "rank")
    build_rankings([judge(lines, known_qrels(), **options)], known_qrels())


def qrels(data: bytes, dialect: str = "auto") -> None:
    """Judgements, and a run judged by them."""
    judged = read_judgements(write("qrels", data), dialect=dialect)
    build_rankings([judge(known_run(), judged)], judged)


def rel(data: bytes) -> None:
    """A .rel file of NTCIREVAL."""
    levels_of(read_judgements(write("0001.rel", data)))


def lists(data: bytes, suffix: str) -> None:
    """A ranked list of NTCIREVAL."""
    path = write(f"1.r{suffix}", data)
    for source in run_sources([path], ["1"]):
        if isinstance(source, RankedLists):
            judge(read_lists(source, judged=lambda: levels_of(known_qrels())), known_qrels())


def labels(data: bytes) -> None:
    """Judgements with a header, or as JSON lines."""
    qrels_of_table(write("labels", data))


def predictions(data: bytes) -> None:
    """A run in JSON, or predictions of MTEB."""
    for lines in runs_of_json(write("run.json", data), ["1", "2"]):
        judge(lines, known_qrels())


def teams(data: bytes) -> None:
    read_teams(write("teams.csv", data))


def intents(data: bytes) -> None:
    """Probabilities of intents."""
    judged = write("intents", b"1 1 d1 1\n1 2 d1 0\n2 1 d1 1\n")
    read_qrels(judged, dialect="trec-intents", intents=write("intents.csv", data))


def scores(data: bytes, layout: str, name: str, transpose: bool = False) -> None:
    """A file of scores of one layout."""
    reading = read_collections([write(name, data)], layout=layout, transpose=transpose)
    for by_gain in reading.collections.values():
        for matrices in by_gain.values():
            cube_from_scores(matrices)


def objects(data: bytes) -> None:
    """Nested dictionaries of scores, as of pytrec_eval and ranx, written as JSON."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    cube_from_scores(value)


def words(data: bytes) -> None:
    """Texts of options: a level map, a metric, a gain setting."""
    text = data.decode("utf-8", "replace")
    for parse in (parse_level_map, parse_metric, partial(gain_values, n_levels=2)):
        with allowed():
            parse(text)


@contextmanager
def allowed() -> Iterator[None]:
    """Let a `ScorecubeError` pass whose message can be shown in both ways."""
    try:
        yield
    except ScorecubeError as error:
        if not (str(error) and error.message()):
            raise RuntimeError(f"{error!r} has no message") from None


TARGETS: dict[str, Target] = {
    "run": run,
    "run-rank": partial(run, order="rank", duplicates="first"),
    "qrels": qrels,
    "qrels-ntcir-grades": partial(qrels, dialect="ntcir-grades"),
    "qrels-trec-intents": partial(qrels, dialect="trec-intents"),
    "qrels-trec-classes": partial(qrels, dialect="trec-classes"),
    "rel": rel,
    "res": partial(lists, suffix=".res"),
    "lab": partial(lists, suffix=".lab"),
    "teams": teams,
    "intents": intents,
    "scores": partial(scores, layout="auto", name="ap.csv"),
    "matrix": partial(scores, layout="matrix", name="ap.csv"),
    "matrix-transposed": partial(scores, layout="matrix", name="ap.csv", transpose=True),
    "long": partial(scores, layout="long", name="ap.csv"),
    **{
        name: partial(scores, layout=name, name="samples_t_2026-11-25T00-00-00.json")
        for name in BY_NAME
    },
    "labels": labels,
    "predictions": predictions,
    "jsonl": partial(scores, layout="long", name="r.jsonl"),
    "ndeval": partial(scores, layout="ndeval", name="r.csv"),
    "gdeval": partial(scores, layout="gdeval", name="r.csv"),
    "trec_eval": partial(scores, layout="trec_eval", name="r.eval"),
    "ir_measures": partial(scores, layout="ir_measures", name="r.tsv"),
    "nev": partial(scores, layout="nev", name="r.nev"),
    "objects": objects,
    "words": words,
}


def run_target(name: str, data: bytes) -> None:
    """Run a target on an input; only an error that is no `ScorecubeError` passes."""
    with allowed():
        TARGETS[name](data)
