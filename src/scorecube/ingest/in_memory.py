"""Scores as other tools hold them in memory -> matrices: metric -> data frame of runs x topics, NaN for missing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.evaluation import cube_dataset
from scorecube.errors import BadInput, BadName
from scorecube.metrics import parse_metric

Matrices = dict[str, pd.DataFrame]
Nested = Mapping[str, Mapping[str, Mapping[str, Any]]]
TREC_EVAL = {"map": "AP", "recip_rank": "RR", "ndcg": "nDCG", "Rprec": "Rprec", "bpref": "bpref"}
TREC_EVAL_CUT = {"P": "P", "ndcg_cut": "nDCG", "recall": "Recall", "success": "Hit"}
"""Measures with a cut-off; ``map_cut`` is not among them: it divides by R, AP@k by min(k, R)."""
NO_MEASURES = re.compile(r"Z?(num_\w+|gm_\w+|infAP)|runid|relstring(_\d+)?")
"""What trec_eval prints beside scores: counts, logarithms to be averaged, texts; read only if asked for."""
IR_MEASURES = {"R": "Recall", "Success": "Hit", "Bpref": "bpref"}
IR_SHAPE = re.compile(
    r"(Accuracy|AP|BPM|Bpref|Compat|n?ERR_IA|alpha_n?DCG|n?NRBP|AP_IA|P_IA|StRecall|ERR|NERR\d+|INST|INSQ|infAP|IPrec|Judged|nDCG"
    r"|NumQ|NumRel|NumRet|NumRelRet|P|R|RBP|Rprec|RR|SDCG|SetP|SetRelP|SetR|SetF|SetAP|Success)(\(.*\))?(@[\d.]+)?"
)
"""How ir_measures prints its measures."""
IR_COUNTS = re.compile(r"Num(Q|Rel|Ret|RelRet)(\(.*\))?")
"""What ir_measures calls measures and are counts; left out as trec_eval's are."""
NDEVAL = re.compile(r"(n?ERR-IA|alpha-n?DCG|P-IA|strec)@[1-9]\d*|n?NRBP|MAP-IA")
"""How ndeval prints its measures by intents."""
NDEVAL_OTHERS = {"MAP-IA": "AP-IA", "strec": "I-rec"}
"""Names of ndeval that are not ours; ours are its definitions with its alpha of 0.5 and intents that are equally likely."""
GDEVAL = {"ndcg": "nDCG", "err": "ERR"}
FORMS = (
    "a data frame of runs x topics for each metric, {metric: {run: {topic: value}}}, {run: {topic: {measure: value}}} "
    "(pytrec_eval), {run: {metric: {topic: value}}} (ranx), or {run: records with query_id, measure and value} (ir_measures)"
)


def from_trec_eval(measure: str) -> str:
    """Return our name of a trec_eval measure, or its own where ours would mean something else.

    Examples
    --------
    >>> [from_trec_eval(measure) for measure in ("map", "P_10", "ndcg_cut_10", "success_5", "map_cut_10", "11pt_avg")]
    ['AP', 'P@10', 'nDCG@10', 'Hit@5', 'map_cut_10', '11pt_avg']
    """
    cut = re.fullmatch(r"(\w+?)_([1-9]\d*)", measure)
    if cut and cut[1] in TREC_EVAL_CUT:
        return f"{TREC_EVAL_CUT[cut[1]]}@{cut[2]}"
    return TREC_EVAL.get(measure, measure)


