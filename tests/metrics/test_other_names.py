"""Each row of the table of names of other tools, computed by that tool, or by its formula, on one ranking.

The ranking has graded levels, ties, documents that are not judged, and a list that is shorter than the cut-off. trec_eval (pytrec_eval), ir_measures,
gdeval and pyNTCIREVAL compute here. ranx and BEIR are plain formulas, of ranx 0.3.21 and BEIR 2.2.0: `ranx` and `beir` in an environment of their own
gave the same numbers for every row, each on its own order of ties. MTEB takes pytrec_eval's measures, and BEIR's MRR and hit rate.
"""

from __future__ import annotations

import math
import random
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from pyNTCIREVAL import Labeler
from pyNTCIREVAL import metrics as ntcir

import scorecube as sc
from scorecube.collection import names_of_tools
from scorecube.collection.metrics_of_tools import read_metric
from scorecube.collection.names_of_tools import Row, from_ir_measures, own_name
from scorecube.errors import BadName
from scorecube.ingest.readers import lines

K = 5
ROWS = names_of_tools.rows()
LEVELS = [0, 1, 2, 3]
Scores = dict[str, float]


def _example() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return judgements and a run: 8 topics, ties, unjudged documents, one list of 3 documents."""
    chance = random.Random(5)
    documents = [f"d{k:02d}" for k in range(40)]
    qrels, run = {}, {}
    for topic in map(str, range(1, 9)):
        qrels[topic] = {name: chance.choice([0, 0, 0, 1, 2, 3]) for name in documents[:25]}
        length = 3 if topic == "3" else 30
        run[topic] = {name: chance.randint(1, 12) / 4 for name in chance.sample(documents, length)}
    return qrels, run


QRELS, RUN = _example()


def ranked(topic: str) -> list[str]:
    """Return the documents of a topic in rank order, as trec_eval orders ties."""
    found = RUN[topic]
    return sorted(found, key=lambda name: (found[name], name), reverse=True)


def of_trec_eval(name: str) -> Scores:
    stem, _, cut = name.rpartition("_")
    asked = f"{stem}.{cut}" if cut == str(K) else name
    found = pytrec_eval.RelevanceEvaluator(QRELS, {asked}).evaluate(RUN)
    return {topic: values[name] for topic, values in found.items()}


def of_ir_measures(name: str) -> Scores:
    if name.startswith("RBP"):  # of cwl_eval
        depth = K if "@" in name else 10**6
        return plain(lambda levels, counts: 0.2 * sum(0.8**r for r, n in enumerate(levels[:depth]) if n > 0))  # fmt: skip
    quoted = name.replace("=log2", "='log2'").replace("=exp-log2", "='exp-log2'")
    measure = [ir_measures.parse_measure(quoted)]
    found = {}
    for topic in RUN:
        with suppress(ZeroDivisionError):  # Accuracy where the first documents are all relevant
            for one in ir_measures.iter_calc(measure, {topic: QRELS[topic]}, {topic: RUN[topic]}):
                found[topic] = one.value
    return found


def plain(formula: Callable[[list[int], list[int]], float]) -> Scores:
    """Apply a formula to the levels in rank order, -1 for not judged, and all levels of the topic."""
    return {topic: formula([QRELS[topic].get(name, -1) for name in ranked(topic)], [*QRELS[topic].values()]) for topic in RUN}  # fmt: skip


def hits(levels: Sequence[int], k: int = 10**6) -> int:
    return sum(level > 0 for level in levels[:k])


def gain_at(levels: Sequence[int], k: int, power: bool = False) -> float:
    gains = [2 ** max(n, 0) - 1 if power else max(n, 0) for n in levels[:k]]
    return sum(gain / math.log2(r + 2) for r, gain in enumerate(gains))


def precision_sum(levels: Sequence[int], k: int = 10**6) -> float:
    return sum(hits(levels, r + 1) / (r + 1) for r, n in enumerate(levels[:k]) if n > 0)


def first(levels: Sequence[int], k: int = 10**6) -> float:
    return next((1 / (r + 1) for r, n in enumerate(levels[:k]) if n > 0), 0.0)


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision else 0.0


def ideal(levels: Sequence[int]) -> list[int]:
    return sorted(levels, reverse=True)


def bpref(levels: list[int], judged: list[int]) -> float:
    relevant = hits(judged)
    least = min(relevant, len(judged) - relevant)
    seen = [n for n in levels if n >= 0]
    above = [min(seen[:r].count(0), relevant) for r, n in enumerate(seen) if n > 0]
    return sum(1 - n / least for n in above) / relevant


RANX: dict[str, Callable[[list[int], list[int]], float]] = {
    "map": lambda n, judged: precision_sum(n) / hits(judged),
    "map@k": lambda n, judged: precision_sum(n, K) / hits(judged),
    "bpref": bpref,
    "hit_rate@k": lambda n, _: float(hits(n, K) > 0),
    "ndcg": lambda n, judged: gain_at(n, 99) / gain_at(ideal(judged), 99),
    "ndcg@k": lambda n, judged: gain_at(n, K) / gain_at(ideal(judged), K),
    "ndcg_burges": lambda n, judged: gain_at(n, 99, True) / gain_at(ideal(judged), 99, True),
    "ndcg_burges@k": lambda n, judged: gain_at(n, K, True) / gain_at(ideal(judged), K, True),
    "precision@k": lambda n, _: hits(n, K) / K,
    "recall@k": lambda n, judged: hits(n, K) / hits(judged),
    "r-precision": lambda n, judged: hits(n, hits(judged)) / hits(judged),
    "mrr": lambda n, _: first(n),
    "mrr@k": lambda n, _: first(n, K),
    "hits@k": lambda n, _: float(hits(n, K)),
    "f1@k": lambda n, judged: f1(hits(n, K) / K, hits(n, K) / hits(judged)),
    "dcg@k": lambda n, _: gain_at(n, K),
    "rbp.k": lambda n, _: 0.5 * sum(0.5**r * max(level, 0) for r, level in enumerate(n)),
}
BEIR: dict[str, Callable[[list[int], list[int]], float]] = {
    "Accuracy@k": lambda n, _: float(hits(n, K) > 0),
    "MRR@k": lambda n, _: first(n, K),
    "R_cap@k": lambda n, judged: hits(n, K) / min(hits(judged), K),
}
LENSKIT = {"RecipRank": lambda n, _: first(n)}
OF_TREC_EVAL = {"MAP": "map_cut", "NDCG": "ndcg_cut", "P": "P", "Recall": "recall", "precision": "P"}  # fmt: skip


def of_beir(row: str) -> Scores:
    """Compute a measure of BEIR, or of MTEB under BEIR's name."""
    stem = row.removesuffix("@k")
    return plain(BEIR[row]) if row in BEIR else of_trec_eval(f"{OF_TREC_EVAL[stem]}_{K}")


