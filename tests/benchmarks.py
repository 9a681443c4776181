"""Processor time of two checkouts in turn, or of one and another tool: ``python -m tests.benchmarks OLD NEW [ROW ...]``.

Either has one process that computes a row when it is told to; a row is computed once without being
timed, then `TURNS` times by each process in turn. A ratio is NEW / OLD within one turn, or NEW /
another tool where a row names one. What is printed is docs/explanation/costs.csv.
"""

from __future__ import annotations

import gzip
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

TURNS = 3
SHORTEST = 0.3
"""Seconds for which a short row is repeated."""
Work = Callable[[], object]
METRICS = ("AP", "nDCG@10")


class Row(NamedTuple):
    """What is timed, the largest ratio that is allowed (1.25 times what was measured), and the other tool."""

    work: Callable[[Path], Work]
    most: float
    peer: Callable[[Path], Work] | None = None


class Timed(NamedTuple):
    """Seconds by the clock and of processors, and the peak of memory in megabytes."""

    clock: float
    used: float
    peak: float


def cube(n_runs: int, n_topics: int = 50) -> Any:
    """Return simulated scores of two metrics."""
    from scorecube.collection.evaluation import cube_dataset
    from scorecube.metrics import parse_metric

    random = np.random.default_rng(1)
    shape = (len(METRICS), 1, n_runs, n_topics)
    scores = random.beta(1.2, 2.0, shape) * random.beta(4, 3, (len(METRICS), 1, n_runs, 1))
    labels = ([f"r{k:04d}" for k in range(n_runs)], [f"t{k:06d}" for k in range(n_topics)])
    return cube_dataset(scores, [parse_metric(name) for name in METRICS], ["auto"], *labels)


def analysing(
    record: str, n_runs: int, trials: int | None, n_topics: int = 50, **options: Any
) -> Callable[..., Work]:
    """Return what makes an analysis of simulated scores, on one core."""

    def prepare(folder: Path) -> Work:
        import scorecube as sc

        scores = cube(n_runs, n_topics)
        drawn: dict[str, Any] = {} if trials is None else {"trials": trials, "seed": 1}
        analysis = getattr(sc, record)(**options)
        return lambda: sc.analyse(scores, analysis, workers=1, **drawn)

    return prepare


def leaving_teams_out(n_topics: int, n_runs: int, n_teams: int) -> Callable[..., Work]:
    """Return what leaves teams out of a simulated collection, forty times each number."""

    def prepare(folder: Path) -> Work:
        import scorecube as sc
        from scorecube.testing import simulate_rankings

        judged = np.tile((20, 14, 9), (n_topics, 1))
        rankings = simulate_rankings(judged, n_runs=n_runs, n_teams=n_teams, depth=100, seed=1)
        scores = sc.with_rankings(sc.evaluate(rankings, ["nG@1", "P+", "nERR@10"]), rankings)
        return lambda: sc.analyse(scores, sc.Teams(pool_depth=10), trials=40, seed=1, workers=1)

    return prepare


def by_scipy(test: str, **options: Any) -> Callable[..., Work]:
    """Return what resamples the differences of all pairs of 6 runs by SciPy, a pair at a time."""

    def prepare(folder: Path) -> Work:
        import scipy.stats

        scores = cube(6)["score"].values[:, 0]
        first, second = np.triu_indices(6, 1)
        pairs = (scores[:, first] - scores[:, second]).reshape(-1, scores.shape[-1])
        function = getattr(scipy.stats, test)

        def work() -> None:
            for pair in pairs:
                function((pair,), np.mean, n_resamples=10_000, vectorized=True, **options)

        return work

    return prepare


def write_collection(folder: Path, digits: int, zipped: bool) -> list[Path]:
    """Write 20 runs of 50 topics, a third of whose documents is judged, and judgements of levels 0 to 2."""
    runs = folder / "runs"
    if runs.exists():
        return sorted(runs.iterdir())
    runs.mkdir()
    random = np.random.default_rng(1)
    judged = {topic: random.choice(20_000, 1_500, replace=False) for topic in range(401, 451)}
    with (folder / "qrels.txt").open("w") as file:
        for topic, documents in judged.items():
            levels = random.choice(3, len(documents), p=(0.93, 0.05, 0.02))
            judgements = zip(documents, levels, strict=True)
            file.writelines(
                f"{topic} 0 LA{10_000 + k}-{k % 97} {level}\n" for k, level in judgements
            )
    for number in range(20):
        lines = []
        for topic, documents in judged.items():
            others = np.setdiff1d(np.arange(20_000), documents)
            ranked = np.append(
                random.choice(documents, 333, False), random.choice(others, 667, False)
            )
            scores = np.sort(random.gamma(4.0, 3.0, 1000))[::-1]
            lines += [
                f"{topic} Q0 LA{10_000 + k}-{k % 97} {rank} {score:.{digits}f} run{number:03d}\n"
                for rank, (k, score) in enumerate(
                    zip(random.permutation(ranked), scores, strict=True), 1
                )
            ]
        text = "".join(lines).encode()
        (runs / f"run{number:03d}").write_bytes(gzip.compress(text, 6) if zipped else text)
    return sorted(runs.iterdir())


