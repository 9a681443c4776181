"""Reading runs, judging them and computing 24 metrics through the public API, against the tools of the field.

All are timed in turn, and ratios are taken inside each turn: machines drift, ratios hold. Ours reads the judgements in each
turn; the other tools, which compute 20 measures, have read them before.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import scorecube as sc
from scorecube.collection.rankings import judge
from scorecube.ingest.qrels import read_qrels
from scorecube.ingest.trec import read_run
from scorecube.kernels.workspace import Workspace
from scorecube.metrics import gain_values, parse_metric

N_FILES, N_TOPICS, DEPTH, N_JUDGED, POOL = 100, 50, 1000, 1500, 20_000
N_FILES_OF_OTHERS = 5
N_FILES_OF_MEMORY = 1000
REPEATS = 5
METRICS = (
    "AP", "Rprec", "RR", "bpref", "P@5", "P@10", "P@100", "P@1000", "Recall@100", "Recall@1000", "Hit@5", "Hit@10",
    "nDCG", "nDCG@10", "nDCG@20", "nDCG@100", "Q", "Q@20", "P+", "O", "ERR@20", "nERR@10", "RBP", "NWRR",
)  # fmt: skip
ONE_GAIN = ("2:1",)
FIVE_GAINS = ("2:1", "1:1", "3:1", "5:1", "10:1")
TREC_EVAL = (
    "map", "Rprec", "recip_rank", "bpref", "P_5", "P_10", "P_20", "P_100", "P_1000", "recall_20", "recall_100",
    "recall_1000", "success_1", "success_5", "success_10", "ndcg", "ndcg_cut_10", "ndcg_cut_20", "ndcg_cut_100", "ndcg_cut_1000",
)  # fmt: skip
IR_MEASURES = (
    "AP", "Rprec", "RR", "Bpref", "P@5", "P@10", "P@20", "P@100", "P@1000", "R@20", "R@100", "R@1000", "Success@1",
    "Success@5", "Success@10", "nDCG", "nDCG@10", "nDCG@20", "nDCG@100", "nDCG@1000",
)  # fmt: skip
RANX = (
    "map", "r-precision", "mrr", "bpref", "precision@5", "precision@10", "precision@20", "precision@100",
    "precision@1000", "recall@20", "recall@100", "recall@1000", "hit_rate@1", "hit_rate@5", "hit_rate@10", "ndcg",
    "ndcg@10", "ndcg@20", "ndcg@100", "ndcg@1000",
)  # fmt: skip
Work = Callable[[Path], Any]


def document(number: int) -> str:
    """Return an id like those of TREC disks 4 and 5."""
    source = ("FBIS3-", "FBIS4-", "FR940104-0-", "LA052190-", "FT921-")[number % 5]
    return f"{source}{10_000 + number}"


def write_collection(folder: Path, n_files: int, seed: int = 1) -> tuple[list[Path], Path]:
    """Write runs of which about a third of the documents is judged, and judgements of levels 0 to 2."""
    random = np.random.default_rng(seed)
    ids = [document(number) for number in range(POOL)]
    qrels = folder / "qrels.txt"
    topics = [str(401 + number) for number in range(N_TOPICS)]
    judged = {topic: random.choice(POOL, N_JUDGED, replace=False) for topic in topics}
    with qrels.open("w") as file:
        for topic in topics:
            levels = random.choice(3, N_JUDGED, p=(0.93, 0.05, 0.02))
            file.writelines(
                f"{topic} 0 {ids[k]} {level}\n"
                for k, level in zip(judged[topic], levels, strict=True)
            )
    (folder / "runs").mkdir()
    files = [folder / "runs" / f"input.run{number:03d}" for number in range(n_files)]
    for path in files:
        with path.open("w") as file:
            for topic in topics:
                known = random.choice(judged[topic], DEPTH // 3, replace=False)
                others = random.choice(
                    np.setdiff1d(np.arange(POOL), judged[topic]), DEPTH - len(known), replace=False
                )
                chosen = random.permutation(np.concatenate((known, others)))
                scores = np.sort(random.gamma(4.0, 3.0, DEPTH))[::-1]
                file.writelines(
                    f"{topic} Q0 {ids[k]} {rank} {score:.6f} {path.name}\n"
                    for rank, (k, score) in enumerate(zip(chosen, scores, strict=True), 1)
                )
    return files, qrels


def seconds(work: Callable[[], Any]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def installed(name: str) -> bool:
    """Whether a package can be imported."""
    return importlib.util.find_spec(name) is not None


def with_pytrec_eval(qrels: Path) -> Work | None:
    """Return what reads and scores one file with pytrec_eval."""
    if not installed("pytrec_eval"):
        return None
    import pytrec_eval

    with qrels.open() as lines:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), set(TREC_EVAL))

    def work(path: Path) -> Any:
        with path.open() as lines:
            return evaluator.evaluate(pytrec_eval.parse_run(lines))

    return work


def with_ir_measures(qrels: Path) -> Work | None:
    """Return what reads and scores one file with ir_measures."""
    if not installed("ir_measures"):
        return None
    import ir_measures

    read: Any = ir_measures
    evaluator = ir_measures.evaluator(
        [ir_measures.parse_measure(name) for name in IR_MEASURES],
        list(read.read_trec_qrels(str(qrels))),
    )
    return lambda path: list(evaluator.iter_calc(read.read_trec_run(str(path))))


def with_ranx(qrels: Path) -> Work | None:
    """Return what reads and scores one file with ranx, on one thread as the others."""
    if not installed("ranx"):
        return None
    import ranx

    judgements = ranx.Qrels.from_file(str(qrels), kind="trec")
    return lambda path: ranx.evaluate(
        judgements, ranx.Run.from_file(str(path), kind="trec"), list(RANX), threads=1
    )


OTHERS: Mapping[str, Callable[[Path], Work | None]] = {
    "pytrec_eval": with_pytrec_eval,
    "ir_measures": with_ir_measures,
    "ranx": with_ranx,
}


def spread(values: Sequence[float]) -> str:
    """Return median [min..max]."""
    return f"{statistics.median(values):.1f} [{min(values):.1f}..{max(values):.1f}]"


def compare(files: Sequence[Path], qrels: Path) -> None:
    """Print time per file and the ratio of the other tools' to ours."""

    def ours(paths: Sequence[Path], gains: Sequence[str] = ONE_GAIN) -> Any:
        rankings = sc.read_rankings(paths, qrels, run_name="file", workers=1)
        return sc.evaluate(rankings, METRICS, gains)

    ours(files[:1])
    others = {name: make(qrels) for name, make in OTHERS.items()}
    for work in others.values():
        if work is not None:
            work(files[0])
    few = files[:N_FILES_OF_OTHERS]
    mine: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in others}
    more_gains: list[float] = []
    for _ in range(REPEATS):
        mine.append(seconds(lambda: ours(files)) / len(files))
        for name, work in others.items():
            if work is not None:
                theirs[name].append(seconds(partial(evaluate_all, work, few)) / len(few))
        more_gains.append(seconds(lambda: ours(files, FIVE_GAINS)) / len(files))
    print(f"{'reader and metrics':24} {'ms per file':>18}  times ours, median [min..max]")
    print(f"{'scorecube, 24 metrics':24} {spread([1e3 * each for each in mine]):>18}")
    for name, times in theirs.items():
        if not times:
            print(f"{name:24} {'not installed':>18}")
            continue
        ratios = [other / own for other, own in zip(times, mine, strict=True)]
        print(
            f"{name + ', 20 measures':24} {spread([1e3 * each for each in times]):>18}  {spread(ratios)}"
        )
    ratios = [more / own for more, own in zip(more_gains, mine, strict=True)]
    print(
        f"{'five gain settings':24} {spread([1e3 * each for each in more_gains]):>18}  {spread(ratios)}"
    )


