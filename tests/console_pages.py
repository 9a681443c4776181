"""Commands in the documentation and what they print: ``python -m tests.console_pages PAGE ...`` writes the outputs anew.

A page's console blocks run in order in one folder. It holds the made-up task of `tests.newcomer` and the files that the page shows with a
caption.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tests import newcomer
from tests.terminal import on_terminal, program

REPO = Path(__file__).parents[1]
BLOCK = re.compile(r"^```console\n\$ (.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"^```{code-block} \w+\n:caption: (\S+)\n\n(.*?)^```$", re.DOTALL | re.MULTILINE)
STATUS = "; echo $?"
"""End of a command line whose status is shown."""
SIZE = re.compile(r"\([\d,]+ KiB\)")
"""What another machine, or another release of a library, makes different."""
WIDTH = 98
"""Columns of a page."""
PROGRESS = re.compile(
    r".+: [\d,]+ of [\d,]+ \w+(, .+ left)?|compiling .+|(sweep|drawing|merging): \d+%.*"
)
"""A line that only a slow machine, or the first use, prints."""


def pages() -> list[Path]:
    """Return the pages with console blocks."""
    found = [REPO / "README.md", *sorted((REPO / "docs").rglob("*.md"))]
    return [
        page
        for page in found
        if "_build" not in page.parts
        and "_generated" not in page.parts
        and BLOCK.search(page.read_text(encoding="utf-8"))
    ]


def run(page: Path, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Run the commands of a page in a folder; yield command, shown and printed output."""
    newcomer.write(folder)
    text = page.read_text(encoding="utf-8")
    for name, content in FILE.findall(text):
        (folder / name).write_text(content, encoding="utf-8")
    programs = folder / "programs"
    write_program(programs)
    for line, shown in BLOCK.findall(text):
        name, *words = shlex.split(line.removesuffix(STATUS))
        assert name in ("scorecube", "sh", "python"), line
        # A dumb terminal has no bar; what is printed beside it is the same.
        settings = {"TERM": "dumb"}
        settings["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
        command = {"scorecube": program(), "python": [sys.executable]}.get(name, [name]) + words
        status, seen = on_terminal(command, folder, **settings)
        if line.endswith(STATUS):
            seen += f"{status}\n"
        else:
            assert status == 0, seen
        yield line, shown, seen.replace("\r\n", "\n").replace(f"{folder}/", "")


def write_program(folder: Path) -> None:
    """Write the command ``scorecube`` of this interpreter into a folder, for shell scripts."""
    folder.mkdir()
    path = folder / "scorecube"
    path.write_text(f'#!/bin/sh\nexec {shlex.join(program())} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def without_machine(text: str) -> list[str]:
    """Return the words of a text without what differs between machines; pages fold long lines."""
    return SIZE.sub("(N KiB)", " ".join(text.split())).split()


def kept_lines(seen: str) -> str:
    """Return what is printed without lines of progress, as it stands in a page."""
    lines = [line.rstrip() for line in seen.strip().splitlines()]
    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        if len(line) > WIDTH
        else line
        for line in lines
        if not PROGRESS.fullmatch(line)
    )


def renew(page: Path) -> None:
    """Write what the commands of a page print into it."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        for line, shown, seen in run(page, Path(name)):
            kept = kept_lines(seen)
            if without_machine(kept) != without_machine(shown) or any(
                len(each) > WIDTH for each in shown.splitlines()
            ):
                text = text.replace(f"$ {line}\n{shown}```", f"$ {line}\n{kept}\n```")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        renew(Path(argument))
