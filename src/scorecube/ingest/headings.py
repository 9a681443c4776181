"""Headings of columns: which name the run, the topic, and so on; which are facts, or measures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, product
from typing import NamedTuple

from scorecube.collection.names_of_tools import IR_COUNTS, is_measure


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _called(text: str, endings: Sequence[str] = ("", "id", "name")) -> frozenset[str]:
    """Return words, also before ``id`` and ``name``."""
    return frozenset(map("".join, product(text.split(), endings)))


SYSTEMS = _called(
    "system model method classifier llm agent algorithm approach retriever ranker reranker "
    "recommender engine learner estimator solver"
) | _words(
    "sys modelnames modelle modell modele modelo sistema systeme verfahren methode metodo modeltest"
)
"""Headings of runs that are those of systems if there is a column of runs, too."""
RUNS = SYSTEMS | {"run", "runid", "runtag", "runname"}
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
LATER: dict[str, tuple[frozenset[str], ...]] = {
    "run": (
        _called("submission variant bot configuration config framework pipeline"),
        frozenset({NAME}),
    ),
    "topic": (
        _words("taskid problem problemid"),
        _called(
            "user subject subj participant test case prompt utterance sentence segment image input "
            "session"
        )
        | _words("testcase segid requestid uid uuid userinput"),
        _words("id key"),
    ),
}
"""Role -> headings if there is no other column of the role, better ones first."""
TEAMS = _called("team submitter competitor")
"""Headings of runs where no column may be the topic, as on boards of competitions."""
SCORES = _words("score scores value")
ROLES: dict[str, frozenset[str]] = {
    "run": RUNS,
    "topic": TOPICS | TOPIC_IDS | DOCUMENTS,
    "collection": _words(
        "week benchmark benchmarkname collection dataset datasetname task taskname subset split "
        "category language suite"
    ),
    "seed": _words("seed randomseed repetition repeat replicate epoch trial"),
    "metric": _words("metric metricname measure measurename criterion scorer"),
    "gain": _words("gain"),
    "topic_group": _words("topicgroup conversation conversationid"),
}
"""Role of a column -> its headings, as of `header_word`."""
COUNTERS = _words("# id index idx level0 unnamed:0 rowname rownames rownumber row nr no number")
COUNTERS |= {""}
"""Headings of columns that may number the rows."""
NOUNS = {
    "run": _words("model system"),
    "topic": _words("item question sample example prompt user"),
    "collection": _words("benchmark dataset task category subset language suite"),
    "seed": _words("seed epoch"),
}
"""Role -> headings that are words for what is in the column, perhaps before ``id`` or ``name``."""
GROUPS = _called(
    "passage document doc cluster video conversation dialogue dialog thread story article context "
    "family",
    ("", "id", "idx", "no"),
)
"""Headings of what several topics may have in common."""

MEASURES = _words(
    "score scores accuracy acc precision recall f1 fscore rate winrate win auc auroc map mrr ndcg "
    "mae mse rmse wer cer bleu rouge meteor chrf comet bertscore em match correct correctness "
    "resolved success passed pass perplexity ppl loss error reward rating ratings elo recip "
    "reciprocal grade quality faithfulness relevancy relevance groundedness similarity helpfulness "
    "hit hits coverage agreement utility loglikelihood preference verdict result outcome fluency "
    "coherence consistency adequacy naturalness factuality completeness conciseness toxicity "
    "informativeness readability truthfulness harmlessness hallucination iou miou dice jaccard "
    "hausdorff hd95 psnr ssim kappa mcc brier logloss mape"
)
"""Words of headings of measures that are not known by name; see `is_like_measure`."""
OF_RUNS = "score|acc(uracy)?|precision|recall|f1|em|correct|resolved|reward|rating|grade|ndcg|map"
"""Measures behind or before the name of a run, as in ``gpt-4o_score``; see `runs_in`."""
BEHIND = re.compile(rf"(?P<run>.+)[-_. :/~](?P<measure>{OF_RUNS})", re.IGNORECASE)
BEFORE = re.compile(rf"(?P<measure>{OF_RUNS})[-_. :/~](?P<run>.+)", re.IGNORECASE)
_NAMED = RUNS.union(*ROLES.values(), *LATER["topic"], ["event", "trace"])
NAMED_BY_ID = " ".join(f"{name}id" for name in _NAMED)
WITH_CUTOFF = re.compile(r"[A-Za-z][\w -]*@\d+|(.+\.)?(metric|score)s?\..+")
QUANTILE = re.compile(r"[a-z][-_ ][qp]\d{2,3}$")
TAKEN = "runs: "
"""Beginning of a line about what columns were taken for."""
MEANS = (
    r"((macro|micro|weighted)[-_. ]?)?(avg\.?|average|a?mean)|std|std\.?[-_ ]?dev|stdev|median|"
    r"variance|\d+[-_. ]?(th )?(quantile|percentile)"
)
MEANS = rf"({MEANS})( (across|of|over) .+| ?\(.+\))?"
AGGREGATES = {
    "topic": re.compile(rf"all|{MEANS}|gmean|overall|total|sum|sd"),
    "run": re.compile(MEANS),
}
"""Role -> labels of means and the like, in lower case; all or sum may be the names of systems."""
BESIDE = re.compile(r"min(imum)?|max(imum)?|count|iqr|\d+(\.\d+)?%")
"""Further ones beside a mean, as of summaries."""


Parts = tuple[str, ...]


@cache
def header_word(cell: str) -> str:
    """Return a heading without accents, blanks, hyphens, low lines, dots, capitals, marks."""
    letters = unicodedata.normalize("NFKD", cell)
    kept = [letter for letter in letters if unicodedata.category(letter) not in ("Mn", "Cf")]
    return re.sub(r"[\s_.-]+", "", "".join(kept)).lower()


@cache
def parts_of(heading: str) -> Parts:
    """Return the words of a heading in small letters: of ``avgTokens_95`` avg, tokens and 95."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", heading)  # before the capitals inside words
    return tuple(re.findall(r"[a-z]+\d|[a-z]+|\d+", spaced.lower()))


