"""Formats of files of per-topic scores: their list, detection, and reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scorecube.errors import BadInput, BadName, BadPlan, option
from scorecube.ingest.files import PathLike
from scorecube.ingest.source import AUTO, BUILT_IN, LONG, MATRIX, NUMBERS, File
from scorecube.ingest.source import Format as Format

if TYPE_CHECKING:
    from scorecube.ingest.scores import Reading, Scores

OF_PARQUET = (LONG, "every_eval_ever", "inspect")
_registered: dict[str, Format] = {}


def register_format(added: Format) -> None:
    """Add a format, which is tried before all others, or replace an added one of its name.

    Raises BadName: The name of a format of this package.
    """
    if added.name in (AUTO, *BUILT_IN):
        raise BadName(f"layout {added.name!r} exists in scorecube; choose another name")
    _registered.pop(added.name, None)
    _registered[added.name] = added


def layouts() -> dict[str, str]:
    """Return the names of all formats, with their content in a few words."""
    return BUILT_IN | {name: added.about for name, added in _registered.items()}


def load_format(name: str) -> Format:
    """Return the format of a name of `layouts` (BadPlan for another one)."""
    from scorecube.ingest.tools import FORMATS

    formats = FORMATS | _registered
    if name not in formats:
        choices = ", ".join([AUTO, *layouts()])
        raise BadPlan(f"no layout {name!r}; known: {choices}", option="layout")
    return formats[name]


def detect(file: File | PathLike) -> str:
    """Return the name of a file's format, found from its content (BadInput for none)."""
    content = file if isinstance(file, File) else File.read(file)
    for name in reversed(list(layouts()) if content.text else OF_PARQUET):
        if load_format(name).detect(content):
            return name
    choices = "; ".join(f"{option('layout', name)} ({about})" for name, about in layouts().items())
    raise BadInput(
        f"no known layout fits the first lines; choose one: {choices}",
        content.path,
        option="layout",
    )


def read_collections(
    paths: Sequence[PathLike],
    *,
    layout: str = AUTO,
    metric: str | None = None,
    transpose: bool = False,
    chosen: Mapping[str, str] | None = None,
) -> Reading:
    """Read files of per-topic scores that other tools computed, of one or several collections.

    paths: Files of one format, plain or gzip.
    layout: Name of the format, see `layouts`; ``auto`` detects it from the content.
    metric: Name of the metric where a file does not name it, else the only metric to read, by its
        name here or in the tool.
    transpose: Matrices have runs down and topics across.
    chosen: Role (run, topic, collection, seed, score or topic_group) -> its column, of tables with
        named columns.
    Returns reading: The scores, and what was read as what. Metrics of other tools have the names of
        this package where they mean the same.
    Raises BadInput: All problems of all files with file and line; files of an unknown format, or of
        several formats.
    Raises BadPlan: An unknown layout; options that do not apply to it; two matrices of one metric.
    """
    from scorecube.ingest.scores import Scores, collect, refuse_other_matrices, scores_of_frame

    # The content does not show whether runs are rows or columns: only matrices have both.
    if transpose and layout == AUTO:
        layout = MATRIX
    parts: list[Scores] = []
    problems: list[BadInput] = []
    name, first = layout, None
    files_of: dict[str, PathLike] = {}
    for path in paths:
        try:
            file = File.read(path)
            fits = detect(file) if layout == AUTO else layout
            if first is None:
                name, first = fits, path
                arguments = _arguments(name, transpose, chosen or {})
            elif fits != name:
                raise BadInput(
                    f"looks like layout {fits}, and {first} like {name}; import them one after "
                    f"the other, or choose the {option('layout')}",
                    path,
                    option="layout",
                )
            scores = load_format(name).read(file, metric, **arguments)
            part = scores if isinstance(scores, Scores) else scores_of_frame(scores, metric, path)
            for run in part.frame["run"].unique() if load_format(name).is_run else ():
                if (other := files_of.setdefault(run, path)) != path:
                    raise BadInput(f"a second file of run {run!r}; the first is {other}", path)
            parts.append(part)
        except BadInput as error:
            problems.append(error)
    if name in (MATRIX, NUMBERS):
        refuse_other_matrices(parts)
    return collect(parts, problems, metric)


def _arguments(layout: str, transpose: bool, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of a format's reader (BadPlan for options that do not apply to it)."""
    takes = load_format(layout).options
    wrong: list[tuple[str, Any, str]] = []
    if transpose and "transpose" not in takes:
        wrong.append(("transpose", True, "matrices"))
    if "chosen" not in takes:
        kind = "tables with named columns"
        wrong += [(f"{role}_column", column, kind) for role, column in chosen.items()]
    for name, value, kind in wrong[:1]:
        text = f"{option(name, value)} applies to {kind}, and the layout is {layout}"
        raise BadPlan(text, option=name)
    arguments = {"transpose": transpose, "chosen": chosen}
    return {name: arguments[name] for name in takes}
