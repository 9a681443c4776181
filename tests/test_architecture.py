"""The layers of the design: who may import what, where each library lives, how long files and functions get."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPO = Path(__file__).parents[1]
SOURCE = REPO / "src" / "scorecube"

LAYER_OF = {
    room: layer
    for layer, rooms in enumerate(
        (
            "names errors",
            "kernels metrics",
            "schema judgements rankings pools scores summaries cube plan analyses design testing",
            "ingest storage execute",
            "__init__ api tasks cli commands design_commands fetch_commands list_commands report_commands sweep_commands sweeps shell options jobs console demo report",
        )
    )
    for room in rooms.split()
}
SIBLINGS: dict[str, set[str]] = {"ingest": set(), "storage": set(), "execute": {"storage"}}
"""What a room of layer 3 may import of its own layer."""
LIBRARIES: dict[int, set[str]] = {0: set(), 1: {"numpy", "numba"}, 2: {"numpy", "pandas", "xarray", "scipy"}}
FILES = {"io", "os", "pathlib", "glob", "shutil", "tempfile", "gzip", "logging"}
"""Parts of the standard library that layers 1 and 2 keep away from: arrays and labels know no files."""
HOMES = {
    "zarr": ("storage/",),
    "obstore": ("storage/objects.py",),
    "dask": ("execute/lower.py", "execute/clusters.py"),
    "distributed": ("execute/clients.py", "execute/clusters.py", "execute/warm.py"),
    "dask_jobqueue": ("execute/clusters.py",),
    "cryptography": ("execute/authority.py",),
    "pooch": ("ingest/public.py",),
    "requests": ("ingest/public.py",),
    "typer": (
        "cli.py",
        "commands.py",
        "design_commands.py",
        "fetch_commands.py",
        "list_commands.py",
        "report_commands.py",
        "sweep_commands.py",
        "shell.py",
        "options.py",
    ),
    "matplotlib": ("report/figures/",),
    "jinja2": ("report/page.py",),
    "markupsafe": ("report/pieces.py",),
    "llvmlite": ("kernels/intrinsics.py",),
}
ALSO_ALLOWED = {
    ("report/pieces.py", "matplotlib.rc_context"),
    ("report/pieces.py", "matplotlib.figure.Figure"),
    ("report/drawing.py", "matplotlib.figure.Figure"),
}
FILE_LINES, FUNCTION_LINES = 400, 60


@dataclass(frozen=True)
class Import:
    line: int
    target: str
    """Dotted name, down to the imported one: ``from a.b import c`` is ``a.b.c``."""
    typing_only: bool


def imports_of(tree: ast.Module, package: tuple[str, ...]) -> Iterator[Import]:
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join([*above, *filter(None, [node.module])])
            targets = [f"{origin}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (Import(node.lineno, target, id(node) in typing_only) for target in targets)


def broken_by(found: Import, file: str, rooms: set[str]) -> str | None:
    """Return the rule that an import breaks."""
    room, (top, *rest) = Path(file.split("/")[0]).stem, found.target.split(".")
    layer = LAYER_OF[room]
    if top == "scorecube":
        other = rest[0] if rest and rest[0] in rooms else "__init__"
        above = LAYER_OF.get(other, 4) > layer or (layer == 0 and other != room)
        beside = room in SIBLINGS and other in SIBLINGS.keys() - {room} - SIBLINGS[room]
        if above or beside:
            return f"layer {layer} ({room}) may not import {other} of layer {LAYER_OF.get(other, 4)}"
        return "report may not import execute" if (room, other) == ("report", "execute") else None
    if found.typing_only and found.target == "distributed.Client":
        return None
    if top in HOMES and not file.startswith(HOMES[top]) and (file, found.target) not in ALSO_ALLOWED:
        return f"{top} has its home in {' and '.join(HOMES[top])}"
    standard = top in sys.stdlib_module_names
    if layer in (1, 2) and top in FILES:
        return f"layer {layer} knows no files and no logging"
    if layer in LIBRARIES and not standard and top not in LIBRARIES[layer] and top not in HOMES:
        return f"layer {layer} may import the standard library and {sorted(LIBRARIES[layer])} only"
    return None


def too_long(tree: ast.Module, file: str, n_lines: int) -> Iterator[str]:
    if n_lines > FILE_LINES:
        yield f"{file}: {n_lines} lines, a file has at most {FILE_LINES}"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, end = node.body[0], node.end_lineno or node.lineno
            told = (first.end_lineno or first.lineno) - first.lineno + 1 if ast.get_docstring(node) is not None else 0
            length = end - node.lineno + 1 - told
            if length > FUNCTION_LINES:
                yield f"{file}:{node.lineno}: {node.name} has {length} lines beside its docstring, at most {FUNCTION_LINES}"


def violations(source: Path) -> list[str]:
    """Return one line for each broken rule, naming file, import and rule."""
    rooms = {path.stem for path in source.iterdir()}
    problems: list[str] = []
    for path in sorted(source.rglob("*.py")):
        file, text = path.relative_to(source).as_posix(), path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        problems += too_long(tree, file, len(text.splitlines()))
        if Path(file.split("/")[0]).stem not in LAYER_OF:
            problems.append(f"{file}: stands in no layer")
            continue
        for found in imports_of(tree, ("scorecube", *path.relative_to(source).parent.parts)):
            rule = broken_by(found, file, rooms)
            if rule is not None:
                problems.append(f"{file}:{found.line}: imports {found.target}: {rule}")
    return problems


def test_source_keeps_the_layers() -> None:
    problems = violations(SOURCE)
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.parametrize(
    ("file", "text", "rule"),
    [
        ("kernels/fast.py", "import xarray", "layer 1 may import the standard library and"),
        ("kernels/fast.py", "def f():\n    from scorecube import cube", "layer 1 (kernels) may not import cube"),
        ("kernels/fast.py", "from ..cube import select", "layer 1 (kernels) may not import cube"),
        ("kernels/fast.py", "import logging", "layer 1 knows no files"),
        ("names.py", "from scorecube.errors import BadName", "layer 0 (names) may not import errors"),
        ("cube.py", "from scorecube import __version__", "layer 2 (cube) may not import __init__"),
        ("cube.py", "import dask.array", "dask has its home in execute/lower.py and"),
        ("ingest/trec.py", "from scorecube.storage import open_study", "layer 3 (ingest) may not import storage"),
        ("execute/run.py", "from distributed import Client", "distributed has its home in execute/clients.py and"),
        ("api.py", "import zarr", "zarr has its home in storage/"),
        ("report/page.py", "from scorecube.execute import run", "report may not import execute"),
        ("report/page.py", "from matplotlib import pyplot", "matplotlib has its home in report/figures/"),
        ("misc.py", "", "stands in no layer"),
        ("cube.py", "x = 1\n" * 401, "401 lines"),
        ("cube.py", "def f():\n" + "    x = 1\n" * 60, "f has 61 lines"),
    ],
)
def test_checker_catches_a_planted_violation(tmp_path: Path, file: str, text: str, rule: str) -> None:
    for room in LAYER_OF:
        (tmp_path / f"{room}.py").touch()
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text, encoding="utf-8")
    (problem,) = violations(tmp_path)
    assert problem.startswith(file)
    assert rule in problem


def test_checker_accepts_what_is_allowed(tmp_path: Path) -> None:
    allowed = {
        "api.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from distributed import Client",
        "cube.py": 'def f():\n    """' + "\n" * 70 + '    """\n' + "    x = 1\n" * 59,
        "execute.py": "from scorecube.storage import Study",
    }
    for file, text in allowed.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    (tmp_path / "storage.py").touch()
    assert violations(tmp_path) == []


def test_lock_files_hold_no_addresses() -> None:
    locks = sorted(path for path in REPO.rglob("requirements*.lock") if ".git" not in path.parts)
    if not locks:
        pytest.skip("no requirements*.lock yet")
    found = [
        f"{path.relative_to(REPO)}:{number}: {line}"
        for path in locks
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "http://" in line or "https://" in line
    ]
    assert not found, "\n".join(found)
