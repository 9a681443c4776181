"""Help of a command on one screen: flags in one column, choices before the text."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from itertools import chain
from typing import Any

from scorecube.cli.options import SCORES

FIRST = "Options"
WIDEST = 100
"""Columns of the help at most."""
LONGEST = 8
"""Columns of the kind of value that stands behind a flag; a longer one stands before the text."""
KINDS = {"str": "TEXT", "list[str]": "TEXT", "path": "PATH", "float": "X", "range": "N"}


def help_text(command: Any, context: Any) -> str:
    """Return the help of a command.

    command: With the parameters of typer.
    context: Of this command.
    """
    width = min(shutil.get_terminal_size().columns, WIDEST)
    paragraphs = (" ".join(part.split()) for part in command.help.split("\n\n"))
    lines = [f"Usage: {command.get_usage(context).removeprefix('Usage: ')}"]
    for paragraph in paragraphs:
        lines += ["", *textwrap.wrap(paragraph, width, break_long_words=False)]
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        panel = getattr(parameter, "rich_help_panel", None) or FIRST
        panels.setdefault(panel, []).extend(option_rows(parameter, context))
    commands = chain.from_iterable(panels.values())
    indent = max(len(name) for name, _ in commands) + 4
    row = textwrap.TextWrapper(width, subsequent_indent=" " * indent, break_long_words=False)
    for title in sorted(panels, key=[FIRST, SCORES, *panels].index):
        lines += ["", f"{title}:"]
        for name, text in panels[title]:
            row.initial_indent = f"  {name}".ljust(indent)
            lines += row.wrap(text)
    return "\n".join(lines) + "\n"


def option_rows(parameter: Any, context: Any) -> Iterator[tuple[str, str]]:
    """Yield the name of a parameter and its text; none for --help itself."""
    name, text = parameter.get_help_record(context) or ("", "")
    if not name or parameter.name == "help":
        return
    kind = name.rpartition(" ")[2].strip("<>")
    kind = KINDS.get(kind, kind)
    name = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar
    if kind in name or parameter.param_type_name == "argument":
        yield name, text
    elif len(kind) <= LONGEST and "|" not in kind:
        yield f"{name} {kind}", text
    else:
        yield name, f"{kind}: {text}"
