"""Notebooks: ``python -m tests.notebooks [NAME ...]`` executes `notebooks/NAME.py` and writes `notebooks/NAME.ipynb` with outputs.

The text (percent form, as of jupytext) is the source. Cells run in IPython's shell in this process, with its formatters. Public collections are
read from ``../shared/data`` where that is present, and fetched otherwise.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

from scorecube.ingest.public import CACHE_VARIABLE, public_collections

DATA = Path(__file__).parents[2] / "shared" / "data"
FOLDER = Path(__file__).parents[1] / "notebooks"
SOURCES = sorted(FOLDER.glob("*.py"))
CELL = re.compile(r"^# %%(.*)$", re.MULTILINE)
PICTURE, PLAIN, HTML = "image/png", "text/plain", "text/html"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
Cell = dict[str, Any]


def read_source(path: Path) -> list[Cell]:
    """Return the cells of a text, without outputs."""
    _, *parts = CELL.split(path.read_text(encoding="utf-8"))
    return [
        new_cell(kind.strip() == "[markdown]", text.strip("\n"), number)
        for number, (kind, text) in enumerate(zip(parts[::2], parts[1::2], strict=True))
    ]


def new_cell(is_text: bool, text: str, number: int) -> Cell:
    """Return a cell in the notebook format 4.5."""
    if is_text:
        text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in text.splitlines())
    name = hashlib.sha256(f"{number} {text}".encode()).hexdigest()[:8]
    kept: Cell = {"id": name, "metadata": {}, "source": text.splitlines(keepends=True)}
    if is_text:
        return {"cell_type": "markdown", **kept}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **kept}


def new_shell() -> Any:
    """Return IPython's shell without history; it keeps values instead of printing them."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.core.pylabtools import select_figure_formats
    from traitlets.config import Config

    class Silent(DisplayHook):
        def write_output_prompt(self) -> None: ...

        def write_format_data(self, *_: Any) -> None: ...

        def finish_displayhook(self) -> None: ...

    config = Config()
    config.HistoryManager.enabled = False
    kind: Any = InteractiveShell
    shell = kind(config=config, displayhook_class=Silent)
    select_figure_formats(shell, {"png"})  # type: ignore[no-untyped-call]
    return shell


def execute(path: Path, folder: Path) -> tuple[list[Cell], dict[str, Any]]:
    """Run the code of a notebook in the folder of notebooks; return its cells with outputs, and the names that it defines.

    Temporary files go to `folder`.
    """
    shell = new_shell()
    settings = {"COLUMNS": "100"}
    if DATA.is_dir():
        fill_cache(folder / "cache")
        settings[CACHE_VARIABLE] = str(folder / "cache")
    cells, count = read_source(path), 0
    with (
        chdir(path.parent),
        mock.patch.object(tempfile, "tempdir", str(folder)),
        mock.patch.dict(os.environ, settings),
    ):
        for cell in cells:
            if cell["cell_type"] == "code":
                count += 1
                cell["execution_count"] = count
                cell["outputs"] = list(outputs(shell, "".join(cell["source"]), count, folder))
    return cells, dict(shell.user_ns)


def fill_cache(cache: Path) -> None:
    """Put the files of public collections where `fetch` keeps them."""
    lying = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in DATA.glob("*/*.csv")}
    for known in public_collections().values():
        for file in known.files:
            target = cache / known.repository / known.commit / file["path"]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(lying[file["sha256"]], target)


def outputs(shell: Any, code: str, count: int, folder: Path) -> Iterator[Cell]:
    """Run one cell; yield what it prints, then its value."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        done = shell.run_cell(code, store_history=False)
    done.raise_error()
    if printed.getvalue():
        text = printed.getvalue().replace(str(folder), "/tmp")
        yield {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
    if done.result is not None:
        data, _ = shell.display_formatter.format(done.result)
        yield {
            "data": {kind: encoded(kind, data[kind]) for kind in sorted(data)},
            "execution_count": count,
            "metadata": {},
            "output_type": "execute_result",
        }


def encoded(kind: str, value: str | bytes) -> Any:
    """Return a value as notebooks hold it: bytes in base 64, text by lines."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode() + "\n"
    return value if kind == PICTURE else value.splitlines(keepends=True)


SECONDS = re.compile(r" in \d+ s$", re.MULTILINE)
"""What a sweep took."""


def shown(cells: list[Cell]) -> list[Any]:
    """Return what the cells of code print and show as text: the same on every machine."""
    return [
        [
            SECONDS.sub("", "".join(output.get("text") or output["data"][PLAIN]).strip())
            for output in cell["outputs"]
            if PICTURE not in output.get("data", {})
        ]
        for cell in cells
        if cell["cell_type"] == "code"
    ]


def write(path: Path) -> float:
    """Execute a notebook and write it with its outputs; return the seconds that it took."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        cells, _ = execute(path, Path(name))
    took = time.perf_counter() - begin
    content = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)
    path.with_suffix(".ipynb").write_text(text + "\n", encoding="utf-8")
    return took


def copy_notebooks(folder: Path) -> None:
    """Copy all notebooks, with their outputs, to a folder of the documentation; leave alone what has not changed."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in SOURCES:
        made = source.with_suffix(".ipynb").read_bytes()
        target = folder / f"{source.stem}.ipynb"
        if not target.exists() or target.read_bytes() != made:
            target.write_bytes(made)


if __name__ == "__main__":
    for source in SOURCES:
        if source.stem in sys.argv[1:] or not sys.argv[1:]:
            seconds = write(source)
            size = source.with_suffix(".ipynb").stat().st_size / 1024
            print(f"{source.stem}: {seconds:.1f} s, {size:.0f} KiB")
