"""A small made-up shared task, as files: what a newcomer has who runs one. ``python tests/newcomer.py FOLDER`` writes it.

12 runs of 4 teams (``runs/*.txt``, TREC format), judgements of 40 topics at levels 0 to 3 (``qrels.txt``), and which team each run is of
(``teams.csv``). A run sees a document's level through noise: its own, and its team's on that topic; the better the team, the less noise.
A topic has 4 to 20 relevant documents among 60, and a run returns 50. The README's commands run on these files.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

SEED = 2027
N_TEAMS, RUNS_PER_TEAM, N_TOPICS, N_DOCUMENTS, DEPTH = 4, 3, 40, 60, 50


def write(folder: Path) -> None:
    """Write ``runs/``, ``qrels.txt`` and ``teams.csv`` into a folder, which is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(SEED)
    topics = [f"{number:02d}" for number in range(1, N_TOPICS + 1)]
    documents = [f"doc{number:02d}" for number in range(N_DOCUMENTS)]
    level = dict.fromkeys(((topic, document) for topic in topics for document in documents), 0)
    for topic in topics:
        for document in chance.sample(documents, chance.randint(4, 20)):
            level[topic, document] = chance.choice([1, 1, 2, 3])
    lines = [f"{topic} 0 {document} {each}\n" for (topic, document), each in level.items()]
    (folder / "qrels.txt").write_text("".join(lines), encoding="utf-8")
    (folder / "runs").mkdir()
    teams = ["run,team\n"]
    for team in range(N_TEAMS):
        shared = {key: chance.gauss(0, 1) for key in level}
        for number in range(RUNS_PER_TEAM):
            name = f"team{'ABCD'[team]}-{number + 1}"
            noise = 1.2 + 0.25 * team + 0.1 * number
            lines = []
            for topic in topics:
                seen = {
                    document: level[topic, document]
                    + noise * (0.6 * shared[topic, document] + 0.8 * chance.gauss(0, 1))
                    for document in documents
                }
                best = sorted(seen, key=seen.__getitem__, reverse=True)[:DEPTH]
                lines += [
                    f"{topic} Q0 {document} {rank} {seen[document]:.4f} {name}\n"
                    for rank, document in enumerate(best, 1)
                ]
            (folder / "runs" / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
            teams.append(f"{name},team{'ABCD'[team]}\n")
    (folder / "teams.csv").write_text("".join(teams), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
