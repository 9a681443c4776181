"""Files of public reports (`../shared/cases`), every folder: read with the right numbers, or refused with the reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
import xarray as xr

import scorecube as sc
from scorecube.errors import ScorecubeError
from tests.ingest.test_tables import settled

ROOT = Path(__file__).parents[2]
CASES = ROOT.parent / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="cases are not beside the repository")


class Case(NamedTuple):
    """Files, options of import, and the mean of each "metric run", or a word of the refusal."""

    files: str
    options: dict[str, str]
    answer: dict[str, float] | str


MEANS = "means, which have no topics"
PF = {"run_column": "provider.id", "topic_column": "vars.q", "score_column": "gradingResult.score"}
LF = {"run_column": "traceName", "topic_column": "traceId"}
WB = {"run_column": "model_test", "topic_column": "session_id", "metric": "score"}
READ = [
    Case("aggregates-as-topics/board.csv", {}, MEANS),
    Case("aggregates-as-topics/ratings.csv", {}, MEANS),
    Case("aggregates-as-topics/summary.csv", {}, MEANS),
    Case("arena-battles/battles.jsonl", {}, {"win_rate m-a": (0.52 + 11 / 34) / 2}),
    Case("autojudge-tot/judge.eval.txt", {}, {"SCORE berry": 0.5, "HAS_KEYWORDS leaf": 1.0}),
    Case("csv-preamble/comments.csv", {}, {"comments bm25": 0.50638, "comments dense": 0.46125}),
    Case("csv-preamble/sep.csv", {}, {"sep bm25": 0.44888, "sep dense": 0.43475}),
    Case("datasets-down-matrix/dataset.csv", {}, {"dataset rf": 2.65 / 3, "dataset svm": 0.85}),
    Case("datasets-down-matrix/opencompass.csv", {"metric": "accuracy"}, {"accuracy internlm-7b": 63.6}),
    Case("european-decimals/wide.csv", {}, {"wide bm25": 0.52788, "wide dense": 0.48775}),
    Case("european-decimals/long.csv", {}, {"nDCG@10 bm25": 0.57613, "nDCG@10 dense": 0.5775}),
    Case("european-decimals/german.csv", {}, {"nDCG@10 bm25": 0.54025, "nDCG@10 dense": 0.45813}),
    Case("european-decimals/percent.csv", {}, {"percent bm25": 49.375, "percent dense": 38.5}),
    Case("european-decimals/thousand.csv", {}, {"score bm25": 1450.5}),
    Case("european-decimals/counts.csv", {}, MEANS),
    Case("file-is-the-run/team?.jsonl", {}, {"strict_vital_score teamA": 0.5365, "strict_all_score teamB": 0.585}),
    Case("inspect-small-log/insp_red_?.json", {}, {"match m/a": 0.6, "match m/b": 0.4}),
    Case("inspect-small-log/with_error_sample.json", {}, {"match m/a": 0.75}),
    Case("json-arrays-of-tools/promptfoo.jsonl", {}, {"score openai:x": 0.7, "score local:y": 0.7}),
    Case("json-arrays-of-tools/promptfoo.jsonl", PF, {"score openai:x": 0.7, "score local:y": 0.7}),
    Case("json-arrays-of-tools/oaievals_m1.jsonl", {}, {"accuracy m1": 5 / 12}),
    Case("json-arrays-of-tools/rank_*.json", {}, {"metric_score rank_baseline": 0.40650}),
    Case("json-arrays-of-tools/wb_m?.json", WB, {"score m1": 5.5, "score m2": 7.5}),
    Case("json-arrays-of-tools/quepid?.csv", {}, {"score quepid1": 0.4525, "score quepid2": 0.73}),
    Case("json-arrays-of-tools/langfuse.csv", {}, "2 ways"),
    Case("json-arrays-of-tools/langfuse.csv", LF, {"correctness prompt-v1": 0.4875, "helpfulness prompt-v2": 0.5325}),
    Case("lm-eval-before-0.4.7/org__old/*.jsonl", {}, {"acc org__old": 0.5, "acc_norm org__old": 0.5}),
    Case("lm-eval-loglikelihood/*/*.jsonl", {}, {"loglikelihood org__good": -1.35, "loglikelihood org__bad": -3.35}),
    Case("metric-columns-as-runs/*.tsv", {}, {"nDCG@10 BPR": 0.4765, "Recall@10 ItemKNN": 0.62982}),
    Case("metric-columns-as-runs/experiment.csv", {}, MEANS),
    Case("r-row-names/ratings.csv", {}, {"rating A": 3.4, "rating B": 3.7, "rating C": 2.3}),
    Case("ranx-saved-files/run.json", {}, "evaluate"),
    Case("ranx-spellings/ranx.json", {}, {"nDCG@10 bm25": 0.6, "RR@10 dense": 1.0, "AP bm25": 0.25}),
    Case("ranx-spellings/*00.csv", {}, "the file tells the rows apart"),
    Case("ranx-spellings/ndcg@10.csv", {}, "ranges='nDCG@10=0,100'"),
    Case("repeated-by-other-columns/annotators.csv", {}, "seed_column='annotator'"),
    Case("repeated-by-other-columns/folds.csv", {}, "seed_column='fold'"),
    Case("repeated-by-other-columns/folds.csv", {"seed_column": "fold"}, {}),
    Case("repeated-by-other-columns/prompts.csv", {}, "seed_column='prompt'"),
    Case("repeated-by-other-columns/temperature.csv", {}, "seed_column='temperature'"),
    Case("score-named-by-file/array.json", {}, {"score a": 0.41569, "score b": 0.76027}),
    Case("score-named-by-file/human.csv", {}, {"score a": 2.91667}),
    Case("score-named-by-file/llm.csv", {}, {"score a": 2.86667}),
    Case("swebench-resolved/*.verified.json", {}, {
        "resolved 20260101_alpha.verified": 0.75, "resolved 20260102_beta.verified": 0.675, "resolved 20260103_gamma.verified": 0.5}),
    Case("swebench-resolved/*/results/results.json", {}, "items='FILE'"),
    Case("verdict-words/passfail.csv", {}, {"result a": 0.25, "result b": 0.625}),
    Case("verdict-words/yesno.csv", {}, {"correct a": 0.5, "correct b": 0.25}),
    Case("verdict-words/grades.csv", {}, {"grade a": 0.75, "grade b": 0.5}),
]  # fmt: skip
REPORTS = "tests/test_cases.py"
ELSEWHERE = {
    "equal-metric-note": f"{REPORTS}::test_equal_metric_note",
    "err-gdeval-max-grade": f"{REPORTS}::test_err_gdeval_max_grade",
    "recall-bounds": f"{REPORTS}::test_recall_bounds",
    "self-retrieval": f"{REPORTS}::test_self_retrieval",
    "wilcoxon-ties": f"{REPORTS}::test_wilcoxon_ties",
    "xarray-in": "tests/ingest/test_json_rows.py::test_netcdf_and_zarr",
    # Judges are collections, whose names --name gives.
    "judge-file-names": "tests/ingest/test_cases.py::test_judgements_in_files_of_alike_names",
    # A scheduler of another release needs an environment of its own.
    "dask-old-scheduler": "src/scorecube/execute/clusters.py::_connected",
}
"""Case -> the function that holds it."""


def test_every_case_has_a_row() -> None:
    rows = {case.files.partition("/")[0] for case in READ}
    assert rows | ELSEWHERE.keys() == {path.name for path in CASES.iterdir()}
    for place in ELSEWHERE.values():
        file, _, function = place.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text(), re.MULTILINE)


@pytest.mark.parametrize("case", READ, ids=lambda case: f"{case.files}-{len(case.options)}")
def test_a_case_is_read_or_refused(case: Case) -> None:
    said: list[str] = []

    def read() -> xr.Dataset:
        files = str(CASES / case.files)
        cubes = sc.import_scores(files, collections=True, notify=said.append, **case.options)
        cube: xr.Dataset
        (cube,) = cubes.values()
        return cube

    if isinstance(case.answer, str):
        with pytest.raises(ScorecubeError) as caught:
            read()
        assert case.answer in str(caught.value)
        if "FILE" not in case.answer:
            settled(str(CASES / case.files), dict(case.options))
        return
    means = read()["score"].isel(gain=0).mean("topic")
    for label, mean in case.answer.items():
        metric, run = label.split(" ")
        assert means.sel(metric=metric, run=run).item() == pytest.approx(mean, abs=2e-5)


def test_judgements_in_files_of_alike_names(tmp_path: Path) -> None:
    folder = CASES / "judge-file-names"
    study = sc.open_study(tmp_path / "s.zarr", mode="a")
    for name in ("nist", "llm"):
        rankings = sc.read_rankings(str(folder / "*.run"), folder / f"qrels.rag25.{name}.txt")
        study.add(name, cube=sc.evaluate(rankings, ["AP"]))
    assert list(study) == ["llm", "nist"]


def test_runs_and_judgements_that_ranx_saved() -> None:
    folder = CASES / "ranx-saved-files"
    cube = sc.evaluate(sc.read_rankings(folder / "run.json", folder / "qrels.json"), ["AP"])
    assert cube["score"].mean().item() == 0.75
