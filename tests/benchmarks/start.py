"""Whole commands on 126 runs x 50 topics, five measures: with an empty cache of machine code, and with a full one (rows N1 and N2).

Medians of wall seconds, with processor seconds in brackets. numpy's import is timed in turn with this package's.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

TURNS, COLD_TURNS = 5, 3
N_RUNS, N_TEAMS, N_TOPICS, DEPTH = 126, 28, 50, 100
LIMITS = {
    "--help": 0.5, "swap --help": 1.0, "info": 0.9, "show": 0.9, "swap": 1.5, "bootstrap": 1.5, "correlate": 1.5, "tukey": 1.5,
    "report": 3.0,
}  # fmt: skip
COLD_LIMITS = {"evaluate": 8, "swap": 5, "bootstrap": 7, "correlate": 5, "teams": 10}


def write_runs(folder: Path) -> list[str]:
    """Write simulated run files, judgements and teams; return the arguments of evaluate."""
    random = np.random.default_rng(1)
    (folder / "runs").mkdir()
    topics = range(1, N_TOPICS + 1)
    levels = random.integers(0, 4, (N_TOPICS, 4 * DEPTH))
    lines = (
        f"{topic} 0 d{k} {level}\n"
        for topic, row in zip(topics, levels, strict=True)
        for k, level in enumerate(row)
    )
    (folder / "qrels.txt").write_text("".join(lines))
    teams = ["run,team\n"]
    for run in range(N_RUNS):
        found = []
        for topic in topics:
            scores = levels[topic - 1] + random.normal(scale=2 + run / 50, size=4 * DEPTH)
            best = np.argsort(-scores)[:DEPTH]
            found += [
                f"{topic} Q0 d{k} {rank} {scores[k]:.5f} run{run}\n" for rank, k in enumerate(best)
            ]
        (folder / "runs" / f"run{run}.txt").write_text("".join(found))
        teams.append(f"run{run},team{run % N_TEAMS}\n")
    (folder / "teams.csv").write_text("".join(teams))
    return [
        "--name", "one", "--runs", str(folder / "runs"), "--qrels", str(folder / "qrels.txt"), "--teams", str(folder / "teams.csv"),
    ]  # fmt: skip


def timed(command: Sequence[str], **environment: str) -> tuple[float, float]:
    """Return the wall and processor seconds of a command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        [sys.executable, *command], env=kept | environment, capture_output=True, check=True
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(name: str, times: Sequence[tuple[float, float]], limit: float | None) -> None:
    """Print the medians of a row, and its goal."""
    wall, processor = (statistics.median(column) for column in zip(*times, strict=True))
    goal = "" if limit is None else f"  goal {limit:g}"
    print(f"  {name:12} {wall:6.2f} s [{processor:6.2f}]{goal}", flush=True)


def main() -> None:
    """Run the rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = write_runs(folder)
        study, cold, fresh = (folder / f"{each}.zarr" for each in ("study", "cold", "fresh"))
        evaluate = ["-m", "scorecube", "evaluate", str(study), *words]
        timed(evaluate)
        shutil.copytree(study, fresh)  # without results, which would be found again
        print("N1 warm, medians of", TURNS)
        seeds = iter(range(1, 1000))
        for label, limit in LIMITS.items():
            command, *rest = label.split()
            options = {
                "--help": [],
                "info": [str(study)],
                "show": [str(study), "swap"],
                "report": [str(study), "--out", str(folder / "report.html")],
            }.get(command, [str(study)])
            words_of = ["-m", "scorecube", command, *(rest or options)]
            resampled = not rest and command in ("swap", "bootstrap", "correlate", "tukey")
            if command == "show":
                timed(["-m", "scorecube", "swap", str(study), "--seed", "0"])
            times = [
                timed([*words_of, *(["--seed", str(next(seeds))] if resampled else [])])
                for _ in range(TURNS + 1)
            ]
            show(label, times[1:], limit)
        ratios = [
            timed(["-c", "import scorecube"])[0] / timed(["-c", "import numpy"])[0]
            for _ in range(TURNS)
        ]
        print(f"  import scorecube: {statistics.median(ratios):.2f} of import numpy  goal 1.5")
        print("N2 empty cache, medians of", COLD_TURNS)
        for command, limit in COLD_LIMITS.items():
            times = []
            for turn in range(COLD_TURNS):
                cache = folder / f"cache-{command}-{turn}"
                shutil.rmtree(cold, ignore_errors=True)
                shutil.copytree(fresh, cold)
                given = [*words, "--replace"] if command == "evaluate" else []
                run = ["-m", "scorecube", command, str(cold), *given]
                times.append(timed(run, NUMBA_CACHE_DIR=str(cache)))
            show(command, times, limit)


if __name__ == "__main__":
    main()
