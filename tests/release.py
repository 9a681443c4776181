"""A release in an empty environment: ``python -m tests.release dist/scorecube-*.whl`` runs the demo and what the README shows.

Commands and Python lines are copied out of the README by the same expressions as in the tests, and must print what it shows.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from scorecube.ingest.public import CACHE_VARIABLE
from tests import console_pages, newcomer
from tests.terminal import on_terminal

README = console_pages.REPO / "README.md"
CHECK = "import doctest, sys; sys.exit(doctest.testfile(sys.argv[1], module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE).failed)"


def placeholders() -> list[str]:
    """Return the addresses of support, security and the project that are not filled in, as file: line: address."""
    return [
        f"{name}:{number}: {found}"
        for name in ("pyproject.toml", "SECURITY.md", "CODE_OF_CONDUCT.md")
        for number, line in enumerate((console_pages.REPO / name).read_text().splitlines(), 1)
        for found in re.findall(r"[\w@:/.-]*\.invalid[\w/.-]*", line)
    ]


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel with its dependencies into a new environment; return the folder of its programs."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    for words in (["install", "-qq", str(wheel)], ["check"]):
        subprocess.run([programs / "python", "-m", "pip", *words], check=True)
    return programs


def run_commands(programs: Path, folder: Path) -> int:
    """Run the commands of the README on the made-up task; return how many."""
    cache = folder / "cache"
    if console_pages.DATA.is_dir():
        console_pages.fill_cache(cache)
    newcomer.write(folder)
    found = console_pages.BLOCK.findall(README.read_text(encoding="utf-8"))
    for line, shown in found:
        name, *words = shlex.split(line)
        begin = time.perf_counter()
        status, seen = on_terminal(
            [str(programs / name), *words],
            folder,
            TERM="dumb",
            **{CACHE_VARIABLE: str(cache), "PYTHONPATH": ""},
        )
        assert status == 0, seen
        kept = console_pages.kept_lines(seen.replace("\r\n", "\n"))
        assert console_pages.without_machine(kept) == console_pages.without_machine(shown), kept
        print(f"{time.perf_counter() - begin:6.1f} s  {line}", flush=True)
    return len(found)


def run_python(programs: Path, folder: Path) -> int:
    """Run the Python lines of the README; return how many."""
    examples = doctest.DocTestParser().get_examples(README.read_text(encoding="utf-8"))
    subprocess.run(
        [str(programs / "python"), "-I", "-c", CHECK, str(README)], cwd=folder, check=True
    )
    return len(examples)


def main(wheel: Path) -> None:
    """Check a wheel; print what was run. Nothing is released with placeholders in the place of addresses."""
    if missing := placeholders():
        raise SystemExit("\n".join(["fill in before a release:", *missing]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = install(wheel, folder / "environment")
        demo = [str(programs / "scorecube"), "demo", "--out", "demo"]
        subprocess.run(demo, cwd=folder, check=True, capture_output=True)
        assert (folder / "demo" / "report.html").stat().st_size > 0
        n_commands, n_examples = run_commands(programs, folder), run_python(programs, folder)
    print(f"{wheel.name}: demo, {n_commands} commands and {n_examples} Python lines of the README")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
