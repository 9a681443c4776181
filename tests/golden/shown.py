"""What users see of a result: the only file of the corpus that knows the interface, all of it public.

Tables and figures are those that the commands ``show`` and ``figure`` make; what stands only on a page (titles, captions, answers, warnings)
is read from the page that ``report`` writes.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import scorecube as sc
from tests.conftest import in_process

STUDY = "study.zarr"
"""Beside which all commands run, so that no path is shown."""
WIDTHS = (60, 100, 160)
FORMATS = ("csv", "json", "markdown", "latex")
READ = 100
"""Width at which tables are kept as plain text."""
SEALS = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"<!-- [0-9a-f]{64} [0-9a-f]{64} -->", "<!-- SEAL -->"),
        (rf"(scorecube ){re.escape(sc.__version__)}", r"\1VERSION"),
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
DATA = re.compile(r"(?<=data:text/csv;base64,)[\w+/=]+")
BREAKS = re.compile(r'(?<=>)(?=<)|(?<=,)(?=["{\[])')
"""Where lines of a page are broken, so that a difference is found."""


def sealed(text: str) -> str:
    """Return a text without what differs between times, machines and versions."""
    for pattern, instead in SEALS:
        text = pattern.sub(instead, text)
    return text


def digest(text: str) -> str:
    """Return the first digits of the SHA-256 digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def said(*words: object, columns: int | None = None) -> str:
    """Return what a command prints, and how it ends if it fails."""
    done = in_process(*words, columns=columns)
    ended = f"status {done.status}\n" if done.status else ""
    return sealed(ended + done.stdout + done.stderr)


def analysed(command: str) -> str:
    """Return what an analysis says: ``NAME OPTION ...`` of the study, with few trials."""
    name, *options = shlex.split(command)
    few = () if name == "judges" or "--trials" in options else ("--trials", 10, "--seed", 1)
    return said(name, STUDY, *options, *few)


@cache
def views() -> tuple[str, ...]:
    """Return the names of all that ``show`` knows."""
    listed = re.search(r"known: (.*)", said("show", STUDY, "?"))
    assert listed is not None
    return tuple(listed[1].split(", "))


@cache
def tables(view: str) -> tuple[str, ...]:
    """Return the names of the tables of an analysis, or of one of the others that ``show`` knows."""
    return tuple(said("show", STUDY, view, "--table", "?").split())


def table_parts(view: str, *, brief: bool) -> Iterator[tuple[str, str]]:
    """Yield the names of all forms of all tables of the latest results of an analysis, or of two forms, and their texts."""
    for table in tables(view):
        words = ("show", STUDY, view, "--table", table)
        for width in (READ,) if brief else WIDTHS:
            yield f"table {table}, {width} columns", said(*words, columns=width)
        for form in FORMATS[:1] if brief else FORMATS:
            yield f"table {table}, {form}", said(*words, "--format", form)


def columns_of(view: str) -> Iterator[tuple[str, str]]:
    """Yield the columns of the tables that Python users get of the latest result of the first collection that has any."""
    study = sc.open_study(STUDY)
    for name in study:
        if study[name].result_attributes(view):
            result = study[name].result(view)
            for table in tables(view):
                types = sc.table(result, table).dtypes
                yield f"table {table}, types", "\n".join(f"{k} {each}" for k, each in types.items())
            return


def figure(*words: str) -> str:
    """Return the figure that ``figure`` draws, as SVG; or why there is none."""
    target = Path("figure.svg")
    target.unlink(missing_ok=True)
    told = said("figure", STUDY, *words, "--out", target)
    return target.read_text(encoding="utf-8") if target.exists() else told


def page(*words: str) -> str:
    """Return the page that ``report`` writes, in short lines."""
    target = Path("page.html")
    target.unlink(missing_ok=True)
    told = said("report", STUDY, *words, "--out", target)
    return paged(target) if target.exists() else told


def paged(path: Path) -> str:
    """Return a page in short lines, without its seal; digests stand for files of the package and for tables as CSV."""
    text = sealed(path.read_text(encoding="utf-8"))
    text = LARGE_PARTS.sub(lambda found: f"SHA-256 {digest(found[0])}", text)
    text = DATA.sub(lambda found: digest(base64.b64decode(found[0]).decode()), text)
    return BREAKS.sub("\n", text)


class _Words(HTMLParser):
    """The words of a page, without figures and rows of tables."""

    BLOCKS = frozenset("address caption dd div dt figcaption h1 h2 h3 li p summary tr".split())
    SKIPPED = frozenset("pre script style svg tbody title".split())

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
    lines = (" ".join(line.split()) for line in found.lines)
    return "\n".join(line for line in lines if line.strip("# "))
