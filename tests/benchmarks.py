"""Times of two checkouts in turn, as ratios: ``python -m tests.benchmarks OLD NEW [ROW ...]``.

Each checkout has one process that computes a row when it is told to; a row is computed once without
being timed, then `TURNS` times by each process in turn. A ratio is NEW / OLD within one turn.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

TURNS = 5
SHORTEST = 0.3
"""Seconds for which a short row is repeated."""
Work = Callable[[], object]
METRICS = ("AP", "nDCG@10")


class Row(NamedTuple):
    """What is timed, and the largest ratio that is allowed."""

    work: Callable[[Path], Work]
    most: float


def cube(n_runs: int, n_topics: int = 50) -> Any:
    """Return simulated scores of two metrics."""
    from scorecube.collection.evaluation import cube_dataset
    from scorecube.metrics import parse_metric

    random = np.random.default_rng(1)
    shape = (len(METRICS), 1, n_runs, n_topics)
    scores = random.beta(1.2, 2.0, shape) * random.beta(4, 3, (len(METRICS), 1, n_runs, 1))
    labels = ([f"r{k:04d}" for k in range(n_runs)], [f"t{k:06d}" for k in range(n_topics)])
    return cube_dataset(scores, [parse_metric(name) for name in METRICS], ["auto"], *labels)


def analysing(record: str, n_runs: int, trials: int | None, **options: Any) -> Callable[..., Work]:
    """Return what makes an analysis of simulated scores, on one core."""

    def prepare(folder: Path) -> Work:
        import scorecube as sc

        scores = cube(n_runs)
        drawn: dict[str, Any] = {} if trials is None else {"trials": trials, "seed": 1}
        analysis = getattr(sc, record)(**options)
        return lambda: sc.analyse(scores, analysis, workers=1, **drawn)

    return prepare


def leaving_teams_out(n_topics: int, n_runs: int, n_teams: int) -> Callable[..., Work]:
    """Return what leaves teams out of a simulated collection, ten times each number."""

    def prepare(folder: Path) -> Work:
        import scorecube as sc
        from scorecube.testing import simulate_rankings

        judged = np.tile((20, 14, 9), (n_topics, 1))
        rankings = simulate_rankings(judged, n_runs=n_runs, n_teams=n_teams, depth=100, seed=1)
        scores = sc.with_rankings(sc.evaluate(rankings, ["nG@1", "P+", "nERR@10"]), rankings)
        return lambda: sc.analyse(scores, sc.Teams(pool_depth=10), trials=10, seed=1, workers=1)

    return prepare


def write_collection(folder: Path, n_files: int = 20, depth: int = 1000) -> None:
    """Write runs of 50 topics, a third of whose documents is judged, and judgements of levels 0 to 2."""
    if (folder / "runs").exists():
        return
    (folder / "runs").mkdir()
    random, topics, pool, n_judged = np.random.default_rng(1), range(401, 451), 20_000, 1_500
    judged = {topic: random.choice(pool, n_judged, replace=False) for topic in topics}
    with (folder / "qrels.txt").open("w") as file:
        for topic in topics:
            levels = random.choice(3, n_judged, p=(0.93, 0.05, 0.02))
            lines = zip(judged[topic], levels, strict=True)
            file.writelines(f"{topic} 0 LA{10_000 + k}-{k % 97} {level}\n" for k, level in lines)
    for number in range(n_files):
        with (folder / "runs" / f"run{number:03d}").open("w") as file:
            for topic in topics:
                known = random.choice(judged[topic], depth // 3, replace=False)
                others = np.setdiff1d(np.arange(pool), judged[topic])
                others = random.choice(others, depth - len(known), replace=False)
                scores = np.sort(random.gamma(4.0, 3.0, depth))[::-1]
                ranked = random.permutation(np.concatenate((known, others)))
                file.writelines(
                    f"{topic} Q0 LA{10_000 + k}-{k % 97} {rank} {score:.6f} run{number:03d}\n"
                    for rank, (k, score) in enumerate(zip(ranked, scores, strict=True), 1)
                )


def with_pytrec_eval(folder: Path) -> Work:
    """Return what reads and scores the same files with pytrec_eval."""
    import pytrec_eval

    write_collection(folder)
    measures = {"map", "ndcg_cut_10", "P_10"}

    def work() -> None:
        with (folder / "qrels.txt").open() as file:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), measures)
        for path in sorted((folder / "runs").iterdir()):
            with path.open() as file:
                evaluator.evaluate(pytrec_eval.parse_run(file))

    return work


def leading(folder: Path) -> Work:
    """Return what ranks 50 systems on 200,000 items, in bags where there are bags."""
    import scorecube as sc

    scores = cube(50, 200_000)
    return lambda: sc.analyse(scores, sc.Leaderboard(), trials=10_000, seed=1, workers=2)


def evaluating(folder: Path) -> Work:
    """Return what reads and scores 20 files of 50,000 lines."""
    import scorecube as sc

    write_collection(folder)
    names = ["AP", "Q", "nDCG@10", "P@10"]
    runs, judgements = str(folder / "runs" / "*"), folder / "qrels.txt"
    return lambda: sc.evaluate(sc.read_rankings(runs, judgements), names)


def program(*words: str) -> Callable[..., Work]:
    """Return what runs a command in a process of its own, on a study of 30 runs x 50 topics."""

    def prepare(folder: Path) -> Work:
        import scorecube as sc

        path = folder / f"study-{os.getpid()}"
        if not path.exists():
            sc.open_study(path, mode="a").add("one", cube=cube(30))
        line = [
            sys.executable,
            "-m",
            "scorecube",
            *(str(path) if w == "STUDY" else w for w in words),
        ]
        return lambda: subprocess.run(line, check=True, capture_output=True)

    return prepare


def sweep(folder: Path) -> Work:
    """Return what analyses 300 tiny collections into a new study."""
    random, number = np.random.default_rng(1), 0
    (folder / "csv").mkdir(exist_ok=True)
    for k in range(300):
        rows = [f"t{t},{','.join(f'{x:.4f}' for x in random.random(6))}" for t in range(20)]
        text = "\n".join(["topic," + ",".join(f"s{r}" for r in range(6)), *rows])
        (folder / "csv" / f"c{k:03d}.csv").write_text(text)

    def work() -> None:
        nonlocal number
        number += 1
        name = folder / f"sweep-{os.getpid()}-{number}"
        name.with_suffix(".toml").write_text(
            f'study = "{name}"\ntrials = 100\nseed = 1\n[[collection]]\neach = "csv/*.csv"\n'
            'name = "{stem}"\nscores = "{path}"\nmetric = "AP"\n'
            '[[analysis]]\nname = "swap"\n[[analysis]]\nname = "bootstrap"\n'
        )
        line = [sys.executable, "-m", "scorecube", "sweep", f"{name}.toml", "--quiet"]
        done = subprocess.run(line, capture_output=True, text=True)
        assert not done.returncode, done.stderr

    return work


SIZES = (30, 130, 500)
ROWS = {
    **{f"swap {n}": Row(analysing("Swap", n, 1000), 1.3) for n in (30, 130, 1000)},
    **{f"bootstrap {n}": Row(analysing("Bootstrap", n, 10_000), 2.0) for n in SIZES},
    **{f"maxt {n}": Row(analysing("MaxT", n, 10_000), 1.7) for n in SIZES},
    **{f"leaderboard {n}": Row(analysing("Leaderboard", n, 10_000), 1.7) for n in SIZES},
    **{f"tukey {n}": Row(analysing("Tukey", n, 10_000), 1.4) for n in SIZES},
    **{f"correlate {n}": Row(analysing("Correlation", n, None), 1.0) for n in SIZES},
    "teams 16": Row(leaving_teams_out(100, 44, 16), 4.0),
    "teams 50": Row(leaving_teams_out(50, 129, 50), 4.0),
    "evaluate": Row(evaluating, 6.0),
    "items": Row(leading, 0.05),
    "pytrec_eval": Row(with_pytrec_eval, 1.0),
    "sweep 300": Row(sweep, 1.5),
    "--help": Row(program("--help"), 1.0),
    "info": Row(program("info", "STUDY"), 1.0),
    "swap, a program": Row(program("swap", "STUDY", "--seed", "1"), 1.3),
}

IF_NAMED = {
    "items": "the tree before the round takes minutes",
    "pytrec_eval": "the same in both trees, to be compared with the row `evaluate`",
}


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it waited for."""
    return time.process_time() + sum(os.times()[2:4])