def opened(path: Path) -> Any:
    """Return a file of text that may be compressed."""
    return gzip.open(path, "rt") if path.read_bytes()[:2] == b"\x1f\x8b" else path.open()


def with_pytrec_eval(digits: int, zipped: bool) -> Callable[..., Work]:
    """Return what reads and scores the same files with pytrec_eval."""

    def prepare(folder: Path) -> Work:
        import pytrec_eval

        runs = write_collection(folder, digits, zipped)

        def work() -> None:
            with (folder / "qrels.txt").open() as file:
                judged = pytrec_eval.parse_qrel(file)
            evaluator = pytrec_eval.RelevanceEvaluator(judged, {"map", "ndcg_cut_10", "P_10"})
            for path in runs:
                with opened(path) as file:
                    evaluator.evaluate(pytrec_eval.parse_run(file))

        return work

    return prepare


def with_ir_measures(folder: Path) -> Work:
    """Return what reads and scores plain files with ir_measures."""
    import ir_measures

    tool: Any = ir_measures
    runs = write_collection(folder, 6, False)

    def work() -> None:
        judged = list(tool.read_trec_qrels(str(folder / "qrels.txt")))
        evaluator = tool.evaluator([tool.AP, tool.nDCG @ 10, tool.P @ 10], judged)
        for path in runs:
            evaluator.calc_aggregate(tool.read_trec_run(str(path)))

    return work


def evaluating(digits: int, zipped: bool) -> Callable[..., Work]:
    """Return what reads and scores 20 files of 50,000 lines."""

    def prepare(folder: Path) -> Work:
        import scorecube as sc

        runs = write_collection(folder, digits, zipped)
        judgements = folder / "qrels.txt"
        names = ["AP", "nDCG@10", "P@10"]
        return lambda: sc.evaluate(sc.read_rankings(runs, judgements, workers=1), names)

    return prepare


def program(*words: str) -> Callable[..., Work]:
    """Return what runs a command, or a statement, in a process of its own, on a study of 30 runs x 50 topics.

    A command that ends in --seed gets another one every time.
    """
    seeds = count(2)

    def prepare(folder: Path) -> Work:
        import scorecube as sc

        path = folder / f"study-{os.getpid()}"
        if not path.exists():
            sc.open_study(path, mode="a").add("one", cube=cube(30))
        line = ["-m", "scorecube", *(str(path) if word == "STUDY" else word for word in words)]
        if " " in words[0]:
            line = ["-c", *words]

        def work() -> None:
            seed = [str(next(seeds))] if words[-1] == "--seed" else []
            subprocess.run([sys.executable, *line, *seed], check=True, capture_output=True)

        return work

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
FILES = {"short": (6, False), "short gzip": (6, True), "long": (17, False), "long gzip": (17, True)}
"""Decimals of scores in files of runs, and whether these are compressed."""
STORED = program("swap", "STUDY", "--seed", "1")
IMPORTS = program("import xarray, zarr, numba")
ROWS = {
    **{f"swap {n}": Row(analysing("Swap", n, 1000), 1.25) for n in (30, 130, 1000)},
    **{f"bootstrap {n}": Row(analysing("Bootstrap", n, 10_000), 1.15) for n in SIZES},
    **{f"maxt {n}": Row(analysing("MaxT", n, 10_000), 1.25) for n in SIZES},
    **{f"leaderboard {n}": Row(analysing("Leaderboard", n, 10_000), 1.2) for n in SIZES},
    **{f"tukey {n}": Row(analysing("Tukey", n, 10_000), 1.25) for n in SIZES},
    **{f"correlate {n}": Row(analysing("Correlation", n, None), 1.25) for n in SIZES},
    "leaderboard 50 x 200000": Row(analysing("Leaderboard", 50, 1000, 200_000), 1.1),
    "leaderboard 10 x 1000000": Row(analysing("Leaderboard", 10, 1000, 1_000_000), 1.15),
    "teams 16": Row(leaving_teams_out(100, 44, 16), 1.5),
    "teams 50": Row(leaving_teams_out(50, 129, 50), 1.35),
    "sweep 300": Row(sweep, 0.95),
    **{
        f"runs {name}: pytrec_eval": Row(evaluating(*form), 0.5, with_pytrec_eval(*form))
        for name, form in FILES.items()
    },
    "runs short: ir_measures": Row(evaluating(6, False), 0.25, with_ir_measures),
    "bootstrap 6: SciPy": Row(analysing("Bootstrap", 6, 10_000), 0.1, by_scipy("bootstrap")),
    "randomisation 6: SciPy": Row(
        analysing("Randomisation", 6, 10_000),
        0.02,
        by_scipy("permutation_test", permutation_type="samples"),
    ),
    "--help: imports": Row(program("--help"), 0.35, IMPORTS),
    "info: imports": Row(program("info", "STUDY"), 0.45, IMPORTS),
    "stored swap: imports": Row(STORED, 1.1, IMPORTS),
    "swap: imports": Row(program("swap", "STUDY", "--seed"), 1.8, IMPORTS),
}


