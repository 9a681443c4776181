"""The command that fetches public score matrices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from scorecube.cli import options
from scorecube.cli.terminal import say

if TYPE_CHECKING:
    from scorecube.ingest.public import PublicCollection


def fetch(
    names: Annotated[Optional[list[str]], typer.Argument(metavar="NAME", help="Collections, see --list.")] = None,
    into: Annotated[
        Optional[str], typer.Option("--into", metavar="STUDY", help="Add the scores to this study.")
    ] = None,
    out: Annotated[
        Optional[Path], typer.Option("--out", metavar="DIR", help="Put the files into DIR/NAME, with their source.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--list", help="Show what can be fetched, with source and licence.")
    ] = False,
    base: Annotated[
        Optional[str],
        typer.Option("--from", metavar="ADDRESS", help="Fetch from ADDRESS/<repository>/<commit>/<path>, a mirror."),
    ] = None,
    cache: Annotated[
        Optional[Path], typer.Option("--cache", metavar="DIR", help="Folder that keeps what was fetched.")
    ] = None,
    registry: Annotated[
        Optional[Path],
        typer.Option(
            "--registry", metavar="FILE", help="Collections of your own: a file like scorecube's data/public.toml."
        ),
    ] = None,
    replace: options.Replace = False,
) -> None:
    """Fetch public score matrices from their sources, check their SHA-256 sums, and add them to a study.

    What was fetched once is read from the cache folder and needs no network. SCORECUBE_DATA_URL stands for --from, and
    SCORECUBE_DATA_CACHE for --cache.

    Example: scorecube fetch adhoc5 --into study.zarr

    Example: scorecube fetch --list
    """
    from scorecube.errors import BadPlan
    from scorecube.ingest.public import fetch as fetch_cube
    from scorecube.ingest.public import fetch_files, public_collections, write_files
    from scorecube.workflow import api

    known = public_collections(registry)
    if everything:
        typer.echo("\n".join(map(listed, known.values())))
        return
    if not names:
        raise BadPlan("scorecube fetch needs a name: scorecube fetch --list shows them")
    if into is None and out is None:
        raise BadPlan("say where the scores go: --into STUDY, or --out DIR for the files")
    study = None if into is None else api.open_study(into, mode="a")
    # All are fetched before the first is written.
    fetched = {name: fetch_files(name, base=base, cache=cache, registry=registry) for name in dict.fromkeys(names)}
    for name, paths in fetched.items():
        say(known[name].credit)
        if out is not None:
            place = write_files(known[name], paths, out, replace=replace)
            say(f"{place}: {len(paths)} files")
        if study is not None:
            cube = fetch_cube(name, base=base, cache=cache, registry=registry)
            study.add(name, cube=cube, replace=replace)
            count = cube.sizes["metric"]
            say(f"{into}: {name}: {size_of(known[name])}, {count} metric{'s' * (count != 1)}")


def listed(known: PublicCollection) -> str:
    """Return a collection as three lines of at most 80 columns."""
    metrics = ", ".join(file.metric for file in known.files)
    beside = "\n" + " " * 15
    return (
        f"{known.name:<15}{known.title}: {size_of(known)}{beside}{metrics}{beside}{known.licence}, {known.repository}"
    )


def size_of(known: PublicCollection) -> str:
    """Return the size of a collection in words."""
    return f"{known.runs} runs x {known.topics} topics"


COMMANDS = (fetch,)