def is_like_measure(heading: str) -> bool:
    """Return whether a heading is a known measure, or its first or last word is one of measures."""
    parts = [part for part in parts_of(heading) if not part.isdigit()]
    is_worded = bool(parts) and len(parts) <= 4 and not MEASURES.isdisjoint((parts[0], parts[-1]))
    is_worded = is_worded or header_word(heading) in MEASURES
    return is_measure(heading) or is_worded or WITH_CUTOFF.fullmatch(heading) is not None


class Words(NamedTuple):
    """Words that tell a fact: as the last ones, the first one, or the only one of a heading."""

    last: frozenset[str]
    first: frozenset[str]
    alone: frozenset[str]

    def are_in(self, parts: Parts) -> bool:
        """Return whether a heading of these words tells the fact."""
        ends = {parts[-1], "_".join(parts[-2:])}
        is_alone = len(parts) == 1 and parts[0] in self.alone
        return is_alone or parts[0] in self.first or not ends.isdisjoint(self.last)


def _fact(last: str = "", first: str = "", alone: str = "") -> Words:
    return Words(*map(_words, (last, first, alone)))


OF_SYSTEM = "fact of a system"
SETTING = "setting"
IDENTIFIER = "identifier"
PREDICTED = ("prediction", "content")
"""What items hold, and systems say."""
TIMES = (
    "time times date datetime timestamp tstamp ts latency duration runtime elapsed year month day "
)
TIMES += "created updated"
COSTS = "token tokens cost costs usd dollars bytes memory flops"
VARYING = "turn fold temperature attempt iteration version shot shots topp topk top_p top_k "
FACTS = {
    "p-value": _fact("pval pvalue asl p_value p_val"),
    "limit": _fact("ci lcl ucl", alone="low high lower upper lo hi min max limit"),
    "deviation": _fact("std stddev stdev stdv sd se sem stderr variance standard_error std_error"),
    "cost": _fact(COSTS, COSTS),
    "time": _fact(TIMES + " seconds secs sec ms msec millis minutes hours year month day", TIMES),
    IDENTIFIER: _fact(
        "id ids uid uuid guid hash idx index key sha url link no nr number " + NAMED_BY_ID
    ),
    PREDICTED[0]: _fact(
        "correct_answer correct_label correct_response correct_output y_true y_pred y_prob y_proba "
        "y_score y_test y_hat",
        "gold predicted actual expected",
    ),
    "measure": _fact(),
    "count": _fact(
        "count counts cnt votes support samples length len words chars characters anzahl nombre "
        "total",
        "n num nb number count cnt total anzahl nombre",
    ),
    SETTING: _fact(
        VARYING, alone="temp step iter round page position pos order line batch age annotator rater"
    ),
    PREDICTED[1]: _fact(
        "answer answers target targets gold label labels truth groundtruth actual pred preds "
        "predicted prediction predictions response responses output outputs reference references "
        "hypothesis hypotheses expected observed text"
    ),
    OF_SYSTEM: _fact(
        "price rank ranking params parameters licence license size organization organisation likes "
        "downloads stars hub providers",
        "params parameters hub",
        "average avg mean",
    ),
}
"""Kind of a fact -> words of it, the first kind holds; a measure is no fact."""
VOCABULARY = MEASURES.union(_words("at k q p macro micro norm"), *chain(*FACTS.values()))
"""All words of measures and facts."""
NO_RUNS = VOCABULARY | _words(
    "train training val valid validation test dev eval strict lenient partial exact easy medium "
    "hard overall all vital nugget top first last final best raw normalized weighted context "
    "question retrieval semantic lexical llm judge human auto user"
)
"""Words before a measure that name no run."""


