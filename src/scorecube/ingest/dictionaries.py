"""Nested dictionaries of scores as JSON, as of ``json.dump(evaluator.evaluate(run), file)`` with pytrec_eval: one file a run, or runs as names outside."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from scorecube.errors import BadInput, kind_of
from scorecube.ingest.files import PathLike, bare_name
from scorecube.ingest.formats import BUILT_IN, FileHead, Format
from scorecube.ingest.in_memory import to_matrices, with_axes
from scorecube.ingest.measure_names import from_trec_eval
from scorecube.ingest.reading import Matrices
from scorecube.ingest.tables import read_document

NAME = r'"(?:[^"\\]|\\.)*"\s*:\s*'
NESTED = re.compile(rf"\s*\{{\s*(?:{NAME}\{{\s*){{1,2}}{NAME}[-\dnN]")
"""Beginning of an object in an object, or one more, around a number."""
EXPECTED = "expected topic > measure > score in the file of a run, or run > topic > measure > score"


def _detect(head: FileHead) -> bool:
    if not NESTED.match(head.text):
        return False
    try:
        first = json.loads(head.lines[0])
    except (ValueError, RecursionError):
        return True  # it ends in a later line
    return len(head.lines) == 1 and all(isinstance(each, dict) for each in first.values())


def _depth(found: object, path: PathLike, name: str = "") -> int:
    """Return the number of names above each score (BadInput for different ones)."""
    if not isinstance(found, Mapping):
        if isinstance(found, str | list):
            raise BadInput(f"{name} is {kind_of(found)}; {EXPECTED}", path)
        return 0
    depths = {
        _depth(each, path, f"{name} > {key}".removeprefix(" > ")) for key, each in found.items()
    }
    if len(depths) > 1:
        raise BadInput(f"{name or 'the file'} has scores on several levels; {EXPECTED}", path)
    return 1 + max(depths, default=0)


def read(paths: Sequence[PathLike], metric: str | None) -> dict[str, Matrices]:
    """Read files of nested dictionaries; the level of the measures is found by their names, see `scorecube.ingest.in_memory.to_matrices`.

    Raises BadInput: No JSON, another form, a name that two files have, measures on no level or on several; no score of the metric.
    """
    whole: dict[str, object] = {}
    for path in paths:
        found = read_document(path)
        depth = _depth(found, path)
        if depth not in (2, 3):
            raise BadInput(f"scores have {depth} names above them; {EXPECTED}", path)
        parts = found if depth == 3 else {Path(bare_name(path)).stem: found}
        for name in parts.keys() & whole.keys():
            raise BadInput(f"{name} is also in another file", path)
        whole |= parts
    try:
        matrices = with_axes(to_matrices(whole))
    except BadInput as error:
        raise BadInput(str(error), paths[0]) from None
    if metric is None:
        return {"": matrices}
    chosen = metric if metric in matrices else from_trec_eval(metric)
    if chosen not in matrices:
        raise BadInput(f"no score of {metric}; there are {', '.join(sorted(matrices))}", paths[0])
    return {"": {chosen: matrices[chosen]}}


FORMAT = Format("pytrec_eval", BUILT_IN["pytrec_eval"].about, _detect, read)
