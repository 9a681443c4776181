"""Reference pages made from the declarations: commands, options of analyses, and the Python interface from its docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

import scorecube
from scorecube.analyses import registry
from scorecube.analyses.options import describe_type, options_of
from scorecube.cli import program

MODULES = [
    "analyses", "analyses.plan", "collection.evaluation", "collection.judgements", "collection.pools", "collection.rankings",
    "collection.schema", "collection.selection", "collection.topic_means", "design", "errors", "ingest.formats", "ingest.in_memory",
    "ingest.long", "ingest.matrix", "ingest.measure_names", "ingest.ntcireval", "ingest.public", "ingest.qrels", "ingest.trec", "metrics", "names",
    "report.results", "report.tables", "report.view", "report.views", "storage", "testing", "workflow",
]  # fmt: skip
"""What has a page, below `scorecube`; `tests/test_docstrings.py` reads their docstrings."""
WIDTH = 96
"""Columns of the help texts."""


def write_pages(folder: Path) -> None:
    """Write all pages; a page that has not changed keeps its time, so that it is not read again."""
    pages = {"commands.md": command_page(), "options.md": options_page(), "api/index.md": index()}
    pages |= {f"api/{name}.md": module_page(name) for name in MODULES}
    for path, text in pages.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def command_page() -> str:
    """Return a heading and the help text of each command."""
    commands: Any = typer.main.get_command(program.app)
    lines = [
        "# Commands\n",
        "Each text is what `scorecube COMMAND --help` prints. Options of analyses are explained, "
        "with the names they have in Python and in sweep files, under [](options.md).\n",
    ]
    for name in commands.sources:
        lines += [f"## {name}\n", f"```text\n{help_text(name)}```\n"]
    return "\n".join(lines)


def help_text(name: str) -> str:
    """Return what a command prints about itself."""
    shown = CliRunner().invoke(
        program.app,
        [name, "--help"],
        env={"COLUMNS": str(WIDTH), "TERM": "dumb"},
        prog_name="scorecube",
    )
    return "\n".join(line.rstrip() for line in shown.stdout.strip("\n").splitlines()) + "\n"


def options_page() -> str:
    """Return a heading and a table for each analysis."""
    parts = ["# Options of the analyses\n"]
    for entry in registry.entries():
        rows = option_table(registry.load(entry.name))
        for row in rows:
            row |= {key: f"`{row[key]}`" for key in ("argument", "flag", "default") if row[key]}
        parts.append(f"## {entry.name}\n\n{entry.summary}\n\n{markdown_table(rows)}\n")
    return "\n".join(parts)


def option_table(kind: type) -> list[dict[str, str]]:
    """Return the options of an analysis as rows of text, by the names of columns."""
    return [
        {
            "argument": declared.name,
            "flag": declared.flag if declared.on_command_line else "",
            "values": ", ".join(map(str, declared.choices)) or describe_type(declared.type),
            "unit": declared.unit,
            "default": {True: "yes", False: "no"}[declared.default]
            if isinstance(declared.default, bool)
            else declared.default_text() or "",
            "meaning": declared.description if declared.default is True else declared.help,
        }
        for declared in options_of(kind).values()
    ]


def markdown_table(rows: list[dict[str, str]]) -> str:
    """Return rows of text as a Markdown table."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row.values()) + " |" for row in rows
    ]
    return "\n".join(lines)


def index() -> str:
    """Return the page of what `scorecube` itself offers, with the list of the other modules."""
    lines = ["# Python interface\n", "`import scorecube as sc` offers these names.\n"]
    lines += [_documented(f"scorecube.{name}", getattr(scorecube, name)) for name in public()]
    lines += ["## Modules\n", "```{toctree}\n:maxdepth: 1\n", *MODULES, "```\n"]
    return "\n".join(lines)


def public() -> Iterator[str]:
    """Yield the names of functions and classes that `scorecube` offers."""
    return (name for name in sorted(scorecube.__all__) if callable(getattr(scorecube, name)))


def module_page(name: str) -> str:
    """Return the page of a module: its docstring, and what it defines or offers."""
    path = f"scorecube.{name}"
    module = import_module(path)
    offered = getattr(module, "__all__", None) or [
        each
        for each, value in vars(module).items()
        if not each.startswith("_") and getattr(value, "__module__", None) == path
    ]
    lines = [f"# {path}\n", f"```{{eval-rst}}\n.. automodule:: {path}\n   :no-index:\n```\n"]
    for each in offered:
        value = getattr(module, each)
        if callable(value) and getattr(value, "__doc__", None):
            lines.append(_documented(f"{path}.{each}", value, ":no-index:"))
    return "\n".join(lines)


def _documented(path: str, value: Any, *settings: str) -> str:
    """Return the directive that documents a function, or a class with its own public members."""
    kind = "autoclass" if isinstance(value, type) else "autofunction"
    lines = [f".. {kind}:: {path}", *(f"   {each}" for each in settings)]
    if isinstance(value, type) and not issubclass(value, BaseException):
        own = [
            name
            for name in vars(value)
            if not name.startswith("_")
            and callable(getattr(value, name))
            and inspect.getdoc(getattr(value, name))
        ]
        lines += [f"   :members: {', '.join(own)}"] if own else []
    return "\n".join(["```{eval-rst}", *lines, "```\n"])
