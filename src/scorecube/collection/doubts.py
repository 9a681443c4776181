"""Doubts about scores, runs and judgements: what is possible, and more often a mistake in a file or in how it was read.

One function for each rule: it returns what was found, where, and what to do. They look at labels and values alone, so the same sentences are
said when scores are read, in `info --warnings` and on the page.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.about_metrics import KNOWN, higher_of
from scorecube.collection.arguments import as_cube
from scorecube.collection.judgements import RunLines
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known
from scorecube.collection.teams import listed
from scorecube.errors import counted
from scorecube.metrics import Metric

UNIT_METRICS = re.compile(
    r"(?!z:)(\w+:)?(AP|P|R|Rprec|RR|nDCG|Q|nERR|ERR|RBP|bpref|Success|infAP)(?![^@(])"
)
"""Metrics between 0 and 1, also of other tools and summaries, such as ``gdeval:nDCG@20``; not standardised ones (``z:AP``)."""
SUMMARIES = re.compile(
    r"all|amean|average|avg\.?|best|diff(erence)?|gmean|map|max(imum)?|mean|median|min(imum)?|overall|p[-_. ]?val(ue)?|sd|std|stddev|stdev|sum|total"
)
"""Labels of rows and columns of means and the like, in lower case."""
COUNTERS = re.compile(r"#|id|idx|index|n(um)?_rel|no\.?|query[ _]no\.?|unnamed: 0")
"""Headers of columns of numbers of topics, in lower case."""
MISSING = re.compile(r"n/?a|<na>|nan|none|null")
"""Labels that programs write for missing ones, in lower case."""
AS_FLOATS = re.compile(r"\d+\.0")
"""Whole numbers as programs write them that took them for floats."""
LEAVE_OUT = ": leave it out of the file"
UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Characters of labels that are not seen, such as the byte order mark of files that were joined."""
LOWER = re.compile(
    r"(^|[^a-z])(rmse|mse|mae|wer|cer|latency|loss|perplexity|ppl|error_rate|runtime|seconds|cost)([^a-z]|$)"
)
"""Words in names of measures whose smaller values are better."""
DIGITS_LOST = 1e-3
"""Largest distance of k times a P@k from a whole number that comes of rounding its decimals."""
MEMBER = re.compile(r"(.*\w)[-_./:#](\w{1,3})")
"""Topic of a group, such as ``31_1`` or ``q12-a``."""
FEWEST = 5
"""Different scores of a run, or topics of a metric, from which on equal ones are no chance."""
FEWEST_PAIRS = 10
"""Pairs of successive documents of a run from which on rising scores are no chance."""
MERGED = 0.01
"""Share of the pairs of successive documents that are equal in single precision only, from which on it is said."""
IN_SCORES = {
    "rise": "scores rise along the file, and larger ones come first, so that the best documents are last: use the order 'rank' or 'file', or negate the scores",
    "equal": "all scores of a topic are equal, so that document ids decide the order: use the order 'rank' or 'file'",
    "infinite": "infinite scores, which are ties with each other: write finite ones",
    "merged": f"different scores are equal as 32-bit floats, as in trec_eval, so that document ids decide the order of at least {MERGED:.0%} of the documents: use the score precision 'double' for the order of all digits",
}
"""Kind of doubt about the scores of a run -> what it is and what to do."""


def doubts_of(cube: xr.Dataset) -> list[str]:
    """Return doubts about scores, or about rankings as from `read_rankings`: what is possible, and more often a mistake.

    Parameters
    ----------
    cube
        ``score[metric, gain, run, topic]``, or rankings.

    Returns
    -------
    doubts
        One sentence each: what was found, where, and what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> from scorecube.ingest.in_memory import cube_from_scores
    >>> cube = cube_from_scores({"AP": pd.DataFrame({"1": [54.3, 40.0], "2": [10.0, 3.0]}, index=["a", "b"])})
    >>> doubts_of(cube)
    ['AP lies between 0 and 1; found 4 other scores, such as 54.3 of run a on topic 1; divide percentages by 100, leave missing scores empty, or give an estimate another name']
    """
    cube = as_cube(cube)
    noted = cube.attrs.get(names.DOUBTS)
    if names.SCORE not in cube:
        return _of_rankings(cube, ()) if noted is None else list(map(str, noted))
    return [*map(str, noted or ()), *(doubt for rule in RULES for doubt in rule(cube))]