def of_mteb(row: str) -> Scores:
    stem = row.removesuffix("_at_k")
    named = {"hit_rate": "Accuracy", "recall": "Recall"}.get(stem, stem.upper())
    return of_beir(("P" if stem == "precision" else named) + "@k")


def of_gdeval(name: str, folder: Path) -> Scores:
    if shutil.which("perl") is None:
        pytest.skip("gdeval is a Perl script, and there is no perl")
    script = Path(str(ir_measures.__file__)).parent / "bin" / "gdeval.pl"
    judged = "".join(f"{t} 0 {d} {n}\n" for t, levels in QRELS.items() for d, n in levels.items())
    listed = "".join(f"{t} Q0 {d} 1 {s} me\n" for t, found in RUN.items() for d, s in found.items())
    (folder / "qrels").write_text(judged)
    (folder / "run").write_text(listed)
    words: list[str | Path] = ["perl", script, folder / "qrels", folder / "run", str(K)]
    done = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    header, *rows = [line.split(",") for line in done.split()]
    column = header.index(name)
    return {row[1]: float(row[column]) for row in rows if row[1] != "amean"}


def of_ntcireval(name: str) -> Scores:
    found = {}
    for topic in RUN:
        labeler = Labeler(QRELS[topic], truncate=K if name in ("ERR@k", "RBP@k") else None)
        labelled = labeler.label(ranked(topic))
        of = labeler.compute_per_level_doc_num(len(LEVELS)), LEVELS[1:]
        makes: dict[str, Any] = {
            "O-measure": lambda of=of: ntcir.OMeasure(*of, 1.0), "P-plus": lambda of=of: ntcir.PPlusMeasure(*of, 1.0),
            "Q-measure": lambda of=of: ntcir.QMeasure(*of, 1.0), "AP@k": lambda of=of: ntcir.AP(*of, K),
            "Q@k": lambda of=of: ntcir.QMeasure(*of, 1.0, K), "P@k": lambda: ntcir.Precision(K),
            "ERR@k": lambda of=of: ntcir.ERR(*of), "nERR@k": lambda of=of: ntcir.nERR(*of, K), "Hit@k": lambda: ntcir.Hit(K),
            "RBP@k": lambda of=of: ntcir.RBP(*of, 0.95), "MSnDCG@k": lambda of=of: ntcir.MSnDCG(*of, K),
            "nDCG@k": lambda of=of: ntcir.nDCG(*of, 2.0, K),
            "NCUgu,P": lambda of=of: ntcir.NCUguP(*of, of[1]), "NCUgu,BR": lambda of=of: ntcir.NCUguBR(*of, of[1], 1.0),
            "NCUrb,P": lambda of=of: ntcir.NCUrbP(*of, 0.95), "NCUrb,BR": lambda of=of: ntcir.NCUrbBR(*of, 0.95, 1.0),
        }  # fmt: skip
        found[topic] = float(makes[name]().compute(labelled))
    return found


