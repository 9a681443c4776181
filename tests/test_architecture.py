"""The rooms of the package: which may import which, where each library lives, how long things get."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from scorecube.methods import index

REPO = Path(__file__).parents[1]
SOURCE = REPO / "src" / "scorecube"

ROOMS = (
    "names",
    "errors",
    "files",
    "statistics",
    "kernels",
    "metrics",
    "declare",
    "collection",
    "analyses",
    "methods",
    "ingest",
    "storage",
    "execute",
    "report",
    "workflow",
    "testing",
    "cli",
    "__init__",
    "__main__",
    "published",
)
"""In their order: a room imports only rooms that stand before it. A room is a package or a module at the package root."""
APART = {
    ("storage", "ingest"),
    ("execute", "ingest"),
    *(("report", room) for room in ("statistics", "kernels", "execute")),
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
    "declare": "numpy xarray pandas",
    "analyses": "numpy xarray scipy pandas",
    "methods": "numpy xarray scipy pandas",
    "ingest": "numpy xarray pandas pooch pyarrow requests ir_datasets isal inspect_ai",
    "storage": "numpy xarray zarr numcodecs obstore",
    "execute": "numpy xarray dask distributed threadpoolctl yaml",
    "report": "numpy xarray pandas matplotlib jinja2 markupsafe",
    "workflow": "numpy xarray pandas",
    "testing": "numpy xarray",
    "published": "numpy xarray",
    "cli": "numpy xarray typer click rich",
    "__init__": "",
    "__main__": "",
}
"""What each room may import beside the standard library."""
HOMES = {
    "jinja2": ("report/page.py",),
    "markupsafe": ("report/page.py", "report/page_parts.py", "report/sections.py"),
    "matplotlib": ("report/drawing.py", "report/figures.py"),
    "numcodecs": ("storage/codec.py",),
    "obstore": ("storage/object_place.py",),
    "pandas": (
        *(
            "collection/judgement_sets.py",
            "collection/schema.py",
            "analyses/frames.py",
            "analyses/printed.py",
            "analyses/rank_sets.py",
            "methods/",
        ),
        *("ingest/", "report/", "workflow/api.py", "workflow/outputs.py"),
    ),
    "pooch": ("ingest/public.py",),
    "pyarrow": ("ingest/data_frames.py",),
    "isal": ("ingest/input_files.py",),
    "inspect_ai": ("ingest/readers/inspect_logs.py",),
    "ir_datasets": ("ingest/qrels.py",),
    "ir_measures": ("collection/metrics_of_tools.py",),
    "requests": ("ingest/public.py",),
    "yaml": ("execute/clusters.py",),
}
"""Libraries that live in fewer files than their room has."""
TYPING_ONLY = {"distributed.Client", "pandas", "matplotlib.axes.Axes", "matplotlib.figure.Figure"}
"""Allowed in every room under ``if TYPE_CHECKING``: users hand a client over. All other imports count wherever they stand."""
ALSO_ALLOWED = {
    ("kernels/jit.py", "logging"),
    ("kernels/jit.py", "os"),
    ("kernels/jit.py", "pathlib.Path"),
    ("kernels/jit.py", "shutil"),
    ("analyses/shared_options.py", "pathlib.Path"),
}
NO_FILES = {
    "statistics",
    "kernels",
    "metrics",
    "declare",
    "collection",
    "analyses",
    "methods",
    "testing",
}
"""Rooms of arrays and labels, which keep away from these parts of the standard library."""
FILES = {"io", "os", "pathlib", "glob", "shutil", "tempfile", "gzip", "logging"}
BY_TEXT = "import of a module whose name is put together"
MAY_IMPORT_BY_TEXT = {
    "__init__.py",
    "analyses/__init__.py",
    "ingest/readers/__init__.py",
    "methods/index.py",
}
"""Lists of modules that are imported when they are used."""
MAY_NAME_METHODS = {
    "__init__.py": "functions for programs: compare, gate, topic_set_size, wcw",
    "cli/compile.py": "compiles a sampling that is no default",
    "methods/teams/values.py": "topics needed, as in Sakai and Shang 2016",
    "published.py": "checks numbers of papers",
}
"""Files outside of their rooms that name methods, and why."""
ALSO_WORDS = {"battles", "teams", "judges", "paired", "design"}
"""Names of methods that are names of other things, too: a coordinate, an option, a variance."""
FUNCTION_LINES, FILE_LINES = 60, 400
LONG_FILES: dict[str, int] = {}
"""Files that are longer than `FILE_LINES`, and the most lines they may have."""


class Import(NamedTuple):
    """One imported name: ``from a.b import c`` is ``a.b.c``."""

    line: int
    target: str
    typing_only: bool


class File:
    """A parsed file of the package."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.lines, self.tree = path, len(text.splitlines()), ast.parse(text)
        self.room = path.split("/")[0].removesuffix(".py")
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        self.module = ".".join(["scorecube", *parts]).removesuffix(".__init__")
        self.package = ["scorecube", *path.split("/")[:-1]]
        self.imports = list(self._imports())
        self.texts = {node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant)}

    def _imports(self) -> Iterator[Import]:
        typing_only = {
            id(inner)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
            for inner in ast.walk(node)
        }
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                named = node.args[0]
                targets = [str(named.value) if isinstance(named, ast.Constant) else BY_TEXT]
            elif isinstance(node, ast.ImportFrom):
                above = self.package[: len(self.package) - node.level + 1] if node.level else []
                origin = ".".join([*above, *filter(None, [node.module])])
                targets = [f"{origin}.{alias.name}" for alias in node.names]
            else:
                continue
            for target in targets:
                yield Import(node.lineno, target, id(node) in typing_only)

    def imports_from(self, module: str) -> bool:
        """Whether anything is imported from a module or from below it."""
        return any(found.target.startswith(f"{module}.") for found in self.imports)

    def long_functions(self) -> Iterator[str]:
        """Yield the functions that are too long, without their docstrings."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if ast.get_docstring(node) is not None:
                    length -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
                if length > FUNCTION_LINES:
                    yield f"{self.path}:{node.lineno}: {node.name} has {length} lines"


@cache
def files_in(source: Path) -> list[File]:
    """Return all files of the package."""
    paths = sorted(source.rglob("*.py"))
    return [File(path.relative_to(source).as_posix(), path.read_text("utf-8")) for path in paths]


def lines_of(files: list[File]) -> dict[str, int]:
    """Return the lines of each room."""
    return {room: sum(file.lines for file in files if file.room == room) for room in ROOMS}


def inner_problem(room: str, other: str) -> str | None:
    """Return the rule that an import of another room breaks."""
    if room != other and ROOMS.index(other) > ROOMS.index(room):
        return f"{room} may not import {other}, which stands after it"
    return f"{room} may not import {other}" if (room, other) in APART else None


def library_problem(file: File, found: Import) -> str | None:
    """Return the rule that an import from outside the package breaks."""
    if found.target == BY_TEXT:
        return None if file.path in MAY_IMPORT_BY_TEXT else "import it by its name"
    top, allowed = found.target.split(".")[0], LIBRARIES[file.room].split()
    if found.typing_only and found.target in TYPING_ONLY:
        return None
    if (file.path, found.target) in ALSO_ALLOWED:
        return None
    if top in sys.stdlib_module_names:
        return f"{file.room} knows no files" if file.room in NO_FILES and top in FILES else None
    if top not in allowed:
        return f"{file.room} may not import {top}"
    at_home = file.path.startswith(HOMES.get(top, ""))
    return None if at_home else f"{top} lives in {' and '.join(HOMES[top])}"


def circles(files: list[File]) -> Iterator[str]:
    """Yield files that import each other in a circle, however deep in functions."""
    by_module = {file.module: file.path for file in files}
    graph: dict[str, set[str]] = {}
    for file in files:
        modules = [
            found.target if found.target in by_module else found.target.rpartition(".")[0]
            for found in file.imports
        ]
        read = {by_module[module] for module in modules if module in by_module}
        graph[file.path] = read - {file.path, "__init__.py"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"files import each other in a circle: {' -> '.join(reversed(error.args[1]))}"


def problems_of(files: list[File]) -> list[str]:
    """Return one line for each broken rule, naming file, import and rule."""
    if strangers := sorted({file.room for file in files} - set(ROOMS)):
        return [f"{name}: stands in no room" for name in strangers]
    problems = list(circles(files))
    for file in files:
        for found in file.imports:
            parts = found.target.split(".")
            if parts[0] != "scorecube":
                rule = library_problem(file, found)
            else:
                inner = parts[1] if len(parts) > 1 and parts[1] in ROOMS else "__init__"
                rule = inner_problem(file.room, inner)
            if rule is not None:
                problems.append(f"{file.path}:{found.line}: imports {found.target}: {rule}")
        problems += file.long_functions()
        if file.lines > (most := LONG_FILES.get(file.path, FILE_LINES)):
            problems.append(f"{file.path} has {file.lines} lines, at most {most}")
    return problems


def test_source_keeps_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    files = files_in(SOURCE)
    with capsys.disabled():
        print(lines_of(files), f"{sum(file.lines for file in files):,} lines")
    problems = problems_of(files)
    assert not problems, "\n" + "\n".join(problems)


def test_exceptions_are_needed() -> None:
    of_file = {file.path: file.lines for file in files_in(SOURCE)}
    assert all(of_file.get(path, 0) > FILE_LINES for path in LONG_FILES)


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        ("kernels/a.py", "from scorecube.collection.cube import x", "collection, which stands"),
        ("kernels/a.py", "def f():\n    from ..collection import cube", "collection, which stands"),
        ("collection/a.py", "from scorecube import __version__", "__init__, which stands"),
        ("report/a.py", "from scorecube.execute import run", "report may not import execute"),
        ("statistics/a.py", "import numba", "statistics may not import numba"),
        ("workflow/a.py", "if TYPE_CHECKING:\n    from distributed import Worker", "distributed"),
        ("kernels/a.py", "import logging", "kernels knows no files"),
        ("collection/a.py", "def f():\n" + "    x = 1\n" * 60, "f has 61 lines"),
        ("collection/a.py", "x = 1\n" * 401, "has 401 lines"),
        ("misc.py", "", "misc: stands in no room"),
    ],
)
def test_planted_violations_are_found(tmp_path: Path, path: str, text: str, rule: str) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(text, encoding="utf-8")
    (problem,) = problems_of(files_in(tmp_path))
    assert rule in problem


def test_the_lock_holds_no_addresses() -> None:
    assert "://" not in (REPO / "requirements.lock").read_text(encoding="utf-8")


def test_methods_are_named_in_their_rooms() -> None:
    """Nothing but a method's room and the index knows it: neither an import nor its name as a text."""
    known = index.BUILT_IN
    homes = {entry.name: entry.module.partition(".")[0] for entry in known}
    strangers = []
    for file in files_in(SOURCE):
        room = file.path.removeprefix("methods/").partition("/")[0].removesuffix(".py")
        if file.path == "methods/index.py" or file.path in MAY_NAME_METHODS:
            continue
        named = {home for home in homes.values() if file.imports_from(f"scorecube.methods.{home}")}
        named |= {homes[name] for name in homes.keys() - ALSO_WORDS if name in file.texts}
        strangers += [f"{file.path} names {home}" for home in named if home != room]
    assert not strangers
    assert {*MAY_NAME_METHODS} <= {file.path for file in files_in(SOURCE)}
