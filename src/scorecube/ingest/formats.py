"""Formats of files of per-topic scores: their list, the detection of a file's format, and reading.

Each format is one record, `Format`, in a module of its own, which is imported when it is needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scorecube.errors import BadInput, BadName, BadPlan, option
from scorecube.ingest.delimited import Row, split_rows, text_blocks
from scorecube.ingest.files import LARGEST_TABLE, PathLike, is_parquet
from scorecube.ingest.layouts import LAYOUTS, layout_of

if TYPE_CHECKING:
    from scorecube.ingest.reading import Matrices, Reading

AUTO, MATRIX, NUMBERS, LONG = "auto", "matrix", "numbers", "long"
N_LINES = 50
"""Number of lines that are read to detect a format."""
HEAD = 2**16
"""Letters in which the names of an object of JSON are looked for."""


@dataclass(frozen=True)
class FileHead:
    """Start of a file of scores, from which its format is detected.

    Parameters
    ----------
    path
        The file.
    text
        Its text, or the beginning of a long one.
    metric
        The metric that the user asks for, if any.
    """

    path: PathLike
    text: str
    metric: str | None = None

    @cached_property
    def _filled(self) -> list[str]:
        """First lines that are not empty, and one more if there is one; a line of a few letters is enough to detect."""
        found = (
            line.group() for line in re.finditer(r"[^\n]+", self.text) if not line.group().isspace()
        )
        return list(islice(found, N_LINES + 1))

    @property
    def lines(self) -> list[str]:
        """First lines that are not empty, at least one."""
        return self._filled[:N_LINES]

    @cached_property
    def fields(self) -> list[list[str]]:
        """Fields between blanks of these lines."""
        return [line.split() for line in self.lines]

    @cached_property
    def rows(self) -> list[Row]:
        """Cells of these lines between commas, tabs or semicolons; no row if a quoted cell ends after the lines, or of JSON.

        Raises
        ------
        BadInput
            A file of no more lines that is not CSV.
        """
        if self.is_json:
            return []
        if len(self._filled) <= N_LINES:
            return list(split_rows([self.text], self.path))
        try:
            return list(split_rows(["\n".join(self.lines) + "\n"], self.path))
        except BadInput:
            return []

    @property
    def is_json(self) -> bool:
        """Whether the file begins with an object or a list of JSON."""
        return self.text.lstrip().startswith(("{", "["))

    @cached_property
    def names(self) -> set[str]:
        """Names of its columns, or of an object of JSON."""
        if not self.is_json:
            try:
                return set(self.header)
            except BadInput:
                return set()
        try:
            first = json.loads(self.lines[0])
        except (ValueError, RecursionError):
            # An object that ends in a later line: the names in its beginning.
            return set(re.findall(r'"([^"\\]+)"\s*:', self.text[:HEAD]))
        first = first[0] if isinstance(first, list) and first else first
        return set(first) if isinstance(first, dict) else set()

    @property
    def header(self) -> list[str]:
        """Cells of the first row."""
        return self.rows[0][1] if self.rows else []


Read = Callable[[Sequence[PathLike], str | None], "dict[str, Matrices] | Reading"]
"""Reader of files of one format, see `Format`."""


@dataclass(frozen=True)
class Format:
    """A format of files of per-topic scores.

    Parameters
    ----------
    name
        Value of the argument `layout`.
    about
        Content of a file in a few words, for help and messages.
    detect
        Returns whether a file has this format. Formats that are registered later are tried first.
    read
        Reads files, and the only metric to take (None for all): gain setting ('' if the files have none) -> metric ->
        data frame of runs x topics, NaN for missing scores; or a `scorecube.ingest.reading.Reading`.
    read_transposed
        The same of files with runs and topics exchanged; None if the format has one direction only.
    read_collections
        The same of files whose columns name collections and other things: takes also role -> column; None for other formats.
    """

    name: str
    about: str
    detect: Callable[[FileHead], bool]
    read: Read
    read_transposed: Read | None = None
    read_collections: Callable[..., Reading] | None = None


class BuiltIn(NamedTuple):
    """Module of a format, which has the record as `FORMAT`, and its content in a few words."""

    module: str
    about: str


BUILT_IN = {
    MATRIX: BuiltIn("scorecube.ingest.matrix", "topics down, runs across, one file a metric"),
    NUMBERS: BuiltIn(
        "scorecube.ingest.matrix", "a matrix without a header, as of NTCIREVAL: runs are numbered"
    ),
    LONG: BuiltIn(
        "scorecube.ingest.long",
        "columns of run and topic, and of a score or of metrics, also as JSON lines or Parquet",
    ),
    "ndeval": BuiltIn("scorecube.ingest.gdeval", "output of ndeval"),
    "gdeval": BuiltIn("scorecube.ingest.gdeval", "output of gdeval"),
    "trec_eval": BuiltIn("scorecube.ingest.trec_eval", "output of trec_eval -q, one file a run"),
    "ir_measures": BuiltIn(
        "scorecube.ingest.ir_measures", "output of ir_measures -q, one file a run"
    ),
    "nev": BuiltIn("scorecube.ingest.ntcireval_scores", "output of NTCIREVAL, one file a run"),
    "pytrec_eval": BuiltIn(
        "scorecube.ingest.dictionaries",
        "dictionaries of pytrec_eval or ranx as JSON, one file a run, or runs as outer names",
    ),
}
BUILT_IN |= {layout.name: BuiltIn("scorecube.ingest.long", layout.about) for layout in LAYOUTS}
"""Formats of this package, general ones first. They are tried from the last to the first."""
_registered: dict[str, Format] = {}


def register_format(added: Format) -> None:
    """Add a format to those that can be read, or replace an added format of the same name.

    Parameters
    ----------
    added
        The format; it is tried before all others.

    Raises
    ------
    BadName
        The name of a format of this package.
    """
    if added.name in (AUTO, *BUILT_IN):
        raise BadName(f"layout {added.name!r} exists in scorecube; choose another name")
    _registered.pop(added.name, None)
    _registered[added.name] = added


def layouts() -> dict[str, str]:
    """Return the names of all formats, with their content in a few words.

    Examples
    --------
    >>> layouts()["nev"]
    'output of NTCIREVAL, one file a run'
    """
    return {name: entry.about for name, entry in (BUILT_IN | _registered).items()}


def load_format(name: str) -> Format:
    """Return a format, whose module is imported.

    Parameters
    ----------
    name
        A name of `layouts`.

    Returns
    -------
    format
        The record.

    Raises
    ------
    BadPlan
        An unknown name.
    """
    if name in _registered:
        return _registered[name]
    if name not in BUILT_IN:
        raise BadPlan(
            f"no layout {name!r}; known: {', '.join([AUTO, *layouts()])}", option="layout"
        )
    module = import_module(BUILT_IN[name].module)
    found: Format = getattr(module, "FORMATS", {}).get(name) or module.FORMAT
    return found


def read_scores(
    paths: Sequence[PathLike],
    *,
    layout: str = AUTO,
    metric: str | None = None,
    transpose: bool = False,
) -> dict[str, Matrices]:
    """Read files of per-topic scores that other tools computed.

    Parameters
    ----------
    paths
        Files of one format, plain or gzip.
    layout
        Name of the format, see `layouts`; ``auto`` detects it from the content.
    metric
        Name of the metric where a file does not name it, else the only metric to read, by its name here or in the tool.
    transpose
        Matrices have runs down and topics across.

    Returns
    -------
    matrices
        Gain setting ('' where the files name none) -> metric -> data frame of runs x topics, NaN for missing. Metrics
        of other tools have the names of this package where they mean the same.

    Raises
    ------
    BadInput
        With file and line; files of an unknown format, or of several formats.
    BadPlan
        An unknown layout; options that do not apply to it; two matrices of one metric.
    """
    return read_collections(paths, layout=layout, metric=metric, transpose=transpose).only()


def read_collections(
    paths: Sequence[PathLike],
    *,
    layout: str = AUTO,
    metric: str | None = None,
    transpose: bool = False,
    chosen: Mapping[str, str] | None = None,
) -> Reading:
    """Read files of per-topic scores of one or several collections.

    Parameters
    ----------
    paths, layout, metric, transpose
        As of `read_scores`.
    chosen
        Role (run, topic, collection, seed or score) -> its column, of layouts whose header tells columns apart.

    Returns
    -------
    reading
        Matrices by collection ('' where the files name none), and what was read as what.

    Raises
    ------
    BadInput, BadPlan
        As of `read_scores`.
    """
    from scorecube.ingest.reading import Reading

    # The content does not show whether runs are rows or columns: only matrices have both.
    if layout == AUTO:
        layout = MATRIX if transpose else _common_format(paths, metric)
    found = load_format(layout)
    read = found.read_transposed if transpose else found.read
    across = "topic" if transpose else "run"
    if read is None:
        raise BadPlan(
            f"{option('transpose', True)} applies to matrices, and the layout is {layout}",
            option="transpose",
        )
    if found.read_collections is not None:
        return found.read_collections(paths, metric, chosen)
    for role, column in (chosen or {}).items():
        name = f"{role}_column"
        raise BadPlan(
            f"{option(name, column)} applies to tables with named columns, and the layout is {layout}",
            option=name,
        )
    notes = [f"no header: {across}s are numbered"] if layout == NUMBERS else []
    scores = read(paths, metric)
    return scores if isinstance(scores, Reading) else Reading({"": scores}, notes=notes)


def detect(path: PathLike, metric: str | None = None) -> str:
    """Return the name of a file's format, detected from its first lines.

    Parameters
    ----------
    path
        Plain or gzip.
    metric
        The metric that is asked for, which may be the name of a column.

    Returns
    -------
    name
        A name of `layouts`.

    Raises
    ------
    BadInput
        A file that cannot be read, or whose format is unknown.
    """
    if is_parquet(path):
        from scorecube.ingest.tables import header_of

        of_tool = layout_of(header_of(path))
        return LONG if of_tool is None else of_tool.name
    head = FileHead(path, _beginning(path), metric)
    known = layouts()
    for name in reversed(known):
        if load_format(name).detect(head):
            return name
    choices = "; ".join(f"{option('layout', name)} ({about})" for name, about in known.items())
    raise BadInput(
        f"no known layout fits the first lines; choose one: {choices}", path, option="layout"
    )


def _beginning(path: PathLike) -> str:
    """Return the text of a file up to more than `N_LINES` lines that are not empty."""
    text = ""
    for block in text_blocks(path, LARGEST_TABLE):
        text += block
        if text.count("\n") > N_LINES and len(FileHead(path, text).lines) == N_LINES:
            break
    return text


def _common_format(paths: Sequence[PathLike], metric: str | None) -> str:
    found: dict[str, PathLike] = {}
    for path in paths:
        if Path(path).exists() and not Path(path).is_file():
            raise BadInput(
                f"is not a file that can be read twice, to detect its layout and to take the scores; save it, or choose the "
                f"{option('layout')}",
                path,
                option="layout",
            )
        found.setdefault(detect(path, metric), path)
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise BadInput(
            f"looks like layout {other}, and {first} like {one}; import them one after the other, or choose the "
            f"{option('layout')}",
            second,
            option="layout",
        )
    return next(iter(found))