def serve(folder: Path) -> None:
    """Compute the rows whose names are read, and print the seconds by the clock and of processors."""
    work: dict[str, Work] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in work:
            work[name] = ROWS[name].work(folder)
            work[name]()
        clock, used, count = time.perf_counter(), processor_seconds(), 0
        while not count or time.perf_counter() - clock < SHORTEST:
            work[name]()
            count += 1
        passed, spent = time.perf_counter() - clock, processor_seconds() - used
        print(f"seconds {passed / count} {spent / count}", flush=True)


def started(tree: Path, folder: str) -> subprocess.Popen[str]:
    """Start the process of a checkout; rows are those of this file."""
    paths = os.pathsep.join((str(tree / "src"), str(Path(__file__).parents[1])))
    line = [sys.executable, "-m", "tests.benchmarks", "--serve", folder]
    return subprocess.Popen(
        line, env=os.environ | {"PYTHONPATH": paths}, stdin=subprocess.PIPE, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip


def asked(process: subprocess.Popen[str], name: str) -> tuple[float, float]:
    """Return the seconds of a row, by the clock and of processors."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    for line in process.stdout:
        if line.startswith("seconds "):
            _, clock, used = line.split()
            return float(clock), float(used)
    raise RuntimeError(f"{name} ended the process")


def spread(values: list[float]) -> str:
    """Return the median of values, and their range."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def measure(name: str, trees: list[Path]) -> None:
    """Print the ratios of one row."""
    with TemporaryDirectory() as folder:
        processes = [started(tree, folder) for tree in trees]
        turns = []
        try:
            for _ in range(TURNS):
                turns.append([asked(process, name) for process in processes])
            clock = [new[0] / old[0] for old, new in turns]
            used = [new[1] / max(old[1], 0.01) for old, new in turns]
            times = " ".join(f"{statistics.median(t[k][0] for t in turns):8.3f}" for k in range(2))
            print(
                f"{name:18}{times} s  clock {spread(clock):22}  processors {spread(used):22}"
                f"  <= {ROWS[name].most}",
                flush=True,
            )
        except RuntimeError as error:
            print(f"{name:18}{error}", flush=True)
        finally:
            for process in processes:
                process.kill()
                process.wait()


def main() -> None:
    """Print a line for each row."""
    if sys.argv[1] == "--serve":
        serve(Path(sys.argv[2]))
        return
    old, new, *chosen = sys.argv[1:]
    for name in chosen or [name for name in ROWS if name not in IF_NAMED]:
        measure(name, [Path(old).resolve(), Path(new).resolve()])


if __name__ == "__main__":
    main()
