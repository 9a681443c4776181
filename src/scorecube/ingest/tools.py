"""Readers of the formats of this package, detection of formats, and reading of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import pandas as pd

from scorecube.errors import BadInput, BadPlan, option
from scorecube.ingest import formats, logs
from scorecube.ingest import measure_names as measures
from scorecube.ingest.files import PathLike, is_json, name_in
from scorecube.ingest.formats import AUTO, BUILT_IN, LONG, REGISTERED, File, Format, layouts
from scorecube.ingest.objects import scores_of_nested
from scorecube.ingest.roles import LATER_TOPICS, PYTERRIER_RUN, ROLES, RUNS, header_word, no_table
from scorecube.ingest.scores import SCORE, Part, only_measures
from scorecube.ingest.tables import is_score
from scorecube.ingest.tabular import is_headerless, is_matrix, read_long, read_matrix

RUNID, ALL, MEAN = "runid", "all", "amean"


class OneRun(NamedTuple):
    """A format whose files hold one run, a score a line; lines of ``all`` topics are left out.

    Regular expressions of a line (groups metric, topic, score) and of lines without a score; the
    others are as of `only_measures`.
    """

    line: str
    label: Callable[[str], str]
    counts: re.Pattern[str] | None = None
    comment: str = ""

    def fits(self, file: File) -> bool:
        """Return whether the first lines are of this format."""
        rows = self.rows(file.lines)[:2].fillna("?")
        return bool(len(rows)) and all(
            (is_score(score) or metric == RUNID) and header_word(metric) not in ROLES["topic"]
            for metric, score in zip(rows["metric"], rows["score"], strict=True)
        )

    def rows(self, lines: Sequence[str]) -> pd.DataFrame:
        """Return metric, topic and score by line; missing where a line is none of this format."""
        texts = pd.Series(lines, range(1, len(lines) + 1), dtype=object).str.strip()
        return texts[~texts.str.fullmatch(self.comment)].str.extract(f"^(?:{self.line})$")

    def read(self, file: File, metric: str | None) -> Part:
        """Return the scores of a file."""
        lines = file.text.split("\n")
        rows = self.rows(lines)
        if len(bad := rows.index[rows["score"].isna()]):
            text = f"{lines[bad[0] - 1].strip()[:60]!r} is not a line of metric, topic and score"
            raise BadInput(text, file.path, bad[0])
        named = rows["score"][rows["metric"] == RUNID].tolist()
        run = named[-1] if named else name_in(file.path, r"\.(txt|tsv|eval|out|trec_eval|nev)$")
        rows = rows[rows["topic"].notna() & (rows["topic"] != ALL)]
        if not len(rows):
            raise BadInput("no scores of topics in the file; run the tool with -q", file.path)
        frame = rows[["metric", "topic", "score"]].assign(run=run)
        return only_measures(frame, metric, self.label, file.path, self.counts)


TREC_EVAL = OneRun(
    r"(?=\S*?[A-Za-z])(?P<metric>\S+)\s+(?P<topic>\S+)\s+(?P<score>\S+)",
    measures.from_trec_eval,
    measures.NO_MEASURES,
)
IR_MEASURES = OneRun(
    rf"((?P<topic>\S+)\s+)?(?P<metric>{measures.IR_SHAPE})\s+(?P<score>\S+)",
    measures.from_ir_measures,
    measures.IR_COUNTS,
)
NEV = OneRun(
    r"(?P<topic>\S+)\s+(?P<metric>\S+)=\s+(?P<score>\S+)",
    measures.from_ntcireval,
    comment=r"((\S+\s+)?#.*)?",
)


def _is_ir_measures(file: File) -> bool:
    # A line of trec_eval begins with the measure, and may have a topic that is called P or R.
    first = file.lines[0].split()
    return IR_MEASURES.fits(file) and (len(first) == 2 or not measures.is_measure(first[0]))


def _read_gdeval(file: File, metric: str | None) -> Part:
    """Return the scores of gdeval or ndeval: a table of run, topic and measures."""
    if file.table.columns[:2].tolist() != [RUNID, "topic"]:
        raise BadInput(f"the header is not {RUNID}, topic and measures", file.path, 1)
    table = file.table[file.table["topic"] != MEAN].rename(columns=measures.from_eval)
    if not len(table):
        raise BadInput(f"no scores of topics in the file, only means ({MEAN})", file.path)
    asked = None if metric is None else measures.from_eval(metric)
    return Part(read_long(table, file.path, asked).frame, file.path)


def _is_gdeval(file: File) -> bool:
    header = file.rows[0] if file.rows else []
    return (
        header[:2] == [RUNID, "topic"]
        and len(header) > 2
        and all(map(measures.EVALS.fullmatch, header[2:]))
    )


def _read_table(file: File, metric: str | None, chosen: Mapping[str, str] | None = None) -> Part:
    return read_long(file.table, file.path, metric, chosen)


def _is_table(file: File) -> bool:
    if not file.text or is_json(file.text):
        return True
    words = {header_word(cell) for cell in file.rows[0]} if file.rows else set()
    topics = (ROLES["topic"] | ROLES["collection"]).union(*LATER_TOPICS)
    return bool(words & {*RUNS, PYTERRIER_RUN} and words & topics)


def _read_nested(file: File, metric: str | None) -> Part:
    """Return the scores of a run, which the file is named after, or of runs by name."""
    inner = [value for part in file.nested.values() for value in part.values()]
    is_one = not any(isinstance(value, dict) for value in inner)
    runs = {name_in(file.path, r"\.[^.]*$"): file.nested} if is_one else file.nested
    return scores_of_nested(runs, metric, file.path)


def _has(*fields: frozenset[str]) -> Callable[[File], bool]:
    """Return whether the first object of a file has all of some fields."""
    return lambda file: any(some <= file.names for some in fields)


FORMATS = {
    name: Format(name, BUILT_IN[name], fits, read)
    for name, fits, read in (
        (formats.MATRIX, lambda file: is_matrix(file.rows), read_matrix),
        (
            formats.NUMBERS,
            lambda file: is_headerless(file.rows),
            partial(read_matrix, has_header=False),
        ),
        (LONG, _is_table, _read_table),
        ("gdeval", _is_gdeval, _read_gdeval),
        ("trec_eval", TREC_EVAL.fits, TREC_EVAL.read),
        ("ir_measures", _is_ir_measures, IR_MEASURES.read),
        ("nev", NEV.fits, NEV.read),
        ("pytrec_eval", lambda file: bool(file.nested), _read_nested),
        ("every_eval_ever", _has(logs.EVERY_EVAL_EVER), logs.read_every_eval_ever),
        ("lm_eval", _has(logs.LM_EVAL, logs.OLD_FIELDS), logs.read_lm_eval),
        ("inspect", _has(logs.INSPECT), logs.read_inspect),
        ("autojudge", logs.is_autojudge, logs.read_autojudge),
    )
}
"""Name -> format of this package."""


def load_format(name: str) -> Format:
    """Return the format of a name of `layouts` (BadPlan for another one)."""
    named = FORMATS | REGISTERED
    if name not in named:
        choices = ", ".join([AUTO, *layouts()])
        raise BadPlan(f"no layout {name!r}; known: {choices}", option="layout")
    return named[name]


def detect(file: File) -> str:
    """Return the name of a file's format, found from its content (BadInput for none)."""
    for name in reversed(list(layouts())) if file.text else [LONG]:
        if load_format(name).detect(file):
            return name
    text = f"no known layout fits the first lines; choose the {option('layout')}"
    raise BadInput(text, file.path, option="layout")


def read_collections(
    paths: Sequence[PathLike],
    *,
    layout: str = AUTO,
    metric: str | None = None,
    chosen: Mapping[str, str] | None = None,
) -> list[Part]:
    """Read files of per-topic scores that other tools computed, of one or several collections.

    layout: Name of the format, see `layouts`; ``auto`` detects it from the content of each file.
    metric: Name of the metric where a file does not name it, else the only metric to read, by its
        name here or in the tool.
    chosen: Role (run, topic, collection or seed) -> its column, of tables with named columns.
    """
    parts = []
    for path in paths:
        file = File.read(path)
        name = detect(file) if layout == AUTO else layout
        if chosen and name != LONG:
            raise no_table(chosen, f"the layout {name}")
        scores = load_format(name).read(file, metric, *[chosen] * (name == LONG))
        if not isinstance(scores, Part):
            if lacking := [role for role in ("run", "topic", SCORE) if role not in scores]:
                raise BadInput(f"the layout {name} returns no column {lacking[0]!r}", path)
            scores = Part(scores.assign(metric=scores.get("metric", metric or SCORE)), path)
        parts.append(scores)
    return parts
