"""What users see of a result: the only file of the corpus that knows the interface.

It is public but for the registries, from which the tests learn what must be kept, and into which the analysis of ``tests/recipes`` goes.

Tables and figures are those that the commands ``show`` and ``figure`` make; what stands only on a page (titles, captions, answers, warnings)
is read from the page that ``report`` writes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import scorecube as sc
from scorecube.analyses import registry
from scorecube.report import views as views
from tests.conftest import in_process

RECIPE = "tests.recipes.toy_analysis"
STUDY = "study.zarr"
"""Beside which all commands run, so that no path is shown."""
FAILED = "status "
EXACT = ("judges",)
"""Analyses that draw nothing."""
READ = 100
"""Width at which tables are kept as plain text."""
FORMS: tuple[int | str, ...] = (READ, 60, 160, "json", "markdown", "latex")
"""Of tables, beside csv: columns of a terminal, and formats."""
LONG = 80
"""Rows from which on a table is kept as csv and plain text only."""
SEALS = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"<!-- [0-9a-f]{64} [0-9a-f]{64} -->", "<!-- SEAL -->"),
        (r"(?<=scorecube )\d+\.\d+\.\d+\w*", "VERSION"),
        (r"about [\d.,:]+ \w+ on \d+ workers?, [^;\n]* in all", "about TIME on WORKERS, MEMORY"),
        (
            r'(<th scope="row">(?:started|finished|python|machine|versions)</th><td class="wrap">)[^<]*',
            r"\1SEALED",
        ),
    )
)
"""What differs between times, machines and versions, and what stands for it."""
LARGE_PARTS = re.compile(r"(?<=<style>)[^<]*(?=</style>)|(?<=<script>).*?(?=</script>)", re.DOTALL)
"""Of a page: files of the package, of which the dump has digests."""
DATA = re.compile(r"(?<=data:application/gzip;base64,)[\w+/=]+")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?|-?\d+e-\d+")
REPEATED = 100
"""Letters of a line of a page that are kept if it stands there a second time."""
BREAKS = re.compile(r'(?<=>)(?=<)|(?<=,)(?=["{\[])')
"""Where lines of a page are broken, so that a difference is found."""


def sealed(text: str) -> str:
    """Return a text without what differs between times, machines and versions."""
    for pattern, instead in SEALS:
        text = pattern.sub(instead, text)
    return text


def rounded(text: str) -> str:
    """Return a text with numbers of 9 digits: further ones depend on the instructions of the processor."""
    return NUMBER.sub(lambda found: f"{float(found[0]):.9g}", text)


def unpacked(address: str) -> str:
    """Return a table that stands packed in a page."""
    return gzip.decompress(base64.b64decode(address)).decode()


def digest(text: str) -> str:
    """Return the first digits of the SHA-256 digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def said(*words: object, columns: int | None = None) -> str:
    """Return what a command prints on one core, without further processes and plugins, and how it ends if it fails."""
    with (
        mock.patch("os.sched_getaffinity", return_value={0}, create=True),
        mock.patch("scorecube.cli.plugins.entry_points", return_value=()),
    ):
        done = in_process(*words, columns=columns)
    ended = f"{FAILED}{done.status}\n" if done.status else ""
    return sealed(ended + done.stdout + done.stderr)


def analysed(command: str) -> str:
    """Return what an analysis says: ``NAME OPTION ...`` of the study, with few trials."""
    name, *options = command.split()
    few = [] if name in EXACT else [("--trials", 10), ("--seed", 1)]
    added = (word for words in few if words[0] not in options for word in words)
    return said(name, STUDY, *options, *added)


def declared_tables() -> set[tuple[str, str]]:
    """Return all analyses, and others that ``show`` knows, with their tables."""
    return {(name, table) for name in views.view_names() for table in views.view_of(name).tables}


def declared_figures() -> set[tuple[str, str]]:
    """Return the same with their figures: of ``one`` collection, and of ``several``."""
    known = [views.view_of(name) for name in views.view_names()]
    return {(view.name, "one") for view in known if view.figure} | {
        (view.name, "several") for view in known if view.overview
    }


def tables(view: str) -> list[str]:
    """Return the names of the tables of an analysis, or of one of the others that ``show`` knows."""
    return said("show", STUDY, view, "--table", "?").split()


