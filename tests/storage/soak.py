"""Kill every writing command at random moments, many times; each study must end as an undisturbed one.

``python -m tests.storage.soak --kills 300``; part of ``make soak``. Commands run in forked processes of a process that has imported the
program, so that most kills fall into their work.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from scorecube.storage import open_study
from scorecube.storage.verify import verify_study
from tests.storage.states import state

RUN = ["--seed", "3", "--workers", "1"]


def write_files(folder: Path) -> None:
    """Write six runs in two folders, judgements, and two matrices of scores."""
    chance, topics = random.Random(1), [f"{number:03d}" for number in range(1, 11)]
    for name in ("first", "second"):
        (folder / name).mkdir(parents=True)
    documents = [f"d{number}" for number in range(20)]
    level = {
        (topic, document): chance.choice([0, 0, 1, 2]) for topic in topics for document in documents
    }
    qrels = "".join(f"{topic} 0 {document} {each}\n" for (topic, document), each in level.items())
    (folder / "qrels.txt").write_text(qrels)
    for number in range(6):
        lines = [
            f"{topic} Q0 {document} 0 {level[topic, document] + chance.gauss(0, 1 + number):.4f} run{number}\n"
            for topic in topics
            for document in documents
        ]
        (folder / ("first" if number < 4 else "second") / f"run{number}").write_text("".join(lines))
    for name in ("scores", "more"):
        rows = [
            ",".join([topic, *(f"{chance.random():.4f}" for _ in range(3))]) for topic in topics
        ]
        (folder / f"{name}.csv").write_text("\n".join(["topic,a,b,c", *rows]) + "\n")


def commands(folder: Path) -> list[list[str]]:
    """Return the commands of one round, which build on each other."""
    study, files = str(folder / "study.zarr"), folder.parent / "files"
    evaluate = ["evaluate", study, "--name", "demo", "--qrels", str(files / "qrels.txt")]
    sweep = folder / "sweep.toml"
    sweep.write_text(
        f'study = "{study}"\ntrials = 40\nseed = 5\n[[analysis]]\nname = "stability"\nsize = 3\n'
        '[[analysis]]\nname = "correlate"\n'
    )
    return [
        [*evaluate, "--runs", str(files / "first"), "--metrics", "AP,RR"],
        [*evaluate, "--runs", str(files / "first"), "--metrics", "P@5"],
        ["swap", study, "--size", "3", "--trials", "40", *RUN],
        ["swap", study, "--size", "3", "--trials", "80", *RUN],
        ["bootstrap", study, "--trials", "40", *RUN],
        [*evaluate, "--runs", str(files / "second"), "--metrics", "AP,RR,P@5", "--replace"],
        ["import", study, "--name", "scores", str(files / "scores.csv"), "--metric", "X"],
        [
            "import",
            study,
            "--name",
            "scores",
            str(files / "more.csv"),
            "--metric",
            "X",
            "--replace",
        ],
        ["swap", study, "--size", "3", "--trials", "40", "--collection", "demo", *RUN],
        [*evaluate, "--runs", str(files / "first"), "--metrics", "RR", "--replace"],
        ["tukey", study, "--trials", "40", "--collection", "demo", *RUN],
        ["sweep", str(sweep), "--workers", "2"],
    ]


def start(words: list[str]) -> int:
    """Run a command in a forked process and return its number."""
    child = os.fork()
    if child:
        return child
    from scorecube.cli.program import main
    from tests.blocks import blocks_of

    status = 70
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        log = os.open(os.environ["SOAK_LOG"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 2)
        sys.argv = ["scorecube", *words]
        with blocks_of(5):
            main()
        status = 0
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    finally:
        os._exit(status)


def run(words: list[str]) -> float:
    """Run a command to its end and return its seconds; an error ends the soak."""
    started = time.monotonic()
    _, status = os.waitpid(start(words), 0)
    if status:
        raise SystemExit(f"{words} ended with {status}: {Path(os.environ['SOAK_LOG']).read_text()}")
    return time.monotonic() - started


def soak(kills: int, seed: int, base: Path) -> None:
    """Run rounds of all commands, each killed at random moments until it ends, and compare."""
    os.environ["SOAK_LOG"] = str(base / "log")
    chance, done, ended, rounds = random.Random(seed), 0, 0, 0
    write_files(base / "files")
    undisturbed = base / "undisturbed"
    undisturbed.mkdir()
    expected, seconds = [], []
    for words in commands(undisturbed):
        run(words)  # fills the compiler's cache
    shutil.rmtree(undisturbed)
    undisturbed.mkdir()
    for words in commands(undisturbed):
        seconds.append(run(words))
        expected.append(state(undisturbed / "study.zarr"))
    while done < kills:
        rounds += 1
        folder = base / str(rounds)
        folder.mkdir()
        study = folder / "study.zarr"
        for position, words in enumerate(commands(folder)):
            before = expected[position - 1] if position else {}
            while done < kills and chance.random() < 0.8:
                child = start(words)
                time.sleep(chance.uniform(0, 1.1 * seconds[position]))
                os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
                if not os.WIFSIGNALED(status):
                    ended += 1
                    break
                done += 1
                found = state(study)
                # A sweep and a replacement of equal scores may have stored a part.
                if words[0] != "sweep" and found not in (before, expected[position]):
                    raise SystemExit(f"kill {done} of {words}: neither old nor new: {found}")
            run(words)
            if state(study) != expected[position]:
                raise SystemExit(
                    f"after {done} kills, {words}: {state(study)} != {expected[position]}"
                )
        problems = verify_study(open_study(study))[1]
        left = [path.name for path in study.iterdir() if path.name.endswith(".lock")]
        if problems or left:
            raise SystemExit(f"after {done} kills: {problems} {left}")
        shutil.rmtree(folder)
        print(
            f"{done} kills in {rounds} rounds, {ended} commands ended before their kill", flush=True
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        soak(chosen.kills, chosen.seed, Path(folder))
