"""Mutation testing of the rooms that compute numbers: small changes of the code that the tests must notice.

``python -m tests.mutants kernels --sample 200 --seed 1`` draws mutants of a room, runs the tests of each mutant's module, and prints those that
survive. Only copies of the sources are changed. mutmut does not change decorated functions, which all kernels are; numba's cache does not notice
that a function changed which a cached kernel calls. So this runner forks a process with the libraries loaded for each mutant, and in it compiles the
changed module and all kernels that depend on it again.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

REPO = Path(__file__).parents[1]
QUICK = "not (slow or data or s3 or process or slurm)"
LEFT_OUT = {"cost", "seconds_per_trial", "_warnings", "seconds", "held_bytes"}
"""Functions that estimate or warn; no result depends on them."""
PAIRS, SAMPLES, SETS, LEFT = (
    f"tests/analyses/{folder}"
    for folder in ("pair_tests", "topic_samples", "rank_sets", "leave_out")
)
EXACT, STEPS, SWAP = (
    f"{PAIRS}/test_exact.py",
    "tests/analyses/test_leaderboard.py",
    f"{SAMPLES}/test_swap_oracle.py",
)
TEAMS = (f"{LEFT}/test_teams.py", f"{LEFT}/test_teams_oracle.py")
JUDGES, RELIABILITY = "tests/analyses/test_judges.py", "tests/analyses/test_reliability.py"
TESTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("kernels/(jit|workspace)", ("tests/kernels/test_jit.py", "tests/kernels/random")),
    ("kernels/bits", ("tests/kernels/test_bits.py",)),
    ("kernels/random", ("tests/kernels/random", EXACT, SWAP)),
    ("kernels/tails", (EXACT, f"{PAIRS}/test_properties.py")),
    ("kernels/tukey", ("tests/kernels/random/test_resampling.py", EXACT, f"{PAIRS}/test_properties.py")),
    ("kernels/maxima", (STEPS, "tests/analyses/test_rank_sets.py")),
    ("kernels/lists", TEAMS),
    ("kernels/ranks", ("tests/kernels/test_ranks.py", "tests/analyses/test_correlation.py")),
    ("kernels/swap", ("tests/kernels/test_swap.py", SWAP, f"{SAMPLES}/test_swap_options.py")),
    ("statistics/swap_rates", ("tests/statistics/test_required_difference.py", f"{SAMPLES}/test_samples.py")),
    ("statistics/agreement", ("tests/statistics/test_kendall_tau.py", JUDGES)),
    ("statistics/(grid|intervals)", ("tests/statistics/test_grid.py", "tests/statistics/test_intervals.py", JUDGES)),
    ("statistics/paired_tests", (f"{PAIRS}/test_classical.py", "tests/statistics/test_multiple_testing.py")),
    ("statistics/rank_sets", ("tests/analyses/test_rank_sets.py", "tests/analyses/test_leaderboard.py")),
    ("statistics/variance", (RELIABILITY, "tests/design/test_design_variance.py")),
    ("analyses/judge", (JUDGES,)),
    ("analyses/correlation", ("tests/analyses/test_correlation.py",)),
    ("analyses/team", TEAMS),
    ("analyses/(pairs|resampling)", (EXACT, f"{PAIRS}/test_classical.py", f"{PAIRS}/test_tables.py", f"{PAIRS}/test_properties.py")),
    ("analyses/(designs|jackknife)", (RELIABILITY,)),
    ("analyses/(swap|stability|two_samples)", (SWAP, f"{SAMPLES}/test_swap_closed_form.py", f"{SAMPLES}/test_samples.py")),
    ("analyses/table", ("tests/analyses/test_table.py",)),
    ("analyses/(leaderboard|step_down)", (STEPS, "tests/analyses/test_rank_sets.py")),
    ("analyses/[a-z_]+.py", ("tests/analyses/test_plan.py", "tests/analyses/test_options.py", "tests/cli/test_analyses.py")),
)  # fmt: skip
"""Tests of a module, by the first pattern that its path matches."""
SECONDS = 40
"""Processor time of one test of a mutant, with the time to compile; quick tests take less than five."""
LONGEST = 1800
"""Seconds for all tests of a mutant."""
MEMORY = 12 * 2**30
"""Address space of the tests of a mutant."""
RELATIONS = "tests/analyses/test_metamorphic.py"
ANALYSES = (
    ("analyses/judges", "judges"),
    ("analyses/designs", "reliability"),
    ("analyses/(leaderboard|step_down)", "maxt or leaderboard or board"),
    ("analyses/(swap|stability|two_samples)|kernels/swap", "swap or stability"),
    ("analyses/(correlation|judge)|kernels/ranks", "correlate or judges"),
    ("analyses/team|kernels/lists", "teams"),
    ("kernels/tukey", "tukey or maxt"),
    ("analyses/(pairs|resampling)|kernels/tails", "bootstrap or randomisation or tukey or maxt or paired"),
    ("kernels/(random|bits|jit)|analyses/[a-z_]+.py", "test_relation"),
)  # fmt: skip
"""Analyses whose relations (`RELATIONS`) are tested last, by the first pattern that a module's path matches."""

