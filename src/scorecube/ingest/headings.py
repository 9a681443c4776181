"""Headings of columns: which name the run, the topic, and so on; which are facts, or measures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache

from scorecube.ingest import measure_names as measures


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SYSTEMS = _words(
    "system systemid systemname sys model modelid modelname method methodname classifier "
    "classifiername llm agent agentname algorithm algorithmname approach retriever ranker reranker "
    "recommender engine learner estimator solver modell modele modelo sistema systeme verfahren "
    "methode metodo modeltest"
)
"""Headings of runs that are those of systems if there is a column of runs, too."""
RUNS = SYSTEMS | {"run", "runid", "runtag", "runname"}
LATER_RUNS = _words("submission submissionid variant pipeline bot configuration config framework")
"""Headings of runs if there is no other."""
NAME = "name"
"""Heading of the run of PyTerrier's ``Experiment(perquery=True)``, if there is no other."""
TOPICS = _words(
    "topic query item question example sample instance thema frage anfrage requete consulta "
    "pregunta tema"
)
"""Headings of topics that may hold their texts, where another column holds their ids."""
DOCUMENTS = _words("doc docid document documentid")
"""Headings of topics where a document is what is asked about; in judgements those of documents."""
TOPIC_IDS = _words(
    "testidx topicid topicno topicnumber qid queryid queryno querytext itemid questionid exampleid "
    "sampleid instanceid itemidx questionidx exampleidx sampleidx queryidx"
)
LATER_TOPICS = (
    _words("taskid problem problemid"),
    _words(
        "user userid subject subjectid subj participant participantid test testid testname "
        "testcase case caseid prompt promptid utterance utteranceid sentence sentenceid segment "
        "segmentid segid image imageid session sessionid requestid uid uuid"
    ),
    _words("id key"),
)
"""Headings of topics if there is no other, better ones first."""
SCORES = _words("score scores value")
ROLES: dict[str, frozenset[str]] = {
    "run": RUNS,
    "topic": TOPICS | TOPIC_IDS | DOCUMENTS,
    "collection": _words(
        "week benchmark benchmarkname collection dataset datasetname task taskname subset split "
        "category language"
    ),
    "seed": _words("seed randomseed repetition repeat replicate epoch trial"),
    "metric": _words("metric metricname measure measurename criterion scorer"),
    "gain": _words("gain"),
    "topic_group": _words("topicgroup conversation conversationid"),
}
"""Role of a column -> its headings, as of `header_word`."""
COUNTERS = _words("# id index idx level0 unnamed:0 rowname rownames rownumber row") | {""}
"""Headings of columns that may number the rows."""
NOUNS = {
    "run": _words("model system"),
    "topic": _words("item question sample example prompt user"),
    "collection": _words("benchmark dataset task category subset language"),
    "seed": _words("seed epoch"),
}
"""Role -> headings that are words for what is in the column, perhaps before ``id`` or ``name``."""
GROUPS = _words(
    "passage document doc cluster video conversation dialogue dialog thread story article context "
    "family"
)
"""First words of headings of what several topics may have in common."""