def from_ir_measures(measure: str) -> str:
    """Return our name of an ir_measures measure, or one that cannot be taken for another measure of ours.

    Its AP@k divides by R, its ERR (gdeval's) by 2**4 whatever the highest level is, its RBP has another default p and
    other gains; these keep their names behind ``ir_measures:``.

    Examples
    --------
    >>> [from_ir_measures(measure) for measure in ("AP", "AP@10", "R@1000", "Success@5", "P(rel=2)@5", "ERR@20", "RBP")]
    ['AP', 'map_cut_10', 'Recall@1000', 'Hit@5', 'P(rel=2)@5', 'ir_measures:ERR@20', 'ir_measures:RBP']
    """
    shape = re.fullmatch(r"(\w+)(\(.*\))?(?:@(\d+))?", measure)
    if shape is None:
        return measure
    name, inside, cutoff = shape[1], shape[2] or "", shape[3]
    if name == "AP" and cutoff and not inside:
        return f"map_cut_{cutoff}"
    if name in ("ERR", "RBP") or (name == "AP" and cutoff):
        return f"ir_measures:{measure}"
    label = IR_MEASURES.get(name, name) + inside + (f"@{cutoff}" if cutoff else "")
    try:
        return str(parse_metric(label))
    except BadName:
        return measure


def from_gdeval(measure: str) -> str:
    """Return a name for a measure of gdeval that is none of ours.

    Its nDCG has gains of 2**level - 1 and ours those of the gain setting; its ERR divides by 2**4, whatever the highest
    level is, and ``ERR(form=exp2)`` by 2**(highest level), so that they are equal only where this is 4.

    Examples
    --------
    >>> [from_gdeval(measure) for measure in ("ndcg@20", "err@20")]
    ['gdeval:nDCG@20', 'gdeval:ERR@20']
    """
    name, _, cutoff = measure.partition("@")
    return f"gdeval:{GDEVAL[name]}@{cutoff}" if name in GDEVAL else measure


def from_ndeval(measure: str) -> str:
    """Return our name of a measure of ndeval, or its own where we have none.

    Examples
    --------
    >>> [from_ndeval(measure) for measure in ("alpha-nDCG@10", "MAP-IA", "strec@5", "NRBP", "map_cut_5")]
    ['alpha-nDCG@10', 'AP-IA', 'I-rec@5', 'NRBP', 'map_cut_5']
    """
    name, _, cutoff = measure.partition("@")
    if name not in NDEVAL_OTHERS:
        return measure
    label = NDEVAL_OTHERS[name] + (f"@{cutoff}" if cutoff else "")
    try:
        return str(parse_metric(label))
    except BadName:
        return measure


def _from_dictionary(measure: str) -> str:
    """Return our name of a measure of pytrec_eval or pyndeval."""
    return from_ndeval(from_trec_eval(measure))


def matrices_of(scores: Nested) -> Matrices:
    """Make matrices of numbers by metric, run and topic; all get all runs and topics, NaN where there is no number.

    Parameters
    ----------
    scores
        Metric -> run -> topic -> score.

    Returns
    -------
    matrices
        Metric -> data frame of runs x topics.

    Raises
    ------
    BadInput
        A value that is not a number, naming metric, run and topic.

    Examples
    --------
    >>> matrices_of({"AP": {"a": {"1": 0.5}, "b": {"1": 0.25, "2": 1.0}}})["AP"].to_numpy().tolist()
    [[0.5, nan], [0.25, 1.0]]
    """
    by_run = list(scores.values())
    run_at = {run: k for k, run in enumerate(sorted({run for runs in by_run for run in runs}))}
    topics = sorted({topic for runs in by_run for values in runs.values() for topic in values})
    topic_at = {topic: k for k, topic in enumerate(topics)}
    result = {}
    for metric, runs in scores.items():
        values = np.full((len(run_at), len(topics)), np.nan)
        for run, row in runs.items():
            places = [topic_at[topic] for topic in row]
            values[run_at[run], places] = [_number(row[topic], metric, run, topic) for topic in row]
        result[metric] = pd.DataFrame(values, index=list(run_at), columns=topics)
    return result