def cut_at(name: str, k: int) -> str:
    """Return a name of the table with a cut-off."""
    return name[:-1] + str(k) if name.endswith(("@k", "_k", ".k")) else name


def called_here(row: Row, k: int) -> str:
    """Return the metric of a row, with a cut-off if the tool's has one."""
    mark = "_" if row.metric == names_of_tools.BY_R else "@"
    inside = f"({row.settings})" if row.settings else ""
    cut = f"{mark}{k}" if row.name.endswith(("@k", "_k")) else ""
    return f"{row.metric}{inside}{cut}"


def theirs(row: Row, folder: Path) -> Scores:
    """Compute the metric of a row with its tool."""
    written = cut_at(row.name, K)
    if row.tool == "gdeval":
        return of_gdeval(written, folder)
    if row.tool in ("trec_eval", "ir_measures"):
        return {"trec_eval": of_trec_eval, "ir_measures": of_ir_measures}[row.tool](written)
    if row.tool == "ranx":
        return plain(RANX[row.name])
    if row.tool == "LensKit":
        return plain(LENSKIT[row.name])
    return {"BEIR": of_beir, "MTEB": of_mteb, "NTCIREVAL": of_ntcireval}[row.tool](row.name)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.tool} {row.name}")
def test_a_row_says_whether_it_is_the_same_number(row: Row, tmp_path: Path) -> None:
    is_ascending = (row.tool, row.name) == ("ir_measures", "RR@k")  # there, of equal scores
    order = "score-docno-asc" if is_ascending else "score"
    cube = sc.evaluate(sc.read_rankings({"me": RUN}, QRELS, order=order), [called_here(row, K)])
    here = cube["score"].values[0, 0, 0]
    found = theirs(row, tmp_path)
    there = np.array([found.get(str(topic), 0.0) for topic in cube["topic"].values])
    printed = 5.1e-6 if row.settings.startswith("form") else 1e-9  # of gdeval
    assert np.ptp(there) > 0.01
    assert np.allclose(here, there, rtol=0, atol=printed) == (not row.differs)