def parts(files: Sequence[Path], qrels: Path) -> None:
    """Print where our time goes: ns per line of reading, ns per ranking of each metric."""
    judgements, space = read_qrels(qrels), Workspace()
    files = files[:20]
    runs = [read_run(path, run_name="file") for path in files]
    lines = sum(len(run.topic_of) for run in runs)
    levels = np.stack([judge(run, judgements).levels for run in runs])
    judged, gains = judgements.n_judged(), gain_values(ONE_GAIN[0], judgements.n_levels)
    steps: dict[str, Callable[[], Any]] = {
        "read": lambda: [path.read_bytes() for path in files],
        "read and parse": lambda: [
            read_run(path, run_name="file", workspace=space) for path in files
        ],
        "order and judge": lambda: [judge(run, judgements, workspace=space) for run in runs],
        "judgements, once": lambda: read_qrels(qrels),
    }
    print("\nstep                      ns per line, best")
    for name, step in steps.items():
        step()
        print(f"{name:24} {min(seconds(step) for _ in range(REPEATS)) * 1e9 / lines:18.1f}")
    print("\nmetric                    ns per ranking, best")
    total = 0.0
    for label in METRICS:
        metric = parse_metric(label)
        metric.score(levels, judged, gains)
        score = partial(metric.score, levels, judged, gains)
        best = min(seconds(score) for _ in range(REPEATS))
        total += best
        print(f"{label:24} {best * 1e9 / (len(files) * N_TOPICS):18,.0f}")
    print(
        f"{'all':24} {total * 1e9 / (len(files) * N_TOPICS):18,.0f} = {total * 1e9 / lines:.1f} ns per line"
    )


def peak() -> float:
    """Return the largest resident size of this process so far in MB; on other systems than Linux, that of its parent if larger."""
    status = Path("/proc/self/status")
    if status.exists():
        return float(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1024**2 if sys.platform == "darwin" else 1024
    )


def print_memory(runs: str, qrels: str) -> None:
    """Print the peak above that of one file; for a process of its own."""
    first = sorted(Path(runs).iterdir())[0]
    sc.evaluate(sc.read_rankings(first, qrels, run_name="file", workers=1), METRICS, ONE_GAIN)
    before = peak()
    sc.evaluate(sc.read_rankings(runs, qrels, run_name="file", workers=1), METRICS, ONE_GAIN)
    print(f"{peak() - before:.0f} MB above imports and one file ({before:.0f} MB)")


def memory(files: Sequence[Path], qrels: Path) -> None:
    """Print the peak memory of many files, links to the few that there are."""
    folder = qrels.parent / "many"
    folder.mkdir()
    for number in range(N_FILES_OF_MEMORY):
        os.link(files[number % len(files)], folder / f"run{number:03d}")
    code = "import sys; from tests.benchmarks.evaluate import print_memory; print_memory(*sys.argv[1:])"
    command = [sys.executable, "-c", code, str(folder), str(qrels)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    print(f"\npeak memory of {N_FILES_OF_MEMORY} files: {done.stdout.strip()}")


def evaluate_all(work: Callable[[Path], Any], files: Sequence[Path]) -> None:
    """Evaluate files one after the other with another tool."""
    for path in files:
        work(path)


def main() -> None:
    """Print the tables."""
    warnings.filterwarnings("ignore", module="ranx")
    with TemporaryDirectory() as name:
        files, qrels = write_collection(Path(name), N_FILES)
        compare(files, qrels)
        parts(files, qrels)
        memory(files, qrels)
