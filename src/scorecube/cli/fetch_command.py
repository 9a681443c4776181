"""Command fetch: public score matrices from their sources."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

from scorecube.cli import options
from scorecube.cli.options import argument, flag
from scorecube.cli.terminal import echo, notify
from scorecube.errors import BadPlan, counted

if TYPE_CHECKING:
    from scorecube.ingest.public import PublicCollection

Names = Annotated[Optional[list[str]], argument("NAME", "Collections, see --list.")]
Into = Annotated[Optional[str], flag("--into", "Add the scores to this study.", metavar="STUDY")]
Out = Annotated[
    Optional[Path], flag("--out", "Write the files to DIR/NAME, with their source.", metavar="DIR")
]
ShowList = Annotated[bool, flag("--list", "List the public collections with source and licence.")]
Base = Annotated[
    Optional[str],
    flag("--from", "Fetch from ADDRESS/<repository>/<commit>/<path>, a mirror.", metavar="ADDRESS"),
]
Cache = Annotated[Optional[Path], flag("--cache", "Folder for fetched files.", metavar="DIR")]
Registry = Annotated[
    Optional[Path],
    flag(
        "--registry",
        "More collections, in the format of scorecube's data/public.toml.",
        metavar="FILE",
    ),
]


def fetch(
    names: Names = None,
    into: Into = None,
    out: Out = None,
    show_list: ShowList = False,
    base: Base = None,
    cache: Cache = None,
    registry: Registry = None,
    replace: options.Replace = False,
) -> None:
    """Fetch public score matrices from their sources, check their SHA-256 sums, and add them to a study.

    Fetched files are read from the cache folder later, without network. The environment variables SCORECUBE_DATA_URL and
    SCORECUBE_DATA_CACHE set the defaults of --from and --cache.

    Example: scorecube fetch adhoc5 --into study.zarr

    Example: scorecube fetch --list
    """
    from scorecube.ingest.public import fetch as fetch_cube
    from scorecube.ingest.public import fetch_files, public_collections, write_files
    from scorecube.workflow import api

    known = public_collections(registry)
    if show_list:
        echo("\n".join(map(entry_lines, known.values())))
        return
    if not names:
        raise BadPlan("no collection to fetch: name at least one; scorecube fetch --list shows all")
    if into is None and out is None:
        raise BadPlan("no destination: use --into STUDY for the scores, or --out DIR for the files")
    study = None if into is None else api.open_study(into, mode="a")
    # Fetch all before writing any: a failure leaves the study unchanged.
    fetched = {
        name: fetch_files(name, base=base, cache=cache, registry=registry)
        for name in dict.fromkeys(names)
    }
    for name, paths in fetched.items():
        notify(known[name].credit)
        if out is not None:
            folder = write_files(known[name], paths, out, replace=replace)
            notify(f"{folder}: {counted(len(paths), 'file')}")
        if study is not None:
            cube = fetch_cube(name, base=base, cache=cache, registry=registry)
            study.add(name, cube=cube, replace=replace)
            notify(
                f"{into}: {name}: {size_of(known[name])}, {counted(cube.sizes['metric'], 'metric')}"
            )


def entry_lines(collection: PublicCollection) -> str:
    """Return the description of a collection: three lines of at most 80 columns."""
    lines = [
        f"{collection.title}: {size_of(collection)}",
        ", ".join(file.metric for file in collection.files),
        f"{collection.licence}, {collection.repository}",
    ]
    return f"{collection.name:<15}" + ("\n" + " " * 15).join(lines)


def size_of(collection: PublicCollection) -> str:
    """Return the numbers of runs and topics as text."""
    return f"{collection.runs} runs x {collection.topics} topics"
