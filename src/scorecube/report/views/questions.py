"""The questions that a report answers first; views say which of them their analysis answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question about a study.

    text: As a page shows it.
    analysis: To run if no result answers the question yet; its answer comes first.
    short: In few words, for cards.
    contents: In one to three words, for the contents of a page.
    """

    text: str
    analysis: str
    short: str = ""
    contents: str = ""


LEADERBOARD = Question("Which systems lead, and what is a rank worth?", "leaderboard", "Who leads?")
DISCRIMINATION = Question(
    "Which metrics discriminate best?",
    "bootstrap",
    "Which metric separates runs best?",
    "Which metric",
)
DIFFERENCE = Question("How large must a difference be?", "swap", contents="Differences")
TOPICS = Question("How many topics are needed?", "design", "How many topics next time?", "Topics")
AGREEMENT = Question(
    "Do metrics and gain settings agree?", "correlate", "Do metrics agree?", "Agreement"
)
JUDGES = Question(
    "Can a judge stand in for the truth, and what do labels buy?",
    *("judges", "Which judge?", "Judges"),
)
TEAMS = Question(
    "Does leaving teams out change the results?", "teams", "And new teams?", "New teams"
)
QUESTIONS = (LEADERBOARD, DISCRIMINATION, DIFFERENCE, TOPICS, AGREEMENT, TEAMS)
ONLY_ANSWERED = (JUDGES,)
"""Questions that most studies do not have: shown if a result answers them."""