def timed(work: Work) -> Timed:
    """Return what a call takes, with the processes that it waits for, as the mean of `SHORTEST` seconds."""
    before, clock, calls = os.times(), time.perf_counter(), 0
    while not calls or time.perf_counter() - clock < SHORTEST:
        work()
        calls += 1
    passed = (time.perf_counter() - clock) / calls
    used = sum(os.times()[:4]) - sum(before[:4])
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(who).ru_maxrss for who in both)
    return Timed(passed, used / calls, peak / 1024)


def serve(folder: Path, side: str) -> None:
    """Compute the rows whose names are read, and print what they take."""
    for line in sys.stdin:
        row = ROWS[line.strip()]
        work = (row.peer if side == "peer" and row.peer else row.work)(folder)
        work()
        for _ in range(TURNS):
            print("timed", *timed(work), flush=True)
            sys.stdin.readline()


def started(tree: Path, side: str, folder: str) -> subprocess.Popen[str]:
    """Start the process of a checkout; rows are those of this file."""
    paths = os.pathsep.join((str(tree / "src"), str(Path(__file__).parents[1])))
    line = [sys.executable, "-m", "tests.benchmarks", "--serve", folder, side]
    return subprocess.Popen(
        line, env=os.environ | {"PYTHONPATH": paths}, stdin=subprocess.PIPE, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip


def asked(process: subprocess.Popen[str], name: str) -> Timed:
    """Return what a row takes."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    for line in process.stdout:
        if line.startswith("timed "):
            return Timed(*map(float, line.split()[1:]))
    raise RuntimeError(f"{name} ended the process")


def measure(name: str, old: Path, new: Path) -> None:
    """Print the line of one row; its ratio is the median, with the range."""
    base = "old" if ROWS[name].peer is None else "peer"
    with TemporaryDirectory() as folder:
        trees = {base: old if base == "old" else new, "new": new}
        processes = {side: started(tree, side, folder) for side, tree in trees.items()}
        try:
            turns = [{s: asked(p, name) for s, p in processes.items()} for _ in range(TURNS)]
        except RuntimeError as error:
            print(f"{name},{error}", flush=True)
            return
        finally:
            for process in processes.values():
                process.kill()
                process.wait()
    ratios = [turn["new"].used / max(turn[base].used, 0.01) for turn in turns]
    clock, used, peak = map(statistics.median, zip(*(turn["new"] for turn in turns), strict=True))
    its_peak = statistics.median(turn[base].peak for turn in turns)
    ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    print(
        f"{name},{clock:.2f},{used:.2f},{peak:.0f},{its_peak:.0f},{ratio},{ROWS[name].most:g}",
        flush=True,
    )


def main() -> None:
    """Print a line for each row."""
    if sys.argv[1] == "--serve":
        serve(Path(sys.argv[2]), sys.argv[3])
        return
    old, new, *chosen = sys.argv[1:]
    print("row,s,processor s,MB,MB of the other,ratio of processor time,at most")
    for name in chosen or ROWS:
        measure(name, Path(old).resolve(), Path(new).resolve())


if __name__ == "__main__":
    main()