def to_matrices(given: Mapping[Any, Any]) -> Matrices:
    """Turn per-topic scores of any known form into matrices; which form it is shows in its shape.

    Parameters
    ----------
    given
        Metric -> data frame (kept as it is); metric -> run -> topic -> value, as ranx and plain programs hold them;
        run -> topic -> measure -> value, as pytrec_eval returns; run -> metric -> topic -> value, as ``Run.scores`` of
        ranx; run -> records with query_id, measure and value (or such triples), as ir_measures' ``iter_calc`` yields.
        Measures of other tools get our names where they mean the same; counts beside pytrec_eval's are left out.

    Returns
    -------
    matrices
        Metric -> data frame with runs as index and topics as columns.

    Raises
    ------
    BadInput
        No scores, another form, a mixture of forms, or dictionaries whose keys do not show which are the metrics.

    Examples
    --------
    >>> to_matrices({"a": {"401": {"map": 0.5, "num_ret": 100.0}}, "b": {"401": {"map": 0.25, "num_ret": 90.0}}})["AP"]
        401
    a  0.50
    b  0.25
    """
    if not isinstance(given, Mapping):
        raise BadInput(f"scores are a {type(given).__name__}; expected {FORMS}")
    if not given:
        raise BadInput("no score matrix given")
    values = list(given.values())
    if all(isinstance(value, pd.DataFrame) for value in values):
        return {str(metric): frame for metric, frame in given.items()}
    if all(isinstance(value, Mapping) for value in values):
        return matrices_of(_metric_first(given))
    if not any(isinstance(value, str | bytes | Mapping | pd.DataFrame) for value in values) and all(
        isinstance(value, Iterable) for value in values
    ):
        records = [(str(run), *_record(record, run)) for run, found in given.items() for record in found]
        measures = [each for each in records if not IR_COUNTS.fullmatch(each[2])]
        return matrices_of(_collect(measures or records, from_ir_measures))
    kinds = ", ".join(sorted({type(value).__name__ for value in values}))
    raise BadInput(f"scores hold {kinds}; expected {FORMS}{_means(given)}")


def _metric_first(given: Mapping[Any, Any]) -> Nested:
    """Return metric -> run -> topic -> value, wherever the metrics stood; runs always stand outside topics."""
    paths = [(str(first), str(second), str(third), value) for first, second, third, value in _leaves(given)]
    if not paths:
        raise BadInput("no score matrix given")
    levels = [sorted({path[k] for path in paths}) for k in range(3)]
    holding = [k for k in range(3) if any(map(is_measure, levels[k]))]
    if len(holding) != 1:
        found = " > ".join(", ".join(level[:3]) for level in levels)
        raise BadInput(
            f"cannot tell where the metrics stand in {found}: known measures are on {len(holding)} of 3 levels; "
            "give a data frame of runs x topics for each metric"
        )
    metric = holding[0]
    run, topic = [k for k in range(3) if k != metric]
    records = ((path[run], path[topic], path[metric], path[3]) for path in paths)
    if metric == 0:
        return _collect(records, _from_dictionary)
    return _collect((each for each in records if not NO_MEASURES.fullmatch(each[2])), _from_dictionary)


def _leaves(given: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any, Any]]:
    for first, middle in given.items():
        for second, values in middle.items():
            if not isinstance(values, Mapping):
                problem = f"scores[{first!r}][{second!r}] is a {type(values).__name__}"
                raise BadInput(f"{problem}; expected {FORMS}{_means(middle)}")
            yield from ((first, second, third, value) for third, value in values.items())


def _means(given: Mapping[Any, Any]) -> str:
    """Return what to do about measures that stand where topics should be below them; nothing for other words."""
    if not any(is_measure(str(name)) or IR_SHAPE.fullmatch(str(name)) for name in given):
        return ""
    if any(isinstance(value, np.ndarray) for value in given.values()):
        return "; an array has no topics: take Run.scores of ranx instead"
    return "; these look like means over all topics (as of ir_measures' calc_aggregate), take iter_calc instead"


def is_measure(name: str) -> bool:
    """Whether a name is that of a measure: ours, trec_eval's, or one in the way of ranx (``ndcg@10``, ``mrr``).

    Examples
    --------
    >>> [is_measure(name) for name in ("AP", "nDCG@10", "P_10", "gm_map", "map@100", "hit_rate@5", "BM25", "401")]
    [True, True, True, True, True, True, False, False]
    """
    if from_trec_eval(name) != name or NO_MEASURES.fullmatch(name) or NDEVAL.fullmatch(name):
        return True
    if re.fullmatch(
        r"(map|ndcg|ndcg_burges|dcg|mrr|precision|recall|f1|r-precision|hits|hit_rate|bpref|rbp|map_cut_|ndcg_rel|Rndcg"
        r"|set_\w+|iprec_at_recall_|11pt_avg|judged)[-@_.]?[\d.]*", name, re.IGNORECASE,
    ):  # fmt: skip
        return True
    try:
        parse_metric(name)
    except BadName:
        return False
    return True