def test_no_name_stands_twice() -> None:
    keys = [(row.tool, row.name) for row in ROWS]
    assert len(keys) == len(set(keys))


READ_BY: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(
        ("trec_eval", "ranx", "BEIR", "MTEB", "LensKit"), names_of_tools.from_trec_eval
    ),
    "ir_measures": names_of_tools.from_ir_measures,
    "gdeval": lines.GDEVAL,
    "NTCIREVAL": lines.NEV.label,
}
CONTRADICTED = "Accuracy@10"
"""Of BEIR and of ir_measures, so that only readers of ir_measures know it."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.tool} {row.name}")
def test_reading_and_evaluation_give_the_name_of_the_row(row: Row) -> None:
    """Evaluation may also refuse a name: that is not the same number in every tool."""
    name = cut_at(row.name, 10)
    label = READ_BY[row.tool](name)
    ours = called_here(row, 10)
    if row.differs or name == CONTRADICTED:
        assert label in (name, f"ir_measures:{name}")
        assert names_of_tools.why_kept(name, label)
    else:
        assert label == ours
        assert not names_of_tools.why_kept(name, label)
    is_own = names_of_tools.canonical(own_name(name)) != ""  # typed, it is what it is here
    if row.differs and not is_own:
        with pytest.raises(BadName):
            read_metric(name)
    elif name != CONTRADICTED and not is_own:
        assert str(read_metric(name)) == ours


def ranked_run(run: dict[str, Scores]) -> dict[str, Scores]:
    """Return a run without ties, in the order of `ranked`: measures there order ties in two ways."""
    return {topic: {name: -float(k) for k, name in enumerate(ranked(topic))} for topic in run}


def test_measures_as_objects_are_what_ir_measures_computes() -> None:
    wanted = [ir_measures.Accuracy @ 10, ir_measures.AP @ 10, ir_measures.ERR @ 10]
    wanted += [ir_measures.R @ 10, ir_measures.Judged @ 10, ir_measures.nDCG(dcg="exp-log2") @ 10]
    run = {topic: RUN[topic] for topic in RUN if topic != "3"}  # where Accuracy divides by 0
    qrels = {topic: QRELS[topic] for topic in run}
    rankings = sc.read_rankings({"me": run}, qrels)
    cube = sc.evaluate(rankings, wanted)
    labels = ["ir_measures:Accuracy@10", "map_cut_10", "ERR(form=exp2)@10"]
    labels += ["Recall@10", "Judged@10", "nDCG(form=exp2)@10"]
    assert cube["metric"].values.tolist() == labels
    found = {(str(one.measure), one.query_id): one.value for one in ir_measures.iter_calc(wanted, qrels, ranked_run(run))}  # fmt: skip
    for measure, label in zip(wanted, labels, strict=True):
        assert from_ir_measures(str(measure)) == label
        here = cube["score"].sel(metric=label).values[0, 0]
        there = [found[str(measure), str(topic)] for topic in cube["topic"].values]
        np.testing.assert_allclose(here, there, rtol=0, atol=5.1e-6)
    again = sc.evaluate(rankings, labels)  # as a study does
    np.testing.assert_array_equal(again["score"], cube["score"])
    with pytest.raises(BadName, match="ZeroDivisionError"):
        sc.evaluate(sc.read_rankings({"me": RUN}, QRELS), wanted)


def test_a_kept_name_is_said() -> None:
    said: list[str] = []
    scores = {"a": {"hits@10": {"1": 3, "2": 1}, "map": {"1": 0.5, "2": 0.25}}}
    cube = sc.cube_from_scores(scores, notify=said.append)
    assert {*cube["metric"].values.tolist()} == {"hits@10", "AP"}
    assert any("ranx" in line for line in said if "hits@10" in line)
