"""Lines of metric, topic and score, as trec_eval, ir_measures and NTCIREVAL print them; gdeval."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from scorecube.collection import names_of_tools as measures
from scorecube.errors import BadInput
from scorecube.ingest.formats import File, reader, summary
from scorecube.ingest.input_files import PathLike, name_in

if TYPE_CHECKING:
    import pandas as pd

    from scorecube.ingest.scores import ScorePart

RANKED = re.compile(r"\S+\s+\S+\s+\S+\s+\d+\s+[-+.\deE]+\s+\S+")
"""A line of a run in the form of TREC."""
RUNID, ALL, MEAN = "runid", "all", "amean"
ENDINGS = r"\.(txt|tsv|eval|out|trec_eval|nev)$"


class Lines(NamedTuple):
    """Lines of a tool: a file holds one run, a score a line.

    line: Regular expression of a line, with the groups metric, topic and score.
    label: Measure of the tool -> its name here.
    counts: Measures that are read only on request.
    comment: Regular expression of lines without a score.
    """

    line: str
    label: Callable[[str], str]
    counts: re.Pattern[str] | None = None
    comment: str = ""

    def fit(self, file: File) -> bool:
        """Return whether the first lines are of this tool."""
        from scorecube.ingest.cells import is_score
        from scorecube.ingest.headings import ROLES, header_word

        if file.kind or file.is_json:
            return False
        texts = [line.strip() for line in file.lines]
        first = [text for text in texts if not re.fullmatch(self.comment, text)][:2]
        found = [re.fullmatch(self.line, text) for text in first]
        return bool(found) and all(
            match is not None
            and (is_score(match["score"]) or match["metric"] == RUNID)
            and header_word(match["metric"]) not in ROLES["topic"]
            for match in found
        )

    def rows(self, lines: Sequence[str]) -> pd.DataFrame:
        """Return metric, topic and score by line; missing where a line is none of this tool."""
        import pandas as pd

        texts = pd.Series(lines, range(1, len(lines) + 1), dtype=object).str.strip()
        return texts[~texts.str.fullmatch(self.comment)].str.extract(f"^(?:{self.line})$")

    def checked(self, file: File) -> pd.DataFrame:
        """Return metric, topic and score of each line of a file (BadInput for another line)."""
        lines = file.text.split("\n")
        rows = self.rows(lines)
        bad = rows.index[rows["score"].isna()]
        if len(bad):
            text = f"{lines[bad[0] - 1].strip()[:60]!r} is not a line of metric, topic and score"
            raise BadInput(text, file.path, bad[0])
        return rows

    def scores(self, file: File) -> ScorePart:
        """Return the scores of a file; lines of all topics are left out."""
        from scorecube.ingest.scores import only_measures

        rows = self.checked(file)
        frame = rows[["metric", "topic", "score"]].assign(run=_runs_of(rows, file.path))
        frame = frame[frame["topic"].notna() & (frame["topic"] != ALL)]
        if not len(frame):
            raise BadInput("no scores of topics in the file; run the tool with -q", file.path)
        if len(unnamed := frame.index[frame["run"].isna()]):
            text = f"a topic after the last of several lines of {RUNID}, by which runs end"
            raise BadInput(f"{text}; import each run by itself", file.path, unnamed[0])
        return only_measures(frame, file.asked.metric, self.label, file.path, self.counts)


def _runs_of(rows: pd.DataFrame, path: PathLike) -> pd.Series:
    """Return the run of each line: of several, a line of runid begins each, or ends its topics."""
    named = rows["score"].where(rows["metric"] == RUNID)
    if named.nunique() < 2:
        return named.bfill().ffill().fillna(name_in(path, ENDINGS))
    return named.bfill() if named.isna().iloc[0] else named.ffill()


TREC_EVAL = Lines(
    r"(?=\S*?[A-Za-z])(?P<metric>\S+)\s+(?P<topic>\S+)\s+(?P<score>\S+)",
    measures.from_trec_eval,
    measures.NO_MEASURES,
)
IR_MEASURES = Lines(
    r"((?P<topic>\S+)\s+)?(?P<metric>(?=\S*[A-Za-z])\S+)\s+(?P<score>\S+)",
    measures.from_pyterrier,
    measures.IR_COUNTS,
)
NEV = Lines(
    r"(?P<topic>\S+)\s+(?P<metric>\S+)=\s+(?P<score>\S+)",
    partial(measures.label_of, tools=(measures.NTCIREVAL,)),
    comment=r"((\S+\s+)?#.*)?",
)


GDEVAL = partial(measures.label_of, tools=(measures.GDEVAL,))


def _is_ir_measures(file: File) -> bool:
    # A line of trec_eval begins with the measure, and may have a topic that is called P or R.
    words = file.lines[0].split() if IR_MEASURES.fit(file) else []
    is_measured = len(words) > 1 and measures.is_measure(words[-2])
    return is_measured and (len(words) == 2 or not measures.is_measure(words[0]))


def _is_trec_eval(file: File) -> bool:
    return TREC_EVAL.fit(file) and not _is_ir_measures(file)


def _has_no_measure(file: File) -> bool:
    """Return whether the first word of no line is a measure: lines may begin with their run."""
    from scorecube.ingest.headings import is_like_measure

    words = {line.split()[0].removeprefix("Z") for line in file.lines}  # Zmap: z-scores of map
    return _is_trec_eval(file) and not any(map(is_like_measure, words))


summary(
    "a run: topic, Q0, document, rank, score, tag",
    "scorecube evaluate scores runs with judgements",
    lambda file: bool(file.lines) and all(RANKED.fullmatch(line.strip()) for line in file.lines),
    "no scores of topics",
)


@reader("run_topic", "lines of run, topic and score, without a header", _has_no_measure)
def read_run_topic(file: File) -> pd.DataFrame:
    """Return scores; never by itself, as the first word may be a metric (trec_eval)."""
    rows = TREC_EVAL.checked(file).rename(columns={"metric": "run"})
    return rows[rows["topic"] != ALL]


@reader("trec_eval", "output of trec_eval -q: lines of metric, topic, score", _is_trec_eval)
def read_trec_eval(file: File) -> ScorePart:
    """Return scores of a run, which runid names, or the file."""
    return TREC_EVAL.scores(file)


@reader("ir_measures", "output of ir_measures -q: lines of topic, metric, score", _is_ir_measures)
def read_ir_measures(file: File) -> ScorePart:
    """Return scores of a run, which the file names."""
    return IR_MEASURES.scores(file)


@reader("nev", "output of NTCIREVAL", NEV.fit)
def read_nev(file: File) -> ScorePart:
    """Return scores of a run, which the file names."""
    return NEV.scores(file)


def _is_gdeval(file: File) -> bool:
    header = file.rows[0] if file.rows else []
    is_headed = header[:2] == [RUNID, "topic"] and len(header) > 2
    return is_headed and all(map(measures.EVALS.fullmatch, header[2:]))


@reader("gdeval", "output of gdeval or ndeval", _is_gdeval)
def read_gdeval(file: File) -> ScorePart:
    """Return scores of runs, without their means."""
    from scorecube.ingest.delimited import CellTable
    from scorecube.ingest.reading import LONG
    from scorecube.ingest.score_tables import read_tables
    from scorecube.ingest.scores import ScorePart

    if file.table.frame.columns[:2].tolist() != [RUNID, "topic"]:
        raise BadInput(f"the header is not {RUNID}, topic and measures", file.path, 1)
    table = file.table.frame[file.table.frame["topic"] != MEAN].rename(columns=GDEVAL)
    if not len(table):
        raise BadInput(f"no scores of topics in the file, only means ({MEAN})", file.path)
    metric = file.asked.metric
    asked = None if metric is None else GDEVAL(metric)
    (part,) = read_tables([CellTable(table, path=file.path)], metric=asked, layout=LONG)
    return ScorePart(part.frame, file.path)