IDENTIFIERS = _words("id ids uid uuid guid hash idx index key sha url link")
COUNTS = _words(
    "count counts cnt votes support samples length len words chars characters anzahl nombre total"
)
COUNTED = _words("n num nb number count cnt total anzahl nombre")
"""First words of headings of counts, before what is counted."""
TIMES = _words(
    "time times date datetime timestamp tstamp latency duration runtime elapsed seconds secs sec "
    "ms msec millis minutes hours year month day created updated"
)
UNITS = _words("seconds secs sec ms msec millis minutes hours")
COSTS = _words("token tokens cost costs usd dollars bytes memory flops")
CONFIDENCE = _words("ci lcl ucl")
LIMITS = _words("low high lower upper lo hi min max limit")
"""Last words of limits, behind what they are limits of."""
DEVIATIONS = _words("std stddev stdev stdv sd se sem stderr variance")
P_VALUES = _words("pval pvalue asl")
SETTINGS = _words(
    "turn fold temperature attempt iteration version temp shot shots step iter round page position "
    "pos order line batch age annotator rater"
)
VARYING = _words("turn fold temperature attempt iteration version shot shots")
"""Settings that are told behind another word, too."""
CONTENTS = _words(
    "answer target gold label prediction predicted response output reference expected text"
)
OF_SYSTEMS = _words(
    "average avg mean price rank ranking params parameters licence license size organization "
    "organisation likes downloads stars hub providers"
)
STATED = OF_SYSTEMS - {"average", "avg", "mean"}
"""Those that are facts behind another word, too."""
SIZES = _words("params parameters hub")
"""First words of facts of a system, before their unit."""
OF_SYSTEM = "fact of a system"
"""Headings of facts, by their kind; see `fact`."""
MEASURES = _words(
    "score scores accuracy acc precision recall f1 fscore rate winrate win auc auroc map mrr ndcg "
    "mae mse rmse wer cer bleu rouge meteor chrf comet bertscore em match correct correctness "
    "resolved success passed pass perplexity ppl loss error reward rating ratings elo recip "
    "reciprocal grade quality faithfulness relevancy relevance groundedness similarity helpfulness "
    "hit hits coverage agreement utility loglikelihood preference verdict result outcome"
)
"""Words of headings of measures that are not known by name; see `is_like_measure`."""
NAMED_BY_ID = RUNS.union(*ROLES.values(), *LATER_TOPICS, ["event", "trace"])
WITH_CUTOFF = re.compile(r"[A-Za-z][\w -]*@\d+")
QUANTILE = re.compile(r"[a-z][-_ ][qp]\d{2,3}$")
VOCABULARY = MEASURES.union(COUNTS, TIMES, COSTS, CONFIDENCE, LIMITS, DEVIATIONS, P_VALUES)
VOCABULARY |= SETTINGS | OF_SYSTEMS | CONTENTS | {"at", "k", "q", "p", "macro", "micro", "norm"}
"""All words of measures and facts."""
TAKEN = "runs: "
"""Beginning of a line about what columns were taken for."""
AGGREGATES = re.compile(
    r"all|((macro|micro|weighted)[-_. ]?)?(avg\.?|average|a?mean)|gmean|overall|total|sum|std|sd|"
    r"std\.?[-_ ]?dev|stdev"
)
"""Labels of rows and columns of means and the like, in lower case."""
MEAN_RUNS = re.compile(r"(avg\.?|average|mean|std|std\.?[-_ ]?dev|stdev)( (across|of|over) .+)?")
"""Those of runs: others, such as all or sum, may be the names of systems."""


Parts = tuple[str, ...]


@cache
def header_word(cell: str) -> str:
    """Return a heading without accents, blanks, hyphens, low lines, capitals, invisible letters."""
    letters = unicodedata.normalize("NFKD", cell)
    kept = [letter for letter in letters if unicodedata.category(letter) not in ("Mn", "Cf")]
    return re.sub(r"[\s_-]+", "", "".join(kept)).lower()