@cache
def fact(heading: str) -> str:
    """Return what a heading names that is neither a measure nor a role; '' for other headings."""
    if IR_COUNTS.fullmatch(heading):
        return "count"
    if re.fullmatch(r".+ [+-]", heading) and is_measure(heading[:-2]):
        return "count"  # of PyTerrier, of topics that are better or worse than the baseline
    parts = parts_of(heading)
    if not parts or is_measure(heading):
        return ""
    is_limit = parts[-1] in FACTS["limit"].alone and not (MEASURES | {"ci"}).isdisjoint(parts)
    if is_limit or QUANTILE.search(heading.lower()):
        return "limit"
    for kind, words in FACTS.items():
        if kind == "measure" and is_like_measure(heading):
            return ""
        if words.are_in(parts):
            return kind
    return ""


@cache
def is_plain(heading: str) -> bool:
    """Return whether a heading is a measure or a fact in all of its words, and so no run's name."""
    parts = parts_of(heading)
    is_known = is_measure(heading) or WITH_CUTOFF.fullmatch(heading) is not None
    is_counted = bool(parts) and parts[0] in FACTS["count"].first
    is_named = is_counted or fact(heading) in (IDENTIFIER, "p-value")
    return is_known or is_named or all(part in VOCABULARY or part.isdigit() for part in parts)


def runs_in(headings: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the run and the measure in each of several headings, as of ``gpt-4o_score``.

    None where fewer than two runs have the same measure, or what is beside it may be no run.

    Examples
    --------
    >>> runs_in(["gpt-4o_score", "claude_score"])
    {'gpt-4o_score': ('gpt-4o', 'score'), 'claude_score': ('claude', 'score')}
    """
    found: dict[str, tuple[str, str]] = {}
    for heading in headings:
        if match := BEHIND.fullmatch(heading) or BEFORE.fullmatch(heading):
            found[heading] = (match["run"], match["measure"])
    names = {name for name, _ in found.values()}
    n_measures = len({measure for _, measure in found.values()})
    is_table = len(names) > 1 and len(found) == len(names) * n_measures
    return found if is_table and not any(map(_is_no_run, names)) else {}


def _is_no_run(name: str) -> bool:
    words = {part.rstrip("0123456789") for part in parts_of(name)} - {""}
    return is_like_measure(name) or words <= NO_RUNS


def are_ids(names: Sequence[str]) -> bool:
    """Return whether names are ids, as of topics: several, alike but for their numbers."""
    shapes = {re.sub(r"\d+", "0", name) for name in names}
    words = {header_word(re.sub(r"\d+", "", name)) for name in names}
    is_alike = len(shapes) <= max(1, len(names) // 10) and all("0" in shape for shape in shapes)
    return len(names) > 1 and is_alike and not words & RUNS


def is_aggregate(name: str, role: str = "topic") -> bool:
    """Return whether a heading or label is that of a mean of others, or the like."""
    return AGGREGATES[role].fullmatch(name.strip().lower()) is not None


def aggregates(names: Iterable[str], role: str = "topic") -> list[str]:
    """Return the labels that stand for several: means, and what summaries have beside them.

    Runs that are all called so are none.
    """
    labels = list(names)
    found = [name for name in labels if is_aggregate(name, role)]
    if found:
        found += [name for name in labels if BESIDE.fullmatch(name.strip().lower())]
    return [] if role == "run" and len(found) == len(labels) else found
