"""Reference pages made from the declarations: commands, options of analyses, layouts of files, and the Python interface from its docstrings."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

import scorecube
from scorecube.cli import program
from scorecube.cli.help import option_rows
from scorecube.cli.program import panels_of_commands
from scorecube.declare.options import options_of
from scorecube.ingest.readers import layouts
from scorecube.methods import index as all_methods
from scorecube.methods.index import FURTHER

MODULES = [
    "declare", "analyses", "methods",
    "metrics", "storage", "workflow",
]  # fmt: skip
"""What is public, below `scorecube`; `tests/test_docstrings.py` reads their docstrings."""
PAGES = [name for name in MODULES if name not in ("analyses", "methods", "workflow")]
"""Modules with a page: what the others offer stands on the pages of `OFFERED`, or is no more than names."""
EXAMPLE = re.compile(r"^Example: (.*(?:\n.+)*)$", re.MULTILINE)


def _is_error(name: str) -> bool:
    offered = getattr(scorecube, name)
    return isinstance(offered, type) and issubclass(offered, scorecube.ScorecubeError)


OFFERED = {
    "Read scores and judge runs": (
        *("read_rankings", "evaluate", "with_rankings", "import_scores"),
        *("cube_from_scores", "fetch", "list_metrics"),
    ),
    "Choose and combine scores": (*("select", "standardise"), "variances"),
    "Analyse": (
        *("analyse", "list_analyses", "Entry", "sweep", "results", "compare", "gate", "rank_sets"),
    ),
    **{
        f"Analyses: {panel}": [
            each.class_name for each in all_methods.all_entries() if each.panel == panel
        ]
        for panel in dict.fromkeys(each.panel for each in all_methods.all_entries())
    },
    "Numbers of topics": ("topic_set_size", "wcw"),
    "Results": ("samples", "table", "figure", "report", "latex", "markdown"),
    "Studies": ("open_study", "Study"),
    "Your own": ("Analysis", "metric"),
    "Errors": [kind for kind in scorecube.__all__ if _is_error(kind)],
}
"""What `scorecube` offers, by what people do."""
MEMBERS = {"Study": "add", "Collection": "cube rankings result results contents forget"}
"""Members of a class that its page describes; options of analyses are parameters."""


def write_pages(folder: Path, others: dict[str, str]) -> None:
    """Write all pages and others; one that has not changed keeps its time, and is not read again."""
    pages = {"commands.md": command_page(), "options.md": options_page(), "api/index.md": index()}
    pages |= others
    rows: Any = layouts().to_dict("records")
    pages["layouts.md"] = f"# Layouts of files of scores\n\n{markdown_table(rows)}\n"
    pages |= {f"api/{_file_name(title)}.md": offered_page(title) for title in OFFERED}
    pages |= {f"api/{name}.md": module_page(name) for name in PAGES}
    for made in (folder / "api").glob("*.md"):
        if f"api/{made.name}" not in pages:
            made.unlink()
    for path, text in pages.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def command_page() -> str:
    """Return the commands by question, each with its sentences, its example, and a table of its arguments and options."""
    commands: Any = typer.main.get_command(program.app)
    lines = [
        "# Commands\n",
        "`scorecube COMMAND --help` prints the same. Options of analyses have other names in Python and in "
        "sweep files: [Options of the analyses](options.md).\n",
    ]
    panels = panels_of_commands()
    by_question: dict[str, list[str]] = {}
    for name in commands.commands:
        by_question.setdefault(panels.get(name, FURTHER), []).append(name)
    for question, named in by_question.items():
        lines.append(f"## {question}\n")
        for name in named:
            lines += command(name, commands.build(name))
    return "\n".join(lines)


def command(name: str, made: Any) -> list[str]:
    """Return a heading, the text of a command, and a table of its arguments and options."""
    context = made.context_class(made, info_name=name)
    rows = [
        {"option": f"`{named}`", "meaning": meaning}
        for parameter in made.get_params(context)
        for named, meaning in option_rows(parameter, context)
    ]
    text = inspect.cleandoc(made.help or "").partition("\f")[0].replace("\b\n", "")
    text = EXAMPLE.sub(lambda found: f"```text\n{' '.join(found[1].split())}\n```", text)
    return [f"### {name}\n", f"{text}\n", f"{markdown_table(rows)}\n" if rows else ""]


def options_page() -> str:
    """Return a heading and a table for each analysis."""
    parts = ["# Options of the analyses\n"]
    for entry in all_methods.all_entries():
        kind = all_methods.find(entry.name)
        assert kind is not None
        rows = option_table(kind)
        for k, row in enumerate(rows):
            named = [f"`{row[name]}`" for name in ("argument", "flag") if row[name]]
            values = row["values"]
            default = f"; default `{row['default']}`" * bool(row["default"])
            rows[k] = {
                "argument, flag": " ".join(named),
                "meaning": f"{row['meaning']} *{values}*{default}",
            }
        also = f" Also: {entry.also}." if entry.also else ""
        parts.append(f"## {entry.name}\n\n{entry.summary}{also}\n\n{markdown_table(rows)}\n")
    return "\n".join(parts)


def option_table(kind: type) -> list[dict[str, str]]:
    """Return the options of an analysis as rows of text, by the names of columns."""
    return [
        {
            "argument": declared.name,
            "flag": declared.flags[0] if declared.help else "",
            "values": declared.expected.removeprefix("one of "),
            "default": {True: "yes", False: "no"}[declared.default]
            if isinstance(declared.default, bool)
            else declared.default_text() or "",
            "meaning": declared.help,
        }
        for declared in options_of(kind).values()
    ]


def markdown_table(rows: list[dict[str, str]]) -> str:
    """Return rows of text as a Markdown table; nothing of no rows."""
    if not rows:
        return ""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += [
        "| "
        + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in row.values())
        + " |"
        for row in rows
    ]
    return "\n".join(lines)


def index() -> str:
    """Return the page with lists of what `scorecube` itself offers, by what people do, and of the other modules."""
    lines = ["# Python interface\n", "`import scorecube as sc` offers these names.\n"]
    for title, offered in OFFERED.items():
        rows = [
            {"name": f"[{name}](#scorecube.{name})", "what": _sentence(getattr(scorecube, name))}
            for name in offered
        ]
        lines += [f"## {title}\n", f"{markdown_table(rows)}\n"]
    pages = [*map(_file_name, OFFERED), *PAGES]
    lines += ["## Pages\n", "```{toctree}\n:maxdepth: 1\n", *pages, "```\n"]
    return "\n".join(lines)


def _file_name(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower())


def offered_page(title: str) -> str:
    """Return the page of some of what `scorecube` offers."""
    lines = [f"# {title}\n"]
    for name in OFFERED[title]:
        lines += [f"## {name}\n", _documented(f"scorecube.{name}", getattr(scorecube, name))]
    return "\n".join(lines)


def _sentence(value: Any) -> str:
    """Return the first sentence of a docstring."""
    first = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return re.split(r"(?<=[.?])\s(?=[A-Z])", " ".join(first.split()), maxsplit=1)[0]


def module_page(name: str) -> str:
    """Return the page of a module: its docstring, a list of what it defines or offers, and a heading for each."""
    path = f"scorecube.{name}"
    module = import_module(path)
    offered = getattr(module, "__all__", None) or [
        each
        for each, value in vars(module).items()
        if not each.startswith("_") and getattr(value, "__module__", None) == path
    ]
    lines = [f"# {path}\n", f"```{{eval-rst}}\n.. automodule:: {path}\n   :no-index:\n```\n"]
    values = {each: getattr(module, each) for each in offered}
    described = {each: value for each, value in values.items() if callable(value) and value.__doc__}
    # Names of targets have no capitals, so that a class and a function may need more than theirs.
    targets = {
        each: f"{name}.{each}-{'class' if isinstance(value, type) else 'function'}"
        for each, value in described.items()
    }
    rows = [
        {"name": f"[{each}](#{targets[each]})", "what": _sentence(value)}
        for each, value in described.items()
    ]
    lines += [f"{markdown_table(rows)}\n"] if rows else []
    for each, value in described.items():
        lines += [f"({targets[each]})=", f"## {each}\n"]
        lines.append(_documented(f"{path}.{each}", value, ":no-index:"))
    return "\n".join(lines)


def _documented(path: str, value: Any, *settings: str) -> str:
    """Return the directive that documents a function, or a class with some members."""
    kind = "autoclass" if isinstance(value, type) else "autofunction"
    lines = [f".. {kind}:: {path}", *(f"   {each}" for each in settings)]
    if members := MEMBERS.get(path.rpartition(".")[2]):
        lines.append(f"   :members: {', '.join(members.split())}")
    return "\n".join(["```{eval-rst}", *lines, "```\n"])