def with_doubts(rankings: xr.Dataset, *found: str) -> xr.Dataset:
    """Return rankings with all doubts about them, which are computed once.

    rankings: Without doubts.
    found: Kind of doubt, of `IN_SCORES`, and run: ``rise a``.
    """
    return rankings.assign_attrs({names.DOUBTS: _of_rankings(rankings, found)})


def _topics_in_groups(cube: xr.Dataset) -> Iterator[str]:
    if names.TOPIC_GROUP in cube.coords:
        return
    topics = labels_of(cube, names.TOPIC)
    parts = [MEMBER.fullmatch(topic) for topic in topics]
    stems = Counter(part[1] for part in parts if part)
    if all(parts) and 1 < len(stems) <= len(topics) / 2 and min(stems.values()) > 1:
        yield (
            f"topics seem to come in {len(stems)} groups ({', '.join(topics[:2])}, ...), such as turns of conversations, and are taken as independent: name the "
            "groups (topic_groups), or errors of tests rise several times above their level"
        )


def _of_rankings(rankings: xr.Dataset, found: Sequence[str]) -> list[str]:
    lines = []
    for kind, text in IN_SCORES.items():
        if runs := [each.removeprefix(f"{kind} ") for each in found if each.startswith(f"{kind} ")]:
            lines.append(f"{counted(len(runs), 'run')} ({listed(runs)}): {text}")
    return [*lines, *(doubt for rule in RANKING_RULES for doubt in rule(rankings))]


def doubts_of_lines(run: RunLines, *, single: bool) -> tuple[str, ...]:
    """Return the kinds of doubts, of `IN_SCORES`, about the scores of a run that order its documents."""
    same = run.topic_of[1:] == run.topic_of[:-1]
    before, after = run.scores[:-1][same], run.scores[1:][same]
    found = []
    if not np.isfinite(run.scores).all():
        found.append("infinite")
    if len(before) >= FEWEST_PAIRS and not (after < before).any():
        found.append("rise" if (after > before).any() else "equal")
    if single and len(before) >= FEWEST_PAIRS:
        with np.errstate(over="ignore"):
            ties = before.astype(np.float32) == after.astype(np.float32)
        if np.count_nonzero(ties & (before != after)) >= MERGED * len(before):
            found.append("merged")
    return tuple(found)


def _by_metric(cube: xr.Dataset) -> Iterator[tuple[str, Any]]:
    """Yield the metrics with their scores (gain, run, topic)."""
    scores = cube[names.SCORE].transpose(names.METRIC, names.GAIN, names.RUN, names.TOPIC).values
    yield from zip(labels_of(cube, names.METRIC), scores, strict=True)


def _outside_their_range(cube: xr.Dataset) -> Iterator[str]:
    low = cube.coords.get(names.SCORE_LOW, np.nan) * np.ones(cube.sizes[names.METRIC])
    declared = np.array(labels_of(cube, names.METRIC))[~np.isnan(np.asarray(low))]
    for metric, scores in _by_metric(cube):
        if metric in declared or UNIT_METRICS.match(metric) is None:
            continue
        outside = np.argwhere((scores < 0.0) | (scores > 1.0))
        if len(outside):
            yield f"{metric} lies between 0 and 1; found {_first(cube, scores, outside)}; divide percentages by 100, leave missing scores empty, or give an estimate another name"


def _precision_of_no_list(cube: xr.Dataset) -> Iterator[str]:
    for metric, scores in _by_metric(cube):
        found = re.fullmatch(r"P@(\d{1,3})", metric)
        if found is None:
            continue
        times = np.where(np.isfinite(scores), scores, 0.0) * int(found[1])
        wrong = np.argwhere(np.abs(times - np.rint(times)) > DIGITS_LOST * int(found[1]))
        if len(wrong):
            yield f"{metric} is a multiple of 1/{found[1]}; found {_first(cube, scores, wrong)}; give means or another measure another name"


def _first(cube: xr.Dataset, scores: Any, found: Any) -> str:
    """Return the number of scores found (gain, run, topic), and the first of them."""
    gain, run, topic = found[0]
    return (
        f"{counted(len(found), 'other score')}, such as {scores[gain, run, topic]:g} of run {labels_of(cube, names.RUN)[run]} "
        f"on topic {labels_of(cube, names.TOPIC)[topic]}"
    )