def _collect(records: Iterable[tuple[str, str, str, Any]], rename: Any) -> Nested:
    """Return metric -> run -> topic -> value of records (run, topic, measure, value), refusing repeated ones."""
    result: dict[str, dict[str, dict[str, Any]]] = {}
    label: dict[str, str] = {}
    for run, topic, measure, value in records:
        if measure not in label:
            label[measure] = rename(measure)
        row = result.setdefault(label[measure], {}).setdefault(run, {})
        if topic in row:
            raise BadInput(f"run {run!r} has two scores of {label[measure]} on topic {topic!r}")
        row[topic] = value
    if not result:
        raise BadInput("no score matrix given")
    return result


def _record(record: Any, run: object) -> Iterator[Any]:
    """Yield topic, measure and value of a record."""
    if all(hasattr(record, name) for name in ("query_id", "measure", "value")):
        topic, measure, value = record.query_id, record.measure, record.value
    elif isinstance(record, tuple | list) and len(record) == 3:
        topic, measure, value = record
    else:
        raise BadInput(f"run {run!r} holds {record!r}, which is no record of query_id, measure and value")
    yield from (str(topic), str(measure), value)


def _number(value: Any, metric: str, run: str, topic: str) -> float:
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        number = math.nan if value is None else float(value)
    except (TypeError, ValueError):
        number = math.inf
    if math.isinf(number):
        raise BadInput(f"{metric} of run {run!r} on topic {topic!r} is {value!r}, not a finite number")
    return number


def cube_from_scores(
    scores: Mapping[str, Any], *, gain: str = names.AUTO, teams: Mapping[str, str] | None = None
) -> xr.Dataset:
    """Make a cube of per-topic scores.

    Parameters
    ----------
    scores
        Metric name -> data frame with runs as index and topics as columns, missing cells NaN; or what other tools
        return (pytrec_eval, ir_measures, ranx, nested dictionaries), see `scorecube.ingest.in_memory.to_matrices`.
    gain
        Label of the gain axis, which is 1 long.
    teams
        Run -> team.

    Returns
    -------
    cube
        Dataset with `score` (metric, gain, run, topic), runs and topics in sorted order.

    Raises
    ------
    BadInput
        Scores in another form, matrices that differ in runs or topics, repeated labels, values that are not numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame([[0.1, 0.4], [0.3, 0.2]], index=["b", "a"], columns=["1", "2"])
    >>> cube_from_scores({"AP": frame}).score.sel(metric="AP", run="a").values
    array([[0.3, 0.2]])
    """
    matrices = to_matrices(scores)
    arrays: list[np.ndarray[Any, np.dtype[np.float64]]] = []
    runs: list[str] = []
    topics: list[str] = []
    for metric, frame in matrices.items():
        ordered = frame.rename(index=str, columns=str).sort_index(axis=0).sort_index(axis=1)
        found_runs, found_topics = list(ordered.index), list(ordered.columns)
        schema.check_labels(found_runs, names.RUN, f"matrix of {metric}")
        schema.check_labels(found_topics, names.TOPIC, f"matrix of {metric}")
        if arrays and (found_runs != runs or found_topics != topics):
            raise BadInput(f"matrix of {metric} has other runs or topics than that of {next(iter(matrices))}")
        runs, topics = found_runs, found_topics
        try:
            arrays.append(ordered.to_numpy(dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise BadInput(f"matrix of {metric} holds what is not a number: {error}") from None
    stacked = np.stack(arrays)[:, np.newaxis]
    known = teams or {}
    return cube_dataset(stacked, list(matrices), [gain], runs, topics, [known.get(run, run) for run in runs])
