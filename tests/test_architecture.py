"""The rooms of the package: which may import which, where each library lives, how long functions get.

``python -m tests.test_architecture`` prints the counts.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from scorecube.analyses.registry import BUILT_IN

REPO = Path(__file__).parents[1]
SOURCE = REPO / "src" / "scorecube"

ROOMS = (
    "names",
    "errors",
    "files",
    "statistics",
    "kernels",
    "metrics",
    "collection",
    "design",
    "analyses",
    "ingest",
    "storage",
    "execute",
    "report",
    "workflow",
    "testing",
    "cli",
    "__init__",
    "__main__",
)
"""In their order: a room imports only rooms that stand before it. A room is a package or a module at the package root."""
APART = {
    ("storage", "ingest"),
    ("execute", "ingest"),
    *(("report", room) for room in ("statistics", "kernels", "design", "execute")),
}
"""Imports that the order would allow and the design does not."""
LIBRARIES = {
    "names": "",
    "errors": "",
    "files": "",
    "statistics": "numpy scipy",
    "kernels": "numpy numba",
    "metrics": "numpy numba",
    "collection": "numpy xarray scipy pandas ir_measures",
    "design": "numpy xarray scipy",
    "analyses": "numpy xarray scipy",
    "ingest": "numpy xarray pandas pooch pyarrow requests ir_datasets",
    "storage": "numpy xarray zarr numcodecs obstore",
    "execute": "numpy xarray dask distributed threadpoolctl yaml",
    "report": "numpy xarray pandas matplotlib jinja2 markupsafe",
    "workflow": "numpy xarray pandas",
    "testing": "numpy xarray",
    "cli": "numpy xarray typer click rich",
    "__init__": "",
    "__main__": "",
}
"""What each room may import beside the standard library."""
HOMES = {
    "jinja2": ("report/page.py",),
    "markupsafe": ("report/page.py", "report/page_parts.py"),
    "matplotlib": ("report/drawing.py", "report/figures.py"),
    "numcodecs": ("storage/codec.py",),
    "obstore": ("storage/object_place.py",),
    "pandas": ("collection/pools.py", "ingest/", "report/", "workflow/api.py"),
    "pooch": ("ingest/public.py",),
    "pyarrow": ("ingest/tables.py",),
    "ir_datasets": ("ingest/qrels.py",),
    "ir_measures": ("collection/other_metrics.py",),
    "requests": ("ingest/public.py",),
    "yaml": ("execute/clusters.py",),
}
"""Libraries that live in fewer files than their room has."""
TYPING_ONLY = {"distributed.Client", "matplotlib.axes.Axes", "matplotlib.figure.Figure"}
"""Allowed in every room under ``if TYPE_CHECKING``: users hand a client over. All other imports count wherever they stand."""
ALSO_ALLOWED = {
    ("kernels/jit.py", "os"),
    ("kernels/jit.py", "pathlib.Path"),
    ("kernels/jit.py", "shutil"),
    ("analyses/options.py", "pathlib.Path"),
    ("analyses/shared_options.py", "pathlib.Path"),
}
NO_FILES = {"statistics", "kernels", "metrics", "collection", "design", "analyses", "testing"}
"""Rooms of arrays and labels, which keep away from these parts of the standard library."""
FILES = {"io", "os", "pathlib", "glob", "shutil", "tempfile", "gzip", "logging"}
ARROWS, ROOT_MODULES, FUNCTION_LINES, FILE_LINES = 75, 6, 60, 500
"""Limits; that of lines in a file is soft: longer files are listed and fail nothing."""


@dataclass(frozen=True)
class Import:
    """One imported name: ``from a.b import c`` is ``a.b.c``."""

    line: int
    target: str
    typing_only: bool
    text_only: bool = False
    """Named in a string, as for `import_module`: the order holds for it, arrows and circles do not count it."""


@dataclass(frozen=True)
class File:
    """A parsed file of the package."""

    path: str
    text: str

    @property
    def room(self) -> str:
        if self.path == "kernels/__main__.py":  # a program, which calls what the command line does
            return "cli"
        return self.path.split("/")[0].removesuffix(".py")

    @property
    def module(self) -> str:
        parts = self.path.removesuffix(".py").split("/")
        return ".".join(["scorecube", *(parts[:-1] if parts[-1] == "__init__" else parts)])

    @property
    def n_lines(self) -> int:
        return len(self.text.splitlines())

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def imports(self) -> list[Import]:
        package = ("scorecube", *self.path.split("/")[:-1])
        typing_only = {
            id(inner)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.If)
            and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
            for statement in node.body
            for inner in ast.walk(statement)
        }
        found: list[Import] = []
        for node in ast.walk(self.tree):
            targets: list[str] = []
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else ()
                origin = ".".join([*above, *filter(None, [node.module])])
                targets = [f"{origin}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                if node.value.startswith("scorecube.") and all(
                    map(str.isidentifier, node.value.rstrip(".").split("."))
                ):
                    found.append(
                        Import(
                            node.lineno, node.value.rstrip("."), typing_only=False, text_only=True
                        )
                    )
                continue
            else:
                continue
            found += [Import(node.lineno, target, id(node) in typing_only) for target in targets]
        return found


class House:
    """All files of the package, and what they import of each other."""

    def __init__(self, source: Path) -> None:
        self.files = [
            File(path.relative_to(source).as_posix(), path.read_text(encoding="utf-8"))
            for path in sorted(source.rglob("*.py"))
        ]
        self.by_module = {file.module: file for file in self.files}
        self.inner = [
            (file, found, self.file_of(found.target))
            for file in self.files
            for found in file.imports
            if found.target.split(".")[0] == "scorecube"
        ]
        self.rooms = {file.room for file in self.files}
        self.arrows = {
            (file.room, other.room)
            for file, found, other in self.inner
            if file.room != other.room and not found.text_only
        }

    def file_of(self, target: str) -> File:
        """Return the file that an import within the package reads."""
        while target not in self.by_module and "." in target:
            target = target.rpartition(".")[0]
        return self.by_module.get(target, File("__init__.py", ""))

    def circles(self) -> list[str]:
        """Return files that import each other in a circle, however deep in functions; one circle at a time."""
        graph: dict[str, set[str]] = {file.path: set() for file in self.files}
        for file, found, other in self.inner:
            if not found.text_only and file.path != other.path:
                graph[file.path].add(other.path)
        circles: list[str] = []
        while True:
            try:
                TopologicalSorter(graph).prepare()
            except CycleError as error:
                circle = list(reversed(error.args[1]))
                circles.append(" -> ".join(circle))
                graph[circle[0]].discard(circle[1])
            else:
                return circles

    def summary(self) -> list[str]:
        """Return the counts, and the files over the soft limit."""
        counts = (
            f"{len(self.rooms)} rooms, {len(self.arrows)} arrows between them (at most {ARROWS}), "
            f"{len(self.files)} files, {len(self.circles())} circles"
        )
        long = [
            f"warning: {file.path} has {file.n_lines} lines, over the soft limit of {FILE_LINES}"
            for file in self.files
            if file.n_lines > FILE_LINES
        ]
        return [counts, *self.sizes(), *long]

    def sizes(self) -> list[str]:
        """Return files and lines of each room, and of all."""
        in_rooms = {
            room: [file.n_lines for file in self.files if file.room == room] for room in ROOMS
        }
        lines = [
            f"{room:<12}{len(of):>5} files {sum(of):>8,} lines" for room, of in in_rooms.items()
        ]
        every = [n for of in in_rooms.values() for n in of]
        return [*lines, f"{'all':<12}{len(every):>5} files {sum(every):>8,} lines"]

    def names_of_analyses(self, room: str) -> list[str]:
        """Return where a room names an analysis in a text."""
        known = {entry.name for entry in BUILT_IN}
        return [
            f"{file.path}:{node.lineno}: names the analysis {node.value!r}, which {room} does not know"
            for file in self.files
            if file.room == room
            for node in ast.walk(file.tree)
            if isinstance(node, ast.Constant) and node.value in known
        ]


def inner_problem(room: str, other: str) -> str | None:
    """Return the rule that an import of another room breaks."""
    if room != other and ROOMS.index(other) > ROOMS.index(room):
        return f"{room} may not import {other}, which stands after it"
    return f"{room} may not import {other}" if (room, other) in APART else None


def library_problem(file: File, found: Import) -> str | None:
    """Return the rule that an import from outside the package breaks."""
    top = found.target.split(".")[0]
    if (found.typing_only and found.target in TYPING_ONLY) or (
        file.path,
        found.target,
    ) in ALSO_ALLOWED:
        return None
    if top in sys.stdlib_module_names:
        return (
            f"{file.room} knows no files and no logging"
            if file.room in NO_FILES and top in FILES
            else None
        )
    allowed = LIBRARIES[file.room].split()
    if top not in allowed:
        return f"{file.room} may import the standard library and {', '.join(allowed) or 'nothing else'}, not {top}"
    if not file.path.startswith(HOMES.get(top, "")):
        return f"{top} lives in {' and '.join(HOMES[top])}"
    return None


def long_functions(file: File) -> Iterator[str]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, end = node.body[0], node.end_lineno or node.lineno
            told = (
                (first.end_lineno or first.lineno) - first.lineno + 1
                if ast.get_docstring(node) is not None
                else 0
            )
            length = end - node.lineno + 1 - told
            if length > FUNCTION_LINES:
                yield f"{file.path}:{node.lineno}: {node.name} has {length} lines beside its docstring, at most {FUNCTION_LINES}"


def unformatted(file: File) -> Iterator[str]:
    """Yield the lines that the formatter leaves alone, except for the last of a table at the left margin."""
    for number, line in enumerate(file.text.splitlines(), 1):
        if "# fmt:" in line and line != "}  # fmt: skip":
            yield f"{file.path}:{number}: is kept from the formatter, which is for tables only"


def problems_of(house: House) -> list[str]:
    """Return one line for each broken rule, naming file, import and rule."""
    strangers = sorted(house.rooms - set(ROOMS))
    if strangers:
        return [f"{name}: stands in no room" for name in strangers]
    problems = [
        f"{file.path}:{found.line}: imports {found.target}: {rule}"
        for file, found, other in house.inner
        if (rule := inner_problem(file.room, other.room)) is not None
    ]
    for file in house.files:
        outer = [found for found in file.imports if found.target.split(".")[0] != "scorecube"]
        for found in outer:
            if (rule := library_problem(file, found)) is not None:
                problems.append(f"{file.path}:{found.line}: imports {found.target}: {rule}")
        problems += long_functions(file)
        problems += unformatted(file)
    problems += house.names_of_analyses("execute")
    problems += [f"files import each other in a circle: {circle}" for circle in house.circles()]
    if len(house.arrows) > ARROWS:
        most = Counter(room for room, _ in house.arrows).most_common(3)
        problems.append(
            f"{len(house.arrows)} arrows between rooms, at most {ARROWS}; most come from {most}"
        )
    root = [file.path for file in house.files if "/" not in file.path]
    if len(root) > ROOT_MODULES:
        problems.append(
            f"{len(root)} modules at the package root, at most {ROOT_MODULES}: {', '.join(root)}"
        )
    return problems


@pytest.fixture(scope="module")
def house() -> House:
    return House(SOURCE)


def test_source_keeps_the_rules(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("", *house.summary(), sep="\n")
    problems = problems_of(house)
    assert not problems, "\n" + "\n".join(problems)


def test_every_room_is_there(house: House) -> None:
    assert house.rooms == set(ROOMS) == set(LIBRARIES)


def plant(folder: Path, files: dict[str, str]) -> House:
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    return House(folder)


RUNS_UP = "may not import collection, which stands after it"


@pytest.mark.parametrize(
    ("file", "text", "rule"),
    [
        ("kernels/fast.py", "from scorecube.collection.cube import select", RUNS_UP),
        ("kernels/fast.py", "import scorecube.collection.cube", RUNS_UP),
        ("kernels/fast.py", "def f():\n    from scorecube import collection", RUNS_UP),
        ("kernels/fast.py", "from ..collection import cube", RUNS_UP),
        (
            "kernels/fast.py",
            "if TYPE_CHECKING:\n    from scorecube.collection.cube import Cube",
            RUNS_UP,
        ),
        ("kernels/fast.py", 'import_module("scorecube.collection.cube")', RUNS_UP),
        ("kernels/fast.py", 'import_module(f"scorecube.collection.{name}")', RUNS_UP),
        (
            "kernels/fast.py",
            "from scorecube.metrics import binary",
            "kernels may not import metrics, which",
        ),
        ("names.py", "from scorecube.errors import BadName", "names may not import errors, which"),
        (
            "collection/cube.py",
            "from scorecube import __version__",
            "collection may not import __init__, which",
        ),
        ("report/page.py", "from scorecube.execute import run", "report may not import execute"),
        ("storage/study.py", "from scorecube.ingest import runs", "storage may not import ingest"),
        ("report/swap.py", "import scipy", "not scipy"),
        (
            "report/swap.py",
            "from scorecube.statistics import holm",
            "report may not import statistics",
        ),
        (
            "kernels/fast.py",
            "import xarray",
            "kernels may import the standard library and numpy, numba, not",
        ),
        (
            "statistics/rates.py",
            "import numba",
            "statistics may import the standard library and numpy, scipy, not numba",
        ),
        (
            "names.py",
            "import numpy",
            "names may import the standard library and nothing else, not numpy",
        ),
        ("workflow/api.py", "import zarr", "workflow may import the standard library and"),
        (
            "workflow/api.py",
            "from distributed import Client",
            "workflow may import the standard library and",
        ),
        (
            "workflow/api.py",
            "if TYPE_CHECKING:\n    from distributed import Worker",
            "not distributed",
        ),
        ("report/page.py", "import typer", "not typer"),
        ("execute/run.py", "from rich.progress import Progress", "not rich"),
        (
            "report/page.py",
            "from matplotlib import pyplot",
            "matplotlib lives in report/drawing.py and report/figures.py",
        ),
        ("report/swap.py", "import jinja2", "jinja2 lives in report/page.py"),
        ("kernels/fast.py", "import llvmlite.ir", "not llvmlite"),
        ("kernels/fast.py", "import logging", "kernels knows no files and no logging"),
        ("collection/cube.py", "def f():\n" + "    x = 1\n" * 60, "f has 61 lines"),
        ("collection/cube.py", "x = 1  # fmt: skip", "is kept from the formatter"),
        ("collection/cube.py", "# fmt: off", "is kept from the formatter"),
    ],
)
def test_checker_catches_a_planted_violation(
    tmp_path: Path, file: str, text: str, rule: str
) -> None:
    others = ("__init__", "errors", "collection/__init__", "collection/cube", "metrics/binary", "execute/run", "ingest/runs", "statistics/__init__")  # fmt: skip
    house = plant(tmp_path, dict.fromkeys((f"{other}.py" for other in others), "") | {file: text})
    (problem,) = problems_of(house)
    assert problem.startswith(file)
    assert rule in problem


def test_checker_catches_strangers_circles_and_crowds(tmp_path: Path) -> None:
    assert problems_of(plant(tmp_path / "a", {"misc.py": ""})) == ["misc: stands in no room"]

    inward = {
        "report/a.py": "from scorecube.report.b import x",
        "report/c.py": "def f():\n    from . import a",
    }
    circle = plant(tmp_path / "b", inward | {"report/b.py": "from scorecube.report import c"})
    (problem,) = problems_of(circle)
    assert problem.startswith("files import each other in a circle: report/")
    assert {f"report/{name}.py" for name in "abc"} == set(problem.removeprefix("files import each other in a circle: ").split(" -> "))  # fmt: skip
    assert circle.summary()[0].endswith("3 files, 1 circles")

    everything = {
        f"{room}/a.py": "\n".join(f"from scorecube.{above} import a" for above in ROOMS[:place] if (room, above) not in APART)
        for place, room in enumerate(ROOMS)
    }  # fmt: skip
    (problem,) = problems_of(plant(tmp_path / "c", everything))
    assert problem.startswith("147 arrows between rooms, at most 75")

    root = {f"{room}.py": "" for room in ROOMS[:7]}
    (problem,) = problems_of(plant(tmp_path / "d", root))
    assert problem.startswith("7 modules at the package root, at most 6")


def test_checker_accepts_what_is_allowed(tmp_path: Path) -> None:
    allowed = {
        "workflow/api.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from distributed import Client",
        "collection/cube.py": 'def f():\n    """' + "\n" * 70 + '    """\n' + "    x = 1\n" * 59,
        "execute/run.py": "from scorecube.storage import Study\nfrom . import items",
        "execute/items.py": "import dask",
        "storage/__init__.py": "import zarr\nx = 1\n" * 251,
        "storage/layout.py": "TABLE = {\n    1: 2,\n}  # fmt: skip",
        "__init__.py": 'API = "scorecube.workflow.api"',
    }
    house = plant(tmp_path, allowed)
    assert problems_of(house) == []
    assert house.summary()[len(ROOMS) + 2 :] == [
        "warning: storage/__init__.py has 502 lines, over the soft limit of 500"
    ]


def test_the_lock_holds_no_addresses() -> None:
    assert "://" not in (REPO / "requirements.lock").read_text(encoding="utf-8")


if __name__ == "__main__":
    print(*House(SOURCE).summary(), *problems_of(House(SOURCE)), sep="\n")
