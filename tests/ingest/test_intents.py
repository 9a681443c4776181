"""Judgements by intent and with classes of answers; real-valued judgements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scorecube as sc
from scorecube.collection.rankings import judge
from scorecube.errors import BadInput, BadName
from scorecube.ingest.qrels import Thresholds, parse_level_map, print_level_map, read_qrels
from scorecube.ingest.trec import read_run
from tests.conftest import Cli
from tests.oracles.diversity import levels_with_classes, oracle, topic_of

BY_INTENT = "".join(
    f"{line}\n"
    for line in (
        "2 1 b 0", "1 1 b 1", "1 1 c 0", "1 10 b 2", "1 2 a 1", "1 2 c -2", "2 1 a 3", "1 10 d 0", "# a comment", "2 x a 1",
    )
)  # fmt: skip
RUN = "1 Q0 c 1 9 r\n1 Q0 zz 2 8 r\n1 Q0 b 3 7 r\n2 Q0 a 1 3 r\n2 Q0 d 2 2 r\n3 Q0 a 1 2 r\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def by_intent(tmp_path: Path, **how: Any) -> Any:
    run, qrels = write(tmp_path / "run", RUN), write(tmp_path / "qrels", BY_INTENT)
    return sc.read_rankings(run, qrels, dialect="trec-intents", workers=1, **how)


def test_levels_by_intent_are_found(tmp_path: Path) -> None:
    rankings = by_intent(tmp_path)
    assert rankings["intent_label"].values.tolist() == [["1", "2", "10"], ["1", "x", ""]]
    np.testing.assert_allclose(rankings["intent_probability"].values, [[1 / 3] * 3, [0.5, 0.5, 0]])
    # Documents a, b, c, d of topic 1 and a, b of topic 2, by intent.
    np.testing.assert_array_equal(
        rankings["intent_level"].values,
        [
            [[-1, 1, -1], [1, -1, 2], [0, -1, -1], [-1, -1, 0]],
            [[3, 1, -1], [0, -1, -1], [-1, -1, -1], [-1, -1, -1]],
        ],
    )
    assert rankings["document_at_rank"].values.tolist() == [[[2, -1, 1], [0, -1, -1]]]
    assert rankings["document_at_rank"].dtype == np.int32
    assert rankings["intent_level"].dtype == np.int8
    assert rankings.attrs["qrels_format"] == "trec-intents"


def test_the_level_of_a_document_is_its_highest(tmp_path: Path) -> None:
    rankings = by_intent(tmp_path)
    assert rankings["level_at_rank"].values.tolist() == [[[0, -1, 2], [3, -1, -1]]]
    assert rankings["n_judged"].values.tolist() == [[2, 1, 1, 0], [1, 0, 0, 1]]
    plain = write(tmp_path / "plain", "1 0 a 1\n1 0 b 2\n1 0 c 0\n1 0 d 0\n2 0 a 3\n2 0 b 0\n")
    expected = sc.read_rankings(tmp_path / "run", plain, workers=1)
    for name in expected.data_vars:
        assert rankings[name].equals(expected[name])
    assert not {"intent_level", "intent"} & {*expected.variables, *expected.dims}
    metrics = ["AP", "nDCG@2", "bpref", "Q"]
    assert sc.evaluate(rankings, metrics)["score"].equals(sc.evaluate(expected, metrics)["score"])


@pytest.mark.parametrize("depth", [None, 1, 2])
def test_scores_are_those_of_the_oracle(tmp_path: Path, depth: int | None) -> None:
    probability: dict[str, dict[str, float]] = {
        "1": {"1": 0.5, "2": 0.3, "10": 0.2},
        "2": {"1": 1, "x": 3, "other": 5},
        "9": {"1": 1},
    }
    rankings = by_intent(tmp_path, intents=probability, depth=depth)
    names = [
        "alpha-nDCG@3",
        "ERR-IA@2",
        "P-IA@3",
        "AP-IA",
        "I-rec@1",
        "D-nDCG@3",
        "D#-nDCG@3",
        "D#-nDCG(judged_only=True)@3",
    ]
    cube = sc.evaluate(rankings, names, ["auto", "9:2:1"])
    judged: dict[str, dict[str, dict[str, int]]] = {"1": {}, "2": {}}
    for topic, intent, document, level in (
        line.split() for line in BY_INTENT.splitlines() if line[0] != "#"
    ):
        judged[topic].setdefault(document, {})[intent] = int(level)
    for topic, listed in (("1", ["c", "zz", "b"]), ("2", ["a", "d"])):
        for gain, values in (("auto", [0, 1, 2, 3]), ("9:2:1", [0, 1, 2, 9])):
            for metric, name in zip(names, cube["metric"].values, strict=True):
                bare, _, cutoff = metric.partition("@")
                own = {key: p for key, p in probability[topic].items() if key != "other"}
                case = topic_of(
                    listed[:depth], judged[topic], values, int(cutoff or 0), probability=own,
                    judged_only="judged_only" in bare,
                )  # fmt: skip
                score = cube["score"].sel(metric=name, gain=gain, topic=topic).item()
                assert score == pytest.approx(oracle(bare.partition("(")[0], case), rel=1e-12), (
                    metric
                )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "topic,intent,p\n1,1,0.5\n",
            "p.csv:1: the header must have the columns topic, intent and probability; found",
        ),
        ("topic,intent,probability\n1,1,x\n", "p.csv:2: probability 'x' is not a number"),
        ("topic,intent,probability\n1,1,nan\n", "p.csv:2: probability 'nan' is not a number"),
        (
            "topic,intent,probability\n1,1,1\n1,1,2\n",
            "p.csv:3: intent '1' of topic 1 has two probabilities",
        ),
        (
            "topic,intent,probability\n1,1,1\n1,2,2\n",
            "p.csv: intent '10' of topic 1 has no probability",
        ),
        (
            "topic,intent,probability\n1,1,1\n1,2,-2\n",
            "p.csv: intent '2' of topic 1 has the probability -2",
        ),
        (
            "topic,intent,probability\n1,1,0\n1,2,0\n1,10,0\n2,1,1\n2,x,1\n",
            "p.csv: all intents of topic 1 have the probability 0",
        ),
    ],
)
def test_bad_probabilities_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        by_intent(tmp_path, intents=write(tmp_path / "p.csv", text))
    assert message in str(caught.value)


def test_intents_without_relevant_documents_need_no_probability(tmp_path: Path) -> None:
    path = write(tmp_path / "qrels", "1 0 a 0\n1 1 b 1\n1 2 b 1\n2 0 c 0\n")
    found = read_qrels(path, dialect="trec-intents", intents={"1": {"1": 1, "2": 3}}).intents
    assert found is not None
    assert found.probability.tolist() == [[0, 0.25, 0.75], [0, 0, 0]]


def test_probabilities_need_intents(tmp_path: Path) -> None:
    path = write(tmp_path / "qrels", "1 0 c 1\n")
    with pytest.raises(
        BadInput,
        match="qrels: probabilities of intents need judgements by intent; use dialect='trec-intents'",
    ):
        read_qrels(path, intents={"1": {"0": 1.0}})


def test_a_document_twice_suggests_intents(tmp_path: Path) -> None:
    path = write(tmp_path / "qrels", BY_INTENT)
    with pytest.raises(
        BadInput,
        match=r"qrels:4: document 'b' is judged twice in topic 1; .*dialect='trec-intents'",
    ):
        read_qrels(path)
    for dialect, text in [
        ("auto", "1 0 a 1\n1 0 b 1\n1 0 a 1\n"),
        ("trec-classes", "1 4 a 1\n1 5 b 1\n1 6 a 1\n"),
    ]:
        with pytest.raises(
            BadInput,
            match=r"qrels:3: document 'a' is judged twice in topic 1; remove one of the lines$",
        ):
            read_qrels(write(tmp_path / "qrels", text), dialect=dialect)
    with pytest.raises(
        BadInput, match=r"qrels:3: document 'a' is judged twice for intent '4' of topic 1; remove"
    ):
        read_qrels(write(tmp_path / "qrels", "1 4 a 1\n1 5 a 1\n1 4 a 1\n"), dialect="trec-intents")


def test_documents_at_ranks_are_told_of_plain_judgements_too(tmp_path: Path) -> None:
    run, qrels = (
        write(tmp_path / "run", RUN),
        write(tmp_path / "qrels", "2 0 a 1\n1 0 c 1\n1 0 b 2\n1 0 B 2\n"),
    )
    judgements = read_qrels(qrels)
    assert judgements.document_of.tolist() == [0, 2, 1, 0]
    assert judge(read_run(run), judgements).documents.tolist() == [[2, -1, 1], [0, -1, -1]]
    rankings = sc.read_rankings(tmp_path / "run", tmp_path / "qrels", workers=1)
    assert rankings["level_of_document"].values.tolist() == [[2, 2, 1], [1, -1, -1]]


def test_a_study_keeps_intents(tmp_path: Path, scorecube: Cli) -> None:
    rankings = by_intent(tmp_path)
    table = write(
        tmp_path / "p.csv", "topic,intent,probability\n1,1,1\n1,2,1\n1,10,2\n2,1,1\n2,x,1\n"
    )
    how = [
        "--runs",
        tmp_path / "run",
        "--qrels",
        tmp_path / "qrels",
        "--qrels-format",
        "trec-intents",
    ]
    names = "alpha-nDCG(alpha=0.25)@5,D#-nDCG@5,AP"
    scorecube("evaluate", tmp_path / "s", "--name", "web", *how, "--metrics", names).succeeded()
    kept = sc.open_study(tmp_path / "s")["web"]
    for name in rankings.variables:
        assert kept.rankings[name].equals(rankings[name]) or name == "intent_label"
        assert kept.rankings[name].attrs == rankings[name].attrs
    assert kept.rankings["intent_label"].values.tolist() == rankings["intent_label"].values.tolist()
    assert kept.cube.equals(sc.evaluate(rankings, names.split(","), ["auto"]))
    assert sc.evaluate(kept.rankings, names.split(","), ["auto"]).equals(kept.cube)
    scorecube("verify", tmp_path / "s").succeeded()
    scorecube(
        "evaluate", tmp_path / "s", "--name", "p", *how, "--metrics", "P-IA@5", "--intents", table
    ).succeeded()
    found = sc.open_study(tmp_path / "s")["p"].rankings["intent_probability"].values
    np.testing.assert_allclose(found, [[0.25, 0.25, 0.5], [0.5, 0.5, 0]])


def test_diversity_metrics_of_plain_judgements_are_refused(tmp_path: Path, scorecube: Cli) -> None:
    run, qrels = write(tmp_path / "run", RUN), write(tmp_path / "qrels", "1 0 c 1\n")
    failed = scorecube(
        "evaluate",
        tmp_path / "s",
        "--name",
        "x",
        "--runs",
        run,
        "--qrels",
        qrels,
        "--metrics",
        "I-rec@5",
    )
    assert failed.status == 1
    assert "metric I-rec@5 needs documents judged by intent" in failed.stderr
    assert "--qrels-format trec-intents" in failed.stderr


# Equivalence classes of answers.


def test_only_the_first_answer_of_a_class_counts(tmp_path: Path) -> None:
    run = write(
        tmp_path / "run", "".join(f"1 Q0 {d} {k} {9 - k} r\n" for k, d in enumerate("nabucxyd", 1))
    )
    qrels = write(
        tmp_path / "qrels",
        "1 7 a 1\n1 7 b 3\n1 - c 2\n1 0 d 2\n1 8 x 2\n1 8 y 1\n1 7 n 0\n1 9 z 1\n1 0 m 0\n",
    )
    rankings = sc.read_rankings(run, qrels, dialect="trec-classes", workers=1)
    assert rankings["level_at_rank"].values.tolist() == [[[0, 1, 0, -1, 2, 2, 0, 2]]]
    # Classes 7 (level 3), 8 (2) and 9 (1), the answers c and d without a class (2), and m (0).
    assert rankings["n_judged"].values.tolist() == [[1, 1, 3, 1]]
    assert rankings.attrs["qrels_format"] == "trec-classes"
    assert rankings["level_of_document"].values.tolist() == [[1, 3, 2, 2, 0, 0, 2, 1, 1]]
    # S0 section 4.3: NQcorrect5 and NQcorrect1 are the means of Hit@5 and Hit@1.
    assert sc.evaluate(rankings, ["Hit@1", "Hit@5"])["score"].values.ravel().tolist() == [0.0, 1.0]
    q = sum([(1 + 1) / (5 + 2), (3 + 2) / (10 + 5), (5 + 3) / (10 + 6), (7 + 4) / (10 + 8)]) / 5
    assert sc.evaluate(rankings, ["Q"])["score"].item() == pytest.approx(q, rel=1e-14)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    levels=st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3), min_size=1),
    labels=st.lists(st.sampled_from(["0", "-", "1", "2", "x"]), min_size=8, max_size=8),
    listed=st.permutations("abcdefghuv"),
)
def test_classes_equal_the_oracle(
    tmp_path: Path, levels: dict[str, int], labels: list[str], listed: list[str]
) -> None:
    label_of = dict(zip("abcdefgh", labels, strict=True))
    run = write(
        tmp_path / "run", "".join(f"1 Q0 {d} {k} {20 - k} r\n" for k, d in enumerate(listed, 1))
    )
    text = "".join(f"1 {label_of[d]} {d} {level}\n" for d, level in levels.items())
    rankings = sc.read_rankings(
        run, write(tmp_path / "qrels", text), dialect="trec-classes", workers=1
    )
    class_of = {d: label_of[d] for d in levels if label_of[d] not in ("0", "-")}
    expected, ideal = levels_with_classes(listed, levels, class_of)
    assert rankings["level_at_rank"].values.tolist() == [[expected]]
    counts = [ideal.count(level) for level in range(max(0, *levels.values(), 0) + 1)]
    assert rankings["n_judged"].values.tolist() == [counts]


def test_a_wrong_answer_of_a_class_does_not_use_it_up(tmp_path: Path) -> None:
    """NTCIREVAL's label -ec marks the class as seen at level 0 too, and asks that such answers have classes of their own."""
    run, qrels = (
        write(tmp_path / "run", "1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n"),
        write(tmp_path / "qrels", "1 7 a 0\n1 7 b 2\n"),
    )
    rankings = sc.read_rankings(run, qrels, dialect="trec-classes", workers=1)
    assert rankings["level_at_rank"].values.tolist() == [[[0, 2]]]
    assert rankings["n_judged"].values.tolist() == [[0, 0, 1]]