def shown(view: str, *, brief: bool) -> Iterator[tuple[str, str]]:
    """Yield the tables of the latest results of an analysis in all forms, or in few, and their types."""
    for table in tables(view):
        words = ("show", STUDY, view, "--table", table)
        csv = said(*words, "--format", "csv")
        yield f"table {table}, csv", csv
        for form in FORMS[:1] if brief or csv.count("\n") > LONG else FORMS:
            if isinstance(form, int):
                yield f"table {table}, {form} columns", said(*words, columns=form)
            else:
                yield f"table {table}, {form}", said(*words, "--format", form)
    if not brief:
        yield from types_of(view)


def types_of(view: str) -> Iterator[tuple[str, str]]:
    """Yield the columns, as Python users get them, of the tables of the latest result of the first collection that has any."""
    study = sc.open_study(STUDY)
    found = [study[name] for name in study if study[name].result_attributes(view)]
    for table in tables(view) if found else ():
        types = sc.table(found[0].result(view), table).dtypes
        yield f"table {table}, types", "\n".join(f"{name} {each}" for name, each in types.items())


def figure(*words: str) -> str:
    """Return the figure that ``figure`` draws, as SVG; or why there is none."""
    target = Path("figure.svg")
    target.unlink(missing_ok=True)
    told = said("figure", STUDY, *words, "--out", target)
    return target.read_text(encoding="utf-8") if target.exists() else told


def pages(*, several: bool) -> Iterator[tuple[str, str]]:
    """Yield the names of the pages that ``report`` writes, and the pages: one, or those of a folder, too."""
    for target in (Path("page.html"), *((Path("pages"),) if several else ())):
        told = said("report", STUDY, "--out", target, *(["--pages"] if target.suffix == "" else ()))
        written = sorted(target.glob("*.html")) if target.is_dir() else [target]
        for path in written:
            if path.exists():
                yield f"report {path.as_posix()}", paged(path)
            else:
                yield f"report {path.as_posix()}", told


def paged(path: Path) -> str:
    """Return a page in short lines, without its seal; digests stand for files of the package and for tables as CSV."""
    text = sealed(path.read_text(encoding="utf-8"))
    text = LARGE_PARTS.sub(lambda found: f"SHA-256 {digest(found[0])}", text)
    text = DATA.sub(lambda found: digest(rounded(unpacked(found[0]))), text)
    return BREAKS.sub("\n", text)


class _Words(HTMLParser):
    """The words of a page, without figures and rows of tables."""

    BLOCKS = frozenset(
        [
            "address",
            "caption",
            "dd",
            "div",
            "dt",
            "figcaption",
            "h1",
            "h2",
            "h3",
            "li",
            "p",
            "summary",
            "tr",
        ]
    )
    SKIPPED = frozenset(["pre", "script", "style", "svg", "tbody", "title"])

    def __init__(self) -> None:
        super().__init__()
        self.lines, self._skipped = [""], list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.SKIPPED:
            self._skipped.append(tag)
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._skipped and self._skipped[-1] == tag:
            self._skipped.pop()
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.lines[-1] += data.replace("\n", " ")

    def _break(self, tag: str) -> None:
        if tag in self.BLOCKS:
            self.lines.append("#" * int(tag[1]) + " " if re.fullmatch("h[1-3]", tag) else "")
        elif tag in ("td", "th"):
            self.lines[-1] += " "


def words_of(text: str) -> str:
    """Return the words of a page, a line for each block: headings, answers, warnings, captions; the rows of tables are elsewhere."""
    found = _Words()
    found.feed(text)
    found.close()
    lines = dict[int, str]()
    for k, line in enumerate(" ".join(line.split()) for line in found.lines):
        if line.strip("# "):
            again = len(line) > REPEATED and line in lines.values()
            lines[k] = f"{line[:REPEATED]} ... as above" if again else line
    return "\n".join(lines.values())


@contextmanager
def plugins(installed: bool) -> Iterator[None]:
    """Install the analysis of ``tests/recipes`` for a while, as an entry point would, or nothing."""
    known: list[dict[str, Any]] = [registry._ENTRIES, registry._CLASSES, views._added]
    before = [dict(each) for each in known]
    try:
        if installed:
            sys.modules.pop(RECIPE, None)
            import_module(RECIPE)
        yield
    finally:
        for each, kept in zip(known, before, strict=True):
            each.clear()
            each.update(kept)
