"""Formats of files of per-topic scores: their list, detection, and reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scorecube.errors import BadInput, BadName, BadPlan, option
from scorecube.ingest.files import PathLike
from scorecube.ingest.source import AUTO, BUILT_IN, LONG, MATRIX, NUMBERS, Format
from scorecube.ingest.source import File as File

if TYPE_CHECKING:
    from scorecube.ingest.scores import Reading, Scores

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
    """Return the names of all formats, with their content in a few words.

    Examples
    --------
    >>> layouts()["nev"]
    'output of NTCIREVAL, one file a run'
    """
    return BUILT_IN | {name: added.about for name, added in _registered.items()}


def load_format(name: str) -> Format:
    """Return the format of a name of `layouts` (BadPlan for another one)."""
    from scorecube.ingest.tools import FORMATS

    formats = FORMATS | _registered
    if name not in formats:
        raise BadPlan(
            f"no layout {name!r}; known: {', '.join([AUTO, *layouts()])}", option="layout"
        )
    return formats[name]


def detect(file: File | PathLike) -> str:
    """Return the name of a file's format, found from its content (BadInput for none)."""
    known = file if isinstance(file, File) else File.read(file)
    of_parquet = (LONG, "every_eval_ever", "inspect")
    for name in reversed(list(layouts()) if known.text else of_parquet):
        if load_format(name).detect(known):
            return name
    choices = "; ".join(f"{option('layout', name)} ({about})" for name, about in layouts().items())
    raise BadInput(
        f"no known layout fits the first lines; choose one: {choices}", known.path, option="layout"
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

    Parameters
    ----------
    paths
        Files of one format, plain or gzip.
    layout
        Name of the format, see `layouts`; ``auto`` detects it from the content.
    metric
        Name of the metric where a file does not name it, else the only metric to read, by its name
        here or in the tool.
    transpose
        Matrices have runs down and topics across.
    chosen
        Role (run, topic, collection, seed, score or topic_group) -> its column, of tables with
        named columns.

    Returns
    -------
    reading
        The scores, and what was read as what. Metrics of other tools have the names of this package
        where they mean the same.

    Raises
    ------
    BadInput
        All problems of all files with file and line; files of an unknown format, or of several
        formats.
    BadPlan
        An unknown layout; options that do not apply to it; two matrices of one metric.
    """
    from scorecube.ingest.scores import Scores, collect, scores_of

    # The content does not show whether runs are rows or columns: only matrices have both.
    if transpose and layout == AUTO:
        layout = MATRIX
    parts: list[Scores] = []
    problems: list[BadInput] = []
    first: PathLike | None = None
    runs: dict[str, PathLike] = {}
    for path in paths:
        try:
            file = File.read(path)
            name = detect(file) if layout == AUTO else layout
            if first is None:
                asked, first = name, path
                known = load_format(name)
                _check_options(known, transpose, chosen or {}, metric, len(paths))
            elif name != asked:
                raise BadInput(
                    f"looks like layout {name}, and {first} like {asked}; import them one after "
                    "the other, or choose the "
                    f"{option('layout')}",
                    path,
                    option="layout",
                )
            words = {"transpose": transpose, "chosen": chosen}
            found = known.read(file, metric, **{key: words[key] for key in known.options})
            if not isinstance(found, Scores):
                labels = {str(key): found[key] for key in found if key != "score"}
                found = scores_of(
                    labels, {"" if "metric" in labels else metric or "score": found["score"]}, path
                )
            if known.is_run:
                for run in found.frame["run"].unique():
                    if runs.setdefault(run, path) != path:
                        raise BadInput(
                            f"a second file of run {run!r}; the first is {runs[run]}", path
                        )
            parts.append(found)
        except BadInput as error:
            problems.append(error)
    if first is not None and asked in (MATRIX, NUMBERS):
        _refuse_two_matrices(parts)
    return collect(parts, problems, metric)


def _check_options(
    known: Format, transpose: bool, chosen: Mapping[str, str], metric: str | None, n_files: int
) -> None:
    """Refuse options that do not apply to a format (BadPlan)."""
    if transpose and "transpose" not in known.options:
        raise BadPlan(
            f"{option('transpose', True)} applies to matrices, and the layout is {known.name}",
            option="transpose",
        )
    for role, column in () if "chosen" in known.options else chosen.items():
        name = f"{role}_column"
        raise BadPlan(
            f"{option(name, column)} applies to tables with named columns, and the layout is "
            f"{known.name}",
            option=name,
        )
    if known.name in (MATRIX, NUMBERS) and metric is not None and n_files != 1:
        raise BadPlan(
            f"{option('metric')} names the metric of one file, and there are {n_files} files",
            option="metric",
        )


def _refuse_two_matrices(parts: Sequence[Scores]) -> None:
    """Refuse matrices of one metric (BadPlan), or of other runs or topics (BadInput)."""
    from scorecube.ingest.scores import refuse_other_axes

    metrics: dict[str, Scores] = {}
    for part in parts:
        (metric,) = part.frame["metric"].unique()
        if metrics.setdefault(metric, part) is not part:
            raise BadPlan(f"two files of metric {metric}: {part.path} is the second")
    refuse_other_axes({metric: part.frame for metric, part in metrics.items()})