# Real-valued judgements.


def test_real_values_become_levels(tmp_path: Path) -> None:
    path = write(
        tmp_path / "qrels",
        "1 0 a 0.7\n1 0 b 0.80\n1 0 c 0.5\n1 0 d 0.49\n1 0 e 1\n1 0 f -1\n1 0 g 8e-1\n1 0 h 9\n",
    )
    policy = parse_level_map(">=0.5:1,>=0.8:2")
    assert policy == Thresholds(((0.5, 1), (0.8, 2)))
    assert read_qrels(path, level_map=policy).levels.tolist() == [1, 2, 1, 0, 2, 0, 2, 2]
    unjudged = parse_level_map(">=-1:-1,>=0:0,>=0.8:2")
    assert read_qrels(path, level_map=unjudged).levels.tolist() == [0, 2, 0, 0, 2, -1, 2, 2]
    with pytest.raises(BadInput, match=r"qrels:1: level '0.7' is not an integer up to 127"):
        read_qrels(path)


@pytest.mark.parametrize("dialect", ["trec-intents", "trec-classes", "ntcir", "ntcir-grades"])
def test_thresholds_work_in_every_dialect(tmp_path: Path, dialect: str) -> None:
    lines = {"ntcir": "1 a 0.9\n1 b 0.1\n", "ntcir-grades": "1 S a 1\n1 B b 0\n"}
    path = write(tmp_path / "qrels", lines.get(dialect, "1 3 a 0.9\n1 3 b 0.1\n"))
    levels = read_qrels(path, dialect=dialect, level_map=Thresholds(((0.5, 2),))).levels.tolist()
    assert levels == ([2, 2] if dialect == "ntcir-grades" else [2, 0])