def _other_labels(cube: xr.Dataset) -> Iterator[str]:
    for dim, words, looks in (
        (names.TOPIC, SUMMARIES, f"a mean or another summary of others{LEAVE_OUT}"),
        (names.RUN, SUMMARIES, f"a mean or another summary of others{LEAVE_OUT}"),
        (names.RUN, COUNTERS, f"a column of numbers, not like a system{LEAVE_OUT}"),
        (names.TOPIC, MISSING, f"a missing label{LEAVE_OUT}, or write which one it is"),
        (names.RUN, MISSING, f"a missing label{LEAVE_OUT}, or write which one it is"),
        (
            names.TOPIC,
            AS_FLOATS,
            "a number that a program wrote as a float: write it as in other files of the collection",
        ),
    ):
        if found := [label for label in labels_of(cube, dim) if words.fullmatch(label.lower())]:
            yield f"{dim} {listed(found)} looks like {looks}"


def _without_scores(cube: xr.Dataset) -> Iterator[str]:
    known = cube[names.SCORE].notnull()
    for dim in (names.TOPIC, names.RUN):
        none = cube[dim].values[~known.any([each for each in known.dims if each != dim]).values]
        if len(none):
            yield f"{counted(len(none), dim)} without any score ({listed(list(map(str, none)))}): leave them out of the file, or find their scores"


def _zero_everywhere(cube: xr.Dataset) -> Iterator[str]:
    """A run that failed: beside others that are not 0 everywhere."""
    scores = cube[names.SCORE].transpose(names.RUN, ...).values.reshape(cube.sizes[names.RUN], -1)
    zero = ~np.isnan(scores).all(axis=1) & ~np.nan_to_num(scores).any(axis=1)
    if cube.sizes[names.TOPIC] >= FEWEST and zero.any() and not zero.all():
        found = [run for run, each in zip(labels_of(cube, names.RUN), zero, strict=True) if each]
        yield f"{listed(found)}: 0 on every topic by every metric; perhaps a run that failed, or under ids that the judgements do not have: leave it out, or run it again"


def _labels_alike(cube: xr.Dataset) -> Iterator[str]:
    for dim in (names.TOPIC, names.RUN):
        groups: dict[str, list[str]] = {}
        for label in labels_of(cube, dim):
            shown = UNSEEN.sub(lambda found: ascii(found[0])[1:-1], label)
            groups.setdefault(UNSEEN.sub("", label).casefold().lstrip("0"), []).append(shown)
        if alike := [listed(group, " = ") for group in groups.values() if len(group) > 1]:
            yield f"{dim} labels that differ in case, leading zeros or characters that are not seen alone: {listed(alike)}; perhaps one {dim} under two names: give it one"


def _runs_and_topics_exchanged(cube: xr.Dataset) -> Iterator[str]:
    runs, topics = labels_of(cube, names.RUN), labels_of(cube, names.TOPIC)
    if all(map(str.isdecimal, runs)) and not any(re.search(r"\d", topic) for topic in topics):
        yield f"the runs are numbers ({listed(runs)}) and the topics are not ({listed(topics)}): perhaps runs are rows; then transpose"


def _smaller_is_better(cube: xr.Dataset) -> Iterator[str]:
    for metric, higher in zip(labels_of(cube, names.METRIC), higher_of(cube), strict=True):
        if higher and (metric in KNOWN or LOWER.search(metric.lower())):
            are = "are" if metric in KNOWN else "seem to be"
            yield f"{metric}: smaller values {are} better, and every analysis takes larger scores as better; declare it as lower is better"


def _equal_metrics(cube: xr.Dataset) -> Iterator[str]:
    differing = (each for each in _by_metric(cube) if _differ(each[1]))
    if cube.sizes[names.TOPIC] >= FEWEST and (alike := _alike(differing)):
        yield f"metrics with equal scores everywhere: {listed(alike)}; perhaps one file under two names: leave one out"


def _equal_runs(cube: xr.Dataset) -> Iterator[str]:
    scores = cube[names.SCORE].transpose(names.RUN, names.METRIC, ...).values
    telling = [k for k, (_, each) in enumerate(_by_metric(cube)) if not _is_of_topics(each)]
    # Of a measure with few values, such as the reciprocal rank, good runs have the same.
    many = max(FEWEST, cube.sizes[names.TOPIC] / 2)
    runs = zip(labels_of(cube, names.RUN), (each[telling] for each in scores), strict=True)
    differing = (each for each in runs if _n_values(each[1]) >= many)
    said = " ".join(cube.attrs.get(names.DOUBTS, ()))  # of equal rankings
    if alike := [group for group in _alike(differing) if group not in said]:
        yield (
            f"runs with equal scores everywhere: {listed(alike)}; perhaps one run under two names (leave one out), or runs that differ only "
            "where these metrics do not look"
        )