@cache
def parts_of(heading: str) -> Parts:
    """Return the words of a heading in small letters: of ``avgTokens_95`` avg, tokens and 95."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", heading)  # before the capitals inside words
    return tuple(re.findall(r"[a-z]+\d|[a-z]+|\d+", spaced.lower()))


def is_measure(heading: str) -> bool:
    """Return whether a heading is a known measure, here or of another tool."""
    return bool(heading) and measures.is_measure(heading)


def is_like_measure(heading: str) -> bool:
    """Return whether a heading is a known measure, or its first or last word is one of measures."""
    parts = [part for part in parts_of(heading) if not part.isdigit()]
    is_worded = bool(parts) and len(parts) <= 4 and not MEASURES.isdisjoint((parts[0], parts[-1]))
    return is_measure(heading) or is_worded or WITH_CUTOFF.fullmatch(heading) is not None


@cache
def fact(heading: str) -> str:
    """Return what a heading names that is neither a measure nor a role; '' for other headings."""
    if re.fullmatch(r".+ [+-]", heading) and is_measure(heading[:-2]):
        return "count"  # of PyTerrier, of topics that are better or worse than the baseline
    if measures.IR_COUNTS.fullmatch(heading):
        return "count"
    parts = parts_of(heading)
    if not parts or is_measure(heading):
        return ""
    for kind, is_kind in FACTS.items():
        if is_kind(heading, parts):
            return "" if kind == "measure" else kind
    return ""


def _is_limit(heading: str, parts: Parts) -> bool:
    is_of_score = len(parts) == 1 or not (MEASURES | {"ci"}).isdisjoint(parts)
    is_limit = parts[-1] in CONFIDENCE or (parts[-1] in LIMITS and is_of_score)
    return is_limit or QUANTILE.search(heading.lower()) is not None


def _is_count(_: str, parts: Parts) -> bool:
    is_counted = len(parts) > 1 and parts[0] in COUNTED and parts[1].isalpha()
    return parts[-1] in COUNTS or is_counted or parts == ("n",)


def _is_setting(heading: str, parts: Parts) -> bool:
    is_single = len(parts) == 1 and parts[0] in SETTINGS
    return is_single or parts[-1] in VARYING or header_word(heading) in ("topp", "topk")


def _ends_in(words: frozenset[str]) -> Callable[[str, Parts], bool]:
    """Return whether the last word of a heading, or its last two, are among some."""
    return lambda _, parts: not words.isdisjoint((parts[-1], " ".join(parts[-2:])))


FACTS: dict[str, Callable[[str, Parts], bool]] = {
    "p-value": _ends_in(P_VALUES | {"p value", "p val"}),
    "limit": _is_limit,
    "deviation": _ends_in(DEVIATIONS | {"standard error", "std error"}),
    "cost": lambda _, parts: not COSTS.isdisjoint((parts[0], parts[-1])),
    "time": lambda _, parts: parts[-1] in TIMES or parts[0] in TIMES - UNITS,
    "identifier": lambda heading, parts: (
        parts[-1] in IDENTIFIERS or header_word(heading) in {f"{name}id" for name in NAMED_BY_ID}
    ),
    "measure": lambda heading, _: is_like_measure(heading),
    "count": _is_count,
    "setting": _is_setting,
    "content": _ends_in(CONTENTS),
    OF_SYSTEM: lambda _, parts: (
        parts[-1] in (OF_SYSTEMS if len(parts) == 1 else STATED) or parts[0] in SIZES
    ),
}
"""Kind of a fact -> whether a heading, and its words, are of it; the first one holds."""


@cache
def is_plain(heading: str) -> bool:
    """Return whether a heading is a measure or a fact in all of its words, and so no run's name."""
    parts = parts_of(heading)
    is_known = is_measure(heading) or WITH_CUTOFF.fullmatch(heading) is not None
    is_named = fact(heading) in ("identifier", "p-value") or not COUNTED.isdisjoint(parts[:1])
    return is_known or is_named or all(part in VOCABULARY or part.isdigit() for part in parts)


def are_ids(names: Sequence[str]) -> bool:
    """Return whether names are ids, as of topics: several, alike but for their numbers."""
    shapes = {re.sub(r"\d+", "0", name) for name in names}
    words = {header_word(re.sub(r"\d+", "", name)) for name in names}
    is_alike = len(shapes) <= max(1, len(names) // 10) and all("0" in shape for shape in shapes)
    return len(names) > 1 and is_alike and not words & RUNS


def is_aggregate(name: str, role: str = "topic") -> bool:
    """Return whether a heading or label is that of a mean of others, or the like."""
    pattern = MEAN_RUNS if role == "run" else AGGREGATES
    return pattern.fullmatch(name.strip().lower()) is not None
