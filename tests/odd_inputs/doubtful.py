"""Scores, runs and judgements that are read, with a sentence that says what looks like a mistake."""

from __future__ import annotations

from tests.odd_inputs.reading import QRELS, Odd

AB = "a: 1=0.5 2=1; b: 1={} 2=0 | "
SUMMARY = "looks like a mean of others: leave it out of the file"
NO_RANGE = "no range is known of {0}: a mean has no limits where fewer than 8 scores differ; state it: ranges={{'{0}': (LOWEST, HIGHEST)}}"
PERCENT = "taken for percentages, 0 to 100: {}"
SMALLER = "smaller values seem to be better; declare it by lower_is_better={!r}"
RUNS = "runs with equal scores everywhere: {}; perhaps one run under two names: leave one out"
IN_GROUPS = (
    "topics seem to come in 2 groups (1_1, 1_2, ...), such as turns of conversations, and are taken as independent: name the groups (topic_groups), "
    "or errors of tests rise several times above their level"
)
ZEROS = "b: 0 on every topic by every metric; perhaps a run that failed, or under other ids: leave it out, or run it again"
MARKS = [".1", ".2", ".4", ".3", ".5"]


def matrix(score: object = "0.25", run: str = "b", topic: str = "2") -> bytes:
    """Return a matrix of two runs and two topics."""
    return f"topic,a,{run}\n1,0.5,{score}\n{topic},1,0\n".encode()


def columns(**scores: list[str]) -> bytes:
    """Return a matrix of five topics."""
    rows = zip(*scores.values(), strict=True)
    lines = [f"{topic},{','.join(row)}" for topic, row in enumerate(rows, 1)]
    return "\n".join([f"topic,{','.join(scores)}", *lines, ""]).encode()


def shown(run: str, scores: list[str]) -> str:
    """Return the outcome of a run of `columns`."""
    return f"{run}: " + " ".join(f"{topic}=0{score}" for topic, score in enumerate(scores, 1))


def named(metric: str) -> str:
    """Return what precedes the scores of a metric."""
    return "" if metric == "AP" else f"{metric}: "


DOUBTFUL = {
    "turns of conversations": Odd("scores", b"topic,a,b\n1_1,0.5,0.25\n1_2,1,0\n2_1,0.2,0.1\n2_2,0.3,0.6\n", f"a: 1_1=0.5 1_2=1 2_1=0.2 2_2=0.3; b: 1_1=0.25 1_2=0 2_1=0.1 2_2=0.6 | {IN_GROUPS}"),
    **{f"{metric} of {score}, which may be a code": Odd("scores", matrix(score), "error", name=f"{metric}.csv") for metric in ("AP", "own") for score in (-999, -1)},
    **{f"{score} that a range holds": Odd("scores", matrix(score), f"own: {AB.format(score).removesuffix(' | ')}", name="own.csv", options={"ranges": f"own={score},{high}"}) for score, high in ((-999, 1), (-1, 1))},
    **{f"{score} that is no score": Odd("scores", matrix(score), f"own: {AB.format('-').removesuffix(' | ')}", name="own.csv", options={"no_score": [str(score)]}) for score in (-999, -1)},
    **{f"{metric} of {score}": Odd("scores", matrix(score), "error", name=f"{metric}.csv")
       for metric in ("AP", "nDCG@10", "RR") for score in (54.3, 1.5)},
    **{f"{metric} in percent": Odd("scores", b"topic,a,b\n1,20,40.5\n2,80,60\n", f"{metric}: a: 1=20 2=80; b: 1=40.5 2=60 | {PERCENT.format(metric)}", name=f"{metric}.csv")
       for metric in ("accuracy", "f1")},
    **{f"topic {label}": Odd("scores", matrix(topic=label), f"a: 1=0.5 {label}=1; b: 1=0.25 {label}=0 | topic {label} {SUMMARY}")
       for label in ("MAP",)},
    **{f"topic {label}": Odd("scores", matrix(topic=label), f"a: 1=0.5; b: 1=0.25 | left out, as means and the like: topic {label}")
       for label in ("all", "Mean", "std", "macro avg", "median")},
    **{f"run {label}": Odd("scores", matrix(run=label), f"a: 1=0.5 2=1; {label}: 1=0.25 2=0 | run {label} {SUMMARY}")
       for label in ("diff",)},
    **{f"run {label}": Odd("scores", matrix(run=label), "a: 1=0.5 2=1") for label in ("all", "Mean", "median")},
    "run p-val": Odd("scores", matrix(run="p-val"), "error FILE:1"),
    "a run of zeros": Odd("scores", columns(a=MARKS, b=["0"] * 5), f"a: 1=0.1 2=0.2 3=0.4 4=0.3 5=0.5; b: 1=0 2=0 3=0 4=0 5=0 | {ZEROS}"),
    **{f"{header} in the second column": Odd("scores", f"{first},{header},a\n0,301,.5\n1,302,.1\n".encode(), "error FILE:1")
       for first, header in (("", "topic"), ("idx", "Query ID"), ("k", "qid"))},
    **{f"{metric}, smaller is better": Odd("scores", matrix(), f"{metric}: {AB.format(0.25)}{'' if metric == 'error_rate' else f'{NO_RANGE.format(metric)} | '}{metric}: {SMALLER.format(metric)}", name=f"{metric}.csv")
       for metric in ("rmse", "wer", "latency", "latency_ms", "val-loss", "mae", "perplexity", "error_rate", "last_rel", "loss_er")},
    "an invisible letter": Odd("scores", matrix(topic="2\u200b"), "a: 1=0.5 2\u200b=1; b: 1=0.25 2\u200b=0 | 1 topic with invisible characters (U+200B), such as '2\\u200b'"),
    "one run under two names": Odd("scores", columns(a=MARKS, b=MARKS[::-1], c=MARKS), f"{shown('a', MARKS)}; {shown('b', MARKS[::-1])}; {shown('c', MARKS)} | {RUNS.format('a = c')}"),
    "two runs under two names": Odd("scores", columns(a=MARKS, b=MARKS[::-1], c=MARKS, d=MARKS[::-1]), f"{shown('a', MARKS)}; {shown('b', MARKS[::-1])}; {shown('c', MARKS)}; {shown('d', MARKS[::-1])} | {RUNS.format('a = c, b = d')}"),
    "a metric by which no run differs": Odd("scores", b"run,topic,AP,mine\n" + b"".join(f"{r},{t},.{k}{t},.{t}\n".encode() for k, r in ((1, "a"), (2, "b")) for t in range(1, 6)),
        "a: 1=0.11 2=0.12 3=0.13 4=0.14 5=0.15; b: 1=0.21 2=0.22 3=0.23 4=0.24 5=0.25 | "
        f"{NO_RANGE.format('mine')} | mine: all runs have the same score on every topic, so that these metrics cannot tell them apart"),
    "a topic without a document of the level": Odd("scores", b"run,topic,AP,AP(rel=2)\na,1,.5,.25\na,2,.5,\nb,1,.25,.5\nb,2,.5,\n",
        "a: 1=0.5 2=0.5; b: 1=0.25 2=0.5 | AP(rel=2) has no score on 1 topic without a document of level 2 or above: 2"),
    "gains of zeros": Odd("qrels", QRELS, "error", gains=("0:0",)),
}  # fmt: skip