def _equal_for_all_runs(cube: xr.Dataset) -> Iterator[str]:
    if alike := [metric for metric, scores in _by_metric(cube) if _is_of_topics(scores)]:
        ours = [metric for metric in alike if isinstance(parse_known(metric), Metric)]
        if ours:
            yield f"{listed(ours)}: equal for all runs on every topic: the runs do not differ where these metrics look, which cannot separate them"
        if others := [metric for metric in alike if metric not in ours]:
            yield f"{listed(others)}: equal for all runs on every topic; perhaps a number of the topic, such as of its judged documents: leave it out"


def _only_relevant_judged(rankings: xr.Dataset) -> Iterator[str]:
    judged = rankings[names.N_JUDGED].values.sum(axis=0)
    if judged[0] == 0 and judged.sum() >= FEWEST:
        yield (
            f"all {judged.sum():,} judged documents are relevant: measures that need others, such as bpref and those of judged documents only, have no "
            "sense; perhaps the lines of level 0 were left out"
        )


def _gaps_in_levels(rankings: xr.Dataset) -> Iterator[str]:
    judged = rankings[names.N_JUDGED].values.sum(axis=0)
    levels = [level for level in range(1, len(judged)) if judged[level]]
    if len(levels) > 1 and levels[-1] > 2 * len(levels):
        yield (
            f"the relevance levels are {listed([str(level) for level in levels])}, and gains {names.AUTO} are the levels; map them to numbers without "
            "gaps, or choose the gains"
        )


def _equal_rankings(rankings: xr.Dataset) -> Iterator[str]:
    if names.DOCUMENT_AT_RANK not in rankings:
        return
    documents = rankings[names.DOCUMENT_AT_RANK].transpose(names.RUN, ...).values
    lengths = rankings[names.N_RETRIEVED].transpose(names.RUN, ...).values
    runs = zip(labels_of(rankings, names.RUN), documents, lengths, strict=True)
    ranked = (each for each in runs if np.count_nonzero(each[1] >= 0) >= FEWEST)
    if alike := _alike(ranked):
        yield f"runs with equal rankings of judged documents: {listed(alike)}; perhaps one run under two names: leave one out"


def _is_of_topics(scores: Any) -> bool:
    """Return whether scores (gain, run, topic) differ between topics and not between runs, apart from missing ones."""
    low, high = np.fmin.reduce(scores, axis=1), np.fmax.reduce(scores, axis=1)
    return scores.shape[1] >= FEWEST and np.array_equal(low, high, equal_nan=True) and _differ(low)


def _differ(values: Any) -> bool:
    """Return whether there are different finite values."""
    known = values[np.isfinite(values)]
    return len(known) > 0 and bool(known.min() != known.max())


def _n_values(values: Any) -> int:
    """Return the number of different finite values."""
    return len(np.unique(values[np.isfinite(values)]))


def _alike(named: Iterable[tuple[Any, ...]]) -> list[str]:
    """Return the groups of names with equal arrays behind them, as ``a = b``."""
    groups: dict[bytes, list[str]] = {}
    for name, *arrays in named:
        digest = hashlib.sha256()
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        groups.setdefault(digest.digest(), []).append(name)
    return [listed(group, " = ") for group in groups.values() if len(group) > 1]


RULES: tuple[Callable[[xr.Dataset], Iterator[str]], ...] = (
    *(_topics_in_groups, _outside_their_range, _precision_of_no_list, _other_labels),
    *(
        _without_scores,
        _zero_everywhere,
        _labels_alike,
        _runs_and_topics_exchanged,
        _smaller_is_better,
    ),
    *(_equal_metrics, _equal_runs, _equal_for_all_runs),
)
"""Each returns its doubts about a cube."""
RANKING_RULES: tuple[Callable[[xr.Dataset], Iterator[str]], ...] = (
    _only_relevant_judged,
    _gaps_in_levels,
    _equal_rankings,
)
"""Each returns its doubts about rankings."""