@pytest.mark.parametrize("text", [">=0.5:1,>=0.8:2", ">=-1:-1,>=0:0,>=1e-05:7", "2:3,1:1"])
def test_level_maps_print_back_and_are_recorded(tmp_path: Path, text: str) -> None:
    policy = parse_level_map(text)
    assert print_level_map(policy) == text
    assert parse_level_map(print_level_map(policy)) == policy
    run, qrels = write(tmp_path / "run", RUN), write(tmp_path / "qrels", "1 0 c 2\n")
    assert sc.read_rankings(run, qrels, level_map=policy, workers=1).attrs["level_map"] == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ">=0.5:1,2:3",
            "is not pairs of integers like 2:3,1:1, or thresholds of real numbers like >=0.5:1,>=0.8:2",
        ),
        (">=x:1", "is not pairs of integers"),
        (">=nan:1", "is not pairs of integers"),
        (">=0.5:1.5", "is not pairs of integers"),
        (">=0.5:2,>=0.8:1", "levels must rise with the thresholds"),
        (">=0.5:1,>=0.8:1", "levels must rise with the thresholds"),
        (">=0.5:1,>=0.50:2", "levels must rise with the thresholds"),
        (">=0.5:-2", "levels must be between -1 and 127"),
        (">=0.5:128", "levels must be between -1 and 127"),
    ],
)
def test_bad_thresholds_are_refused(text: str, message: str) -> None:
    with pytest.raises(BadName) as caught:
        parse_level_map(text)
    assert message in str(caught.value)


def test_thresholds_bad_values_name_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "qrels", "1 0 a 0.7\n1 0 b good\n")
    with pytest.raises(BadInput, match="qrels:2: level 'good' is not a number"):
        read_qrels(path, level_map=Thresholds(((0.5, 1),)))


def test_levels_option_takes_thresholds(tmp_path: Path, scorecube: Cli) -> None:
    run, qrels = write(tmp_path / "run", RUN), write(tmp_path / "qrels", "1 0 c 0.7\n1 0 b 0.9\n")
    how = ["--runs", run, "--qrels", qrels, "--metrics", "AP(rel=2)", "--levels", ">=0.5:1,>=0.8:2"]
    scorecube("evaluate", tmp_path / "s", "--name", "x", *how).succeeded()
    collection = sc.open_study(tmp_path / "s")["x"]
    assert collection.cube["score"].item() == pytest.approx(1 / 3)
    assert collection.cube.attrs["level_map"] == ">=0.5:1,>=0.8:2"
