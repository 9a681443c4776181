"""The questions that a report answers first; views say which of them their analysis answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question about a study.

    Parameters
    ----------
    text
        As a page shows it.
    analysis
        To run if no result answers the question yet; its answer comes first.
    """

    text: str
    analysis: str


LEADERBOARD = Question("Which systems lead, and what is a rank worth?", "leaderboard")
DISCRIMINATION = Question("Which metrics discriminate best?", "bootstrap")
DIFFERENCE = Question("How large must a difference be?", "swap")
TOPICS = Question("How many topics are needed?", "design")
AGREEMENT = Question("Do metrics and gain settings agree?", "correlate")
JUDGES = Question("Can a judge stand in for the truth, and what do labels buy?", "judges")
TEAMS = Question("Does leaving teams out change the results?", "teams")
QUESTIONS = (LEADERBOARD, DISCRIMINATION, DIFFERENCE, TOPICS, AGREEMENT, TEAMS)
ONLY_ANSWERED = (JUDGES,)
"""Questions that most studies do not have: shown if a result answers them."""
