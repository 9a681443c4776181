"""Names of dimensions, variables, attributes and random-stream purposes.

A label that is written to stores and tables is spelled here and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple

# Dimensions (singular, as everywhere in the project).
METRIC: Final = "metric"  # evaluation measure, by its canonical name, e.g. ``nDCG@10``
GAIN: Final = "gain"  # gain setting: ``3:2:1``, highest level first, or ``auto`` (gain = level)
RUN: Final = "run"  # a system's output, by run name
TOPIC: Final = "topic"  # a topic (question, query), by its id as a string
COLLECTION: Final = "collection"  # collection, benchmark or task, by name; of boards along topic
RANK: Final = "rank"  # position in a ranked list, from 1
LEVEL: Final = "level"  # relevance level: 0 judged not relevant, 1.. relevant, higher is better
TRIAL: Final = "trial"  # one resampling replicate, from 0
HALF: Final = "half"  # first (0) or second (1) topic sample of a swap trial
DRAW: Final = "draw"  # position inside one topic sample, from 0
BIN: Final = "bin"  # bin of differences, from 0; of a stated number the last is open above
CONFIDENCE: Final = "confidence"  # 1 - accepted swap rate, e.g. 0.95
SIZE: Final = "size"  # number of topics in a sample
SAMPLING: Final = "sampling"  # how the two topic samples of a trial are drawn
FUZZINESS: Final = "fuzziness"  # share of the larger mean below which a difference is none
PAIR: Final = "pair"  # two runs, the first before the second; pairs are in label order
RUN_A: Final = "run_a"  # first run of a pair, by its label (coordinate along pair)
RUN_B: Final = "run_b"  # second run of a pair, by its label (coordinate along pair)
TEST: Final = "test"  # classical test: t, wilcoxon or sign
ALPHA: Final = "alpha"  # significance level, e.g. 0.05
DOUBTS: Final = "doubts"  # attribute of results and fact of a collection: what may be a mistake
JUDGEMENTS: Final = "judgements"  # set of judgements of a gain setting (coordinate along gain)
SETTING: Final = "setting"  # gain setting within a set of judgements (coordinate along gain)
COMPARISON: Final = "comparison"  # two rankings of the same runs that are correlated
LEAVE: Final = "leave"  # number of teams left out; 0 is the whole collection
TOPIC_STEP: Final = "topic_step"  # topics in a step of a nested chain of topic sets, first all
COEFFICIENT: Final = "coefficient"  # reliability coefficient: erho2 or phi
N_TOPICS: Final = "n_topics"  # number of topics of mean scores
TARGET: Final = "target"  # wanted value of a reliability coefficient, e.g. 0.95
SOURCE: Final = "source"  # source of variance of scores: systems, topics, interaction
JUDGE: Final = "judge"  # set of judgements that is compared with the truth
JUDGE_LEVEL: Final = "judge_level"  # level under a judge, where `LEVEL` is that under the truth
LABEL_STATISTIC: Final = "label_statistic"  # kappa, weighted_kappa or alpha of labels
N_LABELLED: Final = "n_labelled"  # topics with labels of the truth that means are corrected by

MATCH: Final = "match"  # battles of two systems on a prompt
BATTLER: Final = "battler"  # a system in battles, whatever runs are selected

# Coordinates and variables of the three kinds of dataset.
TEAM: Final = "team"  # team of a run (along run); where teams are left out, a dimension
SYSTEM: Final = "system"  # system whose repetition a run is, as a model with a seed (along run)
TOPIC_GROUP: Final = "topic_group"  # group of a topic, such as a conversation (along topic)
LEFT_OUT: Final = "dropped_topics"
"""Attribute of cubes and results: sentences on which topics are used."""
WORDS: Final = "words"
"""Attribute of cubes and results: what users call runs, topics, collections and repetitions."""
USUAL_WORDS: Final = (RUN, TOPIC, COLLECTION, "repetition")
SCORE: Final = "score"  # effectiveness score of a run on a topic (the cube's one variable)
N_RETRIEVED: Final = "n_retrieved"  # documents returned for a topic; 0 where the run lacks it
N_JUDGED: Final = "n_judged"  # number of documents judged at each level, per topic
DOCUMENT_AT_RANK: Final = "document_at_rank"  # number of the judged document at a rank
LEVEL_OF_DOCUMENT: Final = "level_of_document"  # relevance level of each judged document
INTENT: Final = "intent"  # number of an intent of a topic
INTENT_LEVEL: Final = "intent_level"  # relevance level of a judged document for an intent
INTENT_PROBABILITY: Final = "intent_probability"  # probability of an intent of a topic
DOCUMENT_KEY: Final = "document_key"  # hash of the id of a judged document; 0 behind the last
LABEL_COUNTS: Final = "label_counts"  # documents by their levels under truth and judge
TOPIC_SAMPLE: Final = "topic_sample"  # positions of topics drawn in each trial, half and draw
TOPIC_SIGN: Final = "topic_sign"  # sign of each topic in each trial of the randomisation test
TEAM_LEFT_OUT: Final = "team_left_out"  # whether a team is left out, by trial and number of teams
TOPIC_PLACE: Final = "topic_place"  # place of a topic in a trial, of which a step keeps the first
RUN_PERMUTATION: Final = "run_permutation"  # positions of runs, permuted in each topic and trial

USES_GAINS: Final = "uses_gains"  # whether scores depend on the gain setting (along metric)
HIGHER_IS_BETTER: Final = "higher_is_better"  # whether larger scores are better (along metric)
SCORE_LOW: Final = "score_low"
SCORE_HIGH: Final = "score_high"
"""Coordinates along metric: least and greatest score that there can be; NaN where unknown."""
ABOUT_METRICS: Final = (HIGHER_IS_BETTER, SCORE_LOW, SCORE_HIGH)
USES_SETTINGS: Final = (
    "uses_settings"  # the same in one set of judgements, where gains hold several
)

UNJUDGED: Final = -1  # level code of an unjudged document, and of the padding behind a list's end

AUTO: Final = "auto"  # the default gain setting: the gain of a level is its number

N_BAGS: Final = 1_000
"""Bags of topics, where there are more units than sums of squares are exact of: the same estimand,
and the same standard errors within a few percent. Another number is an attribute of a cube."""

DEFAULT_METRICS: Final = ("AP", "Q", "nDCG@10", "nERR@10", "P+")
"""Metrics that are evaluated by default."""


class Purpose(IntEnum):
    """Purpose of a stream of random words: part of the key, so that streams never overlap."""

    SWAP_TOPICS = 1
    SIMULATION = 2
    BOOTSTRAP_TOPICS = 3
    TOPIC_SIGNS = 4
    RUN_PERMUTATIONS = 5
    UNPAIRED_TOPICS = 6
    TEAMS_LEFT_OUT = 8
    TOPIC_CHAIN = 9
    SWAP_PAIRS = 16
    ESTIMATES = 33
    LABELLED_TOPICS = 53
    BAGS = 54
    LEFT_OUT = 55


def plural(noun: str) -> str:
    """Return the plural of a regular noun: ``topics``, ``categories``, ``classes``."""
    if noun.endswith("y") and noun[-2:-1] not in {*"aeiou"}:
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


class Nouns(NamedTuple):
    """What users call a run, a topic, a collection and a repetition, and several of them."""

    run: str
    topic: str
    collection: str
    repetition: str

    @property
    def runs(self) -> str:
        """Several runs."""
        return plural(self.run)

    @property
    def topics(self) -> str:
        """Several topics."""
        return plural(self.topic)

    @property
    def collections(self) -> str:
        """Several collections."""
        return plural(self.collection)

    def write(self, text: str) -> str:
        """Return a text of ours, in which no names of users stand, in the words of users."""
        return NOUN.sub(self._instead, text)

    def _instead(self, found: re.Match[str]) -> str:
        noun = self[USUAL_WORDS.index(found[1].lower())]
        noun = plural(noun) if found[2] else noun
        return noun[:1].upper() + noun[1:] if found[1][0].isupper() else noun


USUAL_NOUNS: Final = Nouns(*USUAL_WORDS)
NOUN = re.compile(r"(?<![-\w])(run|topic|collection)(s?)(?![-\w])", re.IGNORECASE)


def nouns(attrs: Mapping[Any, Any]) -> Nouns:
    """Return what users call runs, topics and collections, by attributes of a cube or result."""
    return Nouns(*map(str, attrs[WORDS])) if WORDS in attrs else USUAL_NOUNS


def heading(column: str) -> str:
    """Return the words above a column: ``topics`` of ``n_topics``.

    >>> heading("p_value"), heading("n_topics"), heading("rank_low")
    ('p-value', 'topics', 'rank low')
    """
    return column.removeprefix("n_").replace("p_value", "p-value").replace("_", " ")


def word(attrs: Mapping[Any, Any], name: str) -> str:
    """Return what users call one of `USUAL_WORDS`, by the attributes of a cube or result."""
    return nouns(attrs)[USUAL_WORDS.index(name)]
