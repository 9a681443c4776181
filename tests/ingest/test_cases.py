"""Files of public reports (`../shared/cases`): each is read with the right numbers, or refused with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import scorecube as sc
from scorecube.errors import ScorecubeError

CASES = Path(__file__).parents[3] / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="cases are not beside the repository")


class Case(NamedTuple):
    """Files, options of import, and the mean of each "metric run", or words of the refusal."""

    files: str
    options: dict[str, str]
    answer: dict[str, float] | str


PF = {"run_column": "provider.id", "topic_column": "vars.q", "score_column": "gradingResult.score"}
WB = {"run_column": "model_test", "topic_column": "session_id", "metric": "score"}
READ = [
    Case("inspect-small-log/insp_red_?.json", {}, {"match m/a": 0.6, "match m/b": 0.4}),
    Case("inspect-small-log/with_error_sample.json", {}, {"match m/a": 0.75}),
    Case("json-arrays-of-tools/promptfoo.jsonl", {}, {"score openai:x": 0.7, "score local:y": 0.7}),
    Case("json-arrays-of-tools/promptfoo.jsonl", PF, {"score openai:x": 0.7, "score local:y": 0.7}),
    Case("json-arrays-of-tools/oaievals_m1.jsonl", {}, {"accuracy m1": 5 / 12}),
    Case("json-arrays-of-tools/rank_*.json", {}, {"metric_score rank_baseline": 0.40650}),
    Case("json-arrays-of-tools/wb_m?.json", WB, {"score m1": 5.5, "score m2": 7.5}),
    Case("lm-eval-before-0.4.7/org__old/*.jsonl", {}, {"acc org__old": 0.5, "acc_norm org__old": 0.5}),
    Case("lm-eval-loglikelihood/*/*.jsonl", {}, {"loglikelihood org__good": -1.35, "loglikelihood org__bad": -3.35}),
    Case("ranx-spellings/ranx.json", {}, {"nDCG@10 bm25": 0.6, "RR@10 dense": 1.0, "AP bm25": 0.25}),
    Case("autojudge-tot/judge.eval.txt", {}, {"SCORE berry": 0.5, "HAS_KEYWORDS leaf": 1.0}),
    Case("swebench-resolved/*.verified.json", {}, {
        "resolved 20260101_alpha.verified": 0.75, "resolved 20260102_beta.verified": 0.675, "resolved 20260103_gamma.verified": 0.5}),
    Case("swebench-resolved/*/results/results.json", {}, "items='FILE'"),
    Case("arena-battles/battles.jsonl", {}, "60 battles of 3 systems"),
]  # fmt: skip


@pytest.mark.parametrize("case", READ, ids=lambda case: f"{case.files}-{len(case.options)}")
def test_a_case_is_read_or_refused(case: Case) -> None:
    said: list[str] = []

    def read() -> dict[str, float]:
        (cube,) = sc.import_scores(
            str(CASES / case.files), collections=True, notify=said.append, **case.options
        ).values()
        means = cube["score"].isel(gain=0, drop=True).mean("topic").to_series()
        return {f"{metric} {run}": float(mean) for (metric, run), mean in means.items()}

    if isinstance(case.answer, str):
        with pytest.raises(ScorecubeError) as caught:
            read()
        assert case.answer in str(caught.value)
        return
    found = read()
    for label, mean in case.answer.items():
        assert found[label] == pytest.approx(mean, abs=2e-4)
