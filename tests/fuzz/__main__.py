"""Fuzz readers with atheris: ``python -m tests.fuzz [TARGET ...] --runs N`` (``pip install -e '.[fuzz]'``).

New inputs that reach new code go to a folder for each target, which the next run begins with. An input that raises
anything but a `ScorecubeError`, takes more than 10 s of processor time or needs more than 1 GiB is a find: it is printed
and written to ``FOLDER/finds/TARGET``. Copy finds to ``tests/fuzz/corpus/TARGET``, which `tests/fuzz/test_corpus.py`
replays.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import xarray as xr

CORPUS = Path(__file__).parent / "corpus"
SECONDS, MEGABYTES = 10, 1024
OWN_MEGABYTES = 512
"""What the interpreter and the libraries take."""
Run = Callable[[str, bytes], None]
NEEDLESS = (
    ("scorecube.ingest.cubes", "cube_dataset"),
    ("scorecube.ingest.cubes", "with_systems"),
    ("scorecube.collection.rankings", "rankings_dataset"),
    ("scorecube.collection.rankings", "with_intents"),
    ("scorecube.collection.rankings", "with_doubts"),
    ("scorecube.collection.rankings", "doubts_of"),
)
"""Functions that are not run: labelled datasets hold what was checked before, building them takes most of the time, and doubts read them."""


def main() -> None:
    """Fuzz targets one after the other, each in a process of its own that begins with all modules loaded."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all by default")
    parser.add_argument("--runs", type=int, default=100_000, help="executions for each target")
    parser.add_argument("--folder", type=Path, default=Path("fuzz"), help="inputs and finds")
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        sys.exit("atheris is not installed: pip install -e '.[fuzz]'")
    run, known = instrumented()
    if unknown := set(options.targets) - set(known):
        sys.exit(f"no target {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    for target in options.targets or known:
        start = time.monotonic()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            fuzz(target, run, options.runs, options.folder)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        finds = len(list((options.folder / "finds" / target).glob("*")))
        rate = options.runs / (time.monotonic() - start)
        print(f"{target}: {options.runs} executions, {rate:.0f}/s, status {status}, {finds} finds")


def instrumented() -> tuple[Run, list[str]]:
    """Import the readers so that their coverage is seen; return the function that runs a target, and the targets."""
    import atheris

    # Compiled functions cannot be instrumented: they are imported before.
    import scorecube.collection.rankings  # isort: skip
    import scorecube.kernels.parsing.split_lines  # noqa: F401  # isort: skip

    with atheris.instrument_imports(include=["scorecube.ingest", "scorecube.errors"]):
        from tests.fuzz.targets import TARGETS, run_target
    for module, function in NEEDLESS:
        setattr(import_module(module), function, nothing)
    for target in TARGETS:
        for path in sorted((CORPUS / target).iterdir()):
            run_target(target, path.read_bytes())
    return run_target, list(TARGETS)


def nothing(*_: object, **__: object) -> xr.Dataset:
    """Stand for a function that builds or reads a dataset."""
    return xr.Dataset()


def fuzz(target: str, run: Run, runs: int, folder: Path) -> None:
    """Fuzz one target; does not return."""
    import atheris

    finds, seen = folder / "finds" / target, folder / "inputs" / target
    for path in (finds, seen):
        path.mkdir(parents=True, exist_ok=True)
    sites: set[str] = set()

    def once(data: bytes) -> None:
        start = time.process_time()
        try:
            run(target, data)
        except Exception as error:  # whatever it is, it is a find
            last = traceback.extract_tb(error.__traceback__)[-1]
            keep(f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}", data)
        if time.process_time() - start > SECONDS:
            keep("hang", data)

    def keep(site: str, data: bytes) -> None:
        if site not in sites:
            sites.add(site)
            (finds / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
            print(f"{target}: find: {site}: {data[:100]!r}", flush=True)

    limits = [
        f"-rss_limit_mb={OWN_MEGABYTES + MEGABYTES}",
        f"-malloc_limit_mb={MEGABYTES}",
        f"-timeout={60 * SECONDS}",  # of wall time, if the machine is busy
        f"-artifact_prefix={finds}/",
    ]
    words = [f"-runs={runs}", "-max_len=4096", "-verbosity=0", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *words, *limits, str(seen), str(CORPUS / target)], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