COMPARE: dict[type[ast.AST], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
COMPUTE: dict[type[ast.AST], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Pow: ast.Mult,
}  # fmt: skip
CALLS = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any", "argmax": "argmin", "argmin": "argmax",
    "zeros": "ones", "ones": "zeros", "floor": "ceil", "ceil": "floor",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one expression or statement.

    path: Of the module, below ``src/scorecube``.
    start, end: Part of the module's bytes that is replaced.
    before, after: The code without and with the change.
    """

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str


class Finder(ast.NodeVisitor):
    """Find the mutants of a module."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source, self.found = path, source, list[Mutant]()
        self.offsets = [0]
        for line in source.splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(line))
        self.inside = False

    def place(self, node: Any) -> tuple[int, int]:
        """Return the part of the source that a node takes."""
        return (
            self.offsets[node.lineno - 1] + node.col_offset,
            self.offsets[node.end_lineno - 1] + node.end_col_offset,
        )

    def add(self, node: Any, text: str) -> None:
        """Add the mutant with another text for a node."""
        start, end = self.place(node)
        before = self.source[start:end].decode()
        if self.inside and before != text:
            self.found.append(Mutant(self.path, node.lineno, start, end, before, text))

    def changed(self, node: Any, **fields: Any) -> None:
        """Add the mutant with other fields of a node."""
        old = {name: getattr(node, name) for name in fields}
        for name, value in fields.items():
            setattr(node, name, value)
        self.add(node, f"({ast.unparse(node)})")
        for name, value in old.items():
            setattr(node, name, value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in LEFT_OUT or any(
            "abstractmethod" in ast.unparse(each) for each in node.decorator_list
        ):
            return
        before, self.inside = self.inside, True
        for statement in node.body:  # neither decorators nor annotations
            self.visit(statement)
        self.inside = before

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave messages as they are."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts as they are."""

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add(node, "pass")
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.targets[0], ast.Subscript):
            self.add(node, "pass")
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add(node, "pass")
        other = COMPUTE.get(type(node.op))
        if other is not None:
            before = ast.unparse(node)
            changed = ast.unparse(ast.AugAssign(target=node.target, op=other(), value=node.value))
            if changed != before:
                self.add(node, changed)
        self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        for k, op in enumerate(node.ops):
            if type(op) in COMPARE:
                ops = list(node.ops)
                ops[k] = COMPARE[type(op)]()
                self.changed(node, ops=ops)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        text = isinstance(node.left, ast.Constant | ast.JoinedStr) and not isinstance(
            getattr(node.left, "value", 0), int | float
        )
        if type(node.op) in COMPUTE and not text:
            self.changed(node, op=COMPUTE[type(node.op)]())
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub | ast.Not | ast.Invert):
            self.add(node, f"({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self.add(node.test, f"(not ({ast.unparse(node.test)}))")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.add(node.test, f"(not ({ast.unparse(node.test)}))")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.add(node, str(not value))
        elif isinstance(value, int):
            self.add(node, str(value + 1))
        elif isinstance(value, float):
            self.add(node, repr(value * 2 if value else 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func
        if isinstance(name, ast.Name) and name.id in CALLS:
            self.add(name, CALLS[name.id])
        elif isinstance(name, ast.Attribute) and name.attr in CALLS:
            self.changed(name, attr=CALLS[name.attr])
        self.generic_visit(node)


def mutants_of(room: str) -> list[Mutant]:
    """Return all mutants of a room, in order."""
    found: list[Mutant] = []
    for path in sorted((REPO / "src/scorecube" / room).rglob("*.py")):
        source = path.read_bytes()
        finder = Finder(path.relative_to(REPO / "src/scorecube").as_posix(), source)
        finder.visit(ast.parse(source))
        found += finder.found
    return found


def tests_of(path: str, copy: Path) -> list[str]:
    """Return the test files of a module."""
    chosen = next(tests for pattern, tests in TESTS if re.match(pattern, path))
    own = f"src/scorecube/{path}"  # its examples
    return [name for name in (own, *chosen) if (copy / name.partition("::")[0]).exists()]


def analyses_of(path: str) -> str:
    """Return an expression of pytest: the analyses whose relations depend on a module; empty for none."""
    return next((words for pattern, words in ANALYSES if re.match(pattern, path)), "")


def module_name(path: str) -> str:
    """Return the import name of a module."""
    return "scorecube." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def imported() -> dict[str, frozenset[str]]:
    """Return what each module of the package imports: modules, and names in them."""
    found: dict[str, frozenset[str]] = {}
    for file in (REPO / "src/scorecube").rglob("*.py"):
        names: set[str] = set()
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                names |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        found[module_name(file.relative_to(REPO / "src/scorecube").as_posix())] = frozenset(names)
    return found


def compiled_again(path: str) -> set[str]:
    """Return the modules whose machine code a change of a module may change.

    These are a module that has kernels, or that kernels are made with, and all that import it, directly or not.
    Changes lie within functions, so that other modules change no constant of a kernel.
    """
    imports, name = imported(), module_name(path)
    if not path.startswith("kernels/") and "scorecube.kernels.jit" not in imports[name]:
        return set()
    found = {name}
    while more := {name for name, used in imports.items() if used & found} - found:
        found |= more
    return found


def preload() -> str:
    """Import the libraries that the tests use, but nothing of this project; return the digest of its kernels."""
    code = (
        f"import sys; sys.path.insert(0, {str(REPO / 'src')!r})\n"
        "import pytest, hypothesis, scorecube, scorecube.workflow.api, scorecube.cli.program, scorecube.metrics, scorecube.execute.clusters\n"
        "from scorecube.kernels import jit\n"
        "print(jit.source_digest())\n"
        "print('\\n'.join(n for n in sys.modules if not n.startswith(('scorecube', 'tests', '__'))))"
    )
    listed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPO
    )
    digest, *names = listed.stdout.split()
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)
    return digest


def keep_machine_code(uncached: set[str], digest: str) -> None:
    """Use the machine code of the unchanged kernels, but for some modules, which are compiled and not stored.

    Tests have kernels too, around those they test.
    """
    from scorecube.kernels import jit

    def is_unchanged(function: Callable[..., Any]) -> bool:
        return function.__module__ not in uncached and not function.__module__.startswith("tests.")

    vars(jit).update(source_digest=lambda: digest, is_cached=is_unchanged)


def run_tests(copy: Path, uncached: set[str], digest: str, tests: list[str], analyses: str) -> int:
    """Run tests in this process, on a copy of the sources; return the exit status."""
    import pytest

    os.chdir(copy)
    os.environ["PYTHONPATH"] = f"{copy / 'src'}{os.pathsep}{copy}"
    others = [each for each in sys.path if str(REPO) not in each]
    sys.path[:] = [str(copy / "src"), str(copy), *others]
    keep_machine_code(uncached, digest)
    arguments = [
        "-x",
        "-q",
        "-m",
        QUICK,
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--assert=plain",
    ]
    arguments += ["--hypothesis-seed=0", "--durations=0", "--durations-min=1000"]
    status = int(pytest.main([*arguments, *tests], plugins=[TimeLimit()]))
    if status == 0 and analyses:
        status = int(pytest.main([*arguments, "-k", analyses, RELATIONS], plugins=[TimeLimit()]))
    return status


class TimeLimit:
    """A plugin of pytest that ends the process if a test takes too long, as compiled loops answer to nothing else."""

    def pytest_runtest_setup(self) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def wait(child: int) -> int | None:
    """Return how a process ended; None if it has not."""
    done, status = os.waitpid(child, os.WNOHANG)
    return status if done else None


def judge(mutant: Mutant | None, copy: Path, digest: str, tests: list[str]) -> tuple[str, str]:
    """Run the tests of a mutant in a process of its own; return what happened, and the output."""
    file = copy / "src/scorecube" / mutant.path if mutant else copy / "none"
    source, log = file.read_bytes() if mutant else b"", copy / "log"
    stat = file.stat() if mutant else copy.stat()
    if mutant:
        file.write_bytes(source[: mutant.start] + mutant.after.encode() + source[mutant.end :])
    uncached = compiled_again(mutant.path) if mutant else set[str]()
    analyses = analyses_of(mutant.path) if mutant else ""
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        with log.open("w") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
            status = 99
            try:
                status = run_tests(copy, uncached, digest, tests, analyses)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                out.flush()
                os._exit(status)
    deadline, ended = time.monotonic() + LONGEST, wait(child)
    while ended is None and time.monotonic() < deadline:
        time.sleep(0.05)
        ended = wait(child)
    if ended is None:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if mutant:
        file.write_bytes(source)
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    output = log.read_text(errors="replace")
    if ended is None:
        return "killed: timeout", output
    if os.WIFSIGNALED(ended):
        timeout = os.WTERMSIG(ended) in (signal.SIGXCPU, signal.SIGKILL)
        return "killed: timeout" if timeout else "killed: crash", output
    code = os.WEXITSTATUS(ended)
    # 1: a test failed; 2: a test module could not be imported.
    return {0: "survived", 1: "killed", 2: "killed"}.get(code, f"pytest exit {code}"), output


def make_copy(folder: Path) -> Path:
    """Copy what the tests need."""
    for name in ("src", "tests", "cluster"):
        shutil.copytree(REPO / name, folder / name, symlinks=True, dirs_exist_ok=True)
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy2(REPO / name, folder / name)
    return folder


def main() -> int:
    """Test mutants; the exit status is 1 if some survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("room", help="kernels, statistics, analyses, or what is below one")
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    every = mutants_of(arguments.room)
    chosen = sorted(
        random.Random(arguments.seed).sample(range(len(every)), min(arguments.sample, len(every)))
    )
    random.Random(arguments.seed).shuffle(chosen)
    mutants = [every[k] for k in chosen]
    print(f"{arguments.room}: {len(mutants)} of {len(every)} mutants", flush=True)
    digest = preload()
    counts: dict[str, int] = {}
    killers: set[str] = set()
    with tempfile.TemporaryDirectory() as name:
        copy = make_copy(Path(name))
        for mutant in mutants:
            begun = time.monotonic()
            outcome, output = judge(mutant, copy, digest, tests_of(mutant.path, copy))
            seconds = time.monotonic() - begun
            counts[outcome] = counts.get(outcome, 0) + 1
            killer = next(
                iter(re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)), ""
            )
            killers |= {killer} - {""}
            if not outcome.startswith("killed"):
                print(
                    f"{outcome} {mutant.path}:{mutant.line}: {mutant.before!r} -> {mutant.after!r} ({seconds:.0f} s)",
                    flush=True,
                )
        outcome, output = judge(None, copy, digest, sorted(killers))
    print(f"{arguments.room}: {counts}; the tests that kill, without a mutant: {outcome}")
    if outcome != "survived":
        print(output)
    return int(any(not outcome.startswith("killed") for outcome in counts))


if __name__ == "__main__":
    sys.exit(main())
