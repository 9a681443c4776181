"""Command profile: cluster profiles with scripts, manifests and an example task, which come with the package."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Optional

from scorecube.cli.completion import one_of
from scorecube.cli.options import argument, check_choice, flag
from scorecube.cli.terminal import echo, notify
from scorecube.errors import BadOutput, counted

KINDS = ("slurm", "kubernetes", "local")
EXAMPLE = "sweep.toml"


def data_file(*names: str) -> Traversable:
    """Return a file of the package's data."""
    return files("scorecube").joinpath("data", *names)


def files_of(kind: str) -> dict[str, str]:
    """Return the files of a kind of cluster by path: its profile, its scripts or manifests, and the example task."""
    found = {f"{kind}.yaml": data_file("cluster", f"{kind}.yaml").read_text(encoding="utf-8")}
    folder = data_file("cluster", kind)
    if folder.is_dir():
        found |= {f"{kind}/{name}": text for name, text in _below(folder)}
    return found | {EXAMPLE: data_file(EXAMPLE).read_text(encoding="utf-8")}


def _below(folder: Traversable) -> list[tuple[str, str]]:
    """Return the files below a folder with their texts."""
    found = []
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            found += [(f"{each.name}/{name}", text) for name, text in _below(each)]
        else:
            found.append((each.name, each.read_text(encoding="utf-8")))
    return found


def profile(
    kind: Annotated[
        str, argument("slurm|kubernetes|local", "Kind of cluster.", autocompletion=one_of(*KINDS))
    ],
    out: Annotated[
        Optional[Path],
        flag(
            "--out",
            "New folder for the profile with its scripts or manifests, and an example task.",
        ),
    ] = None,
) -> None:
    """Print a cluster profile, or write it with its scripts, manifests and an example task.

    Example: scorecube profile slurm

    Example: scorecube profile kubernetes --out deploy
    """
    check_choice("profile", kind, KINDS)
    found = files_of(kind)
    if out is None:
        echo(found[f"{kind}.yaml"].rstrip("\n"))
        more = [name for name in found if name != f"{kind}.yaml"]
        notify(f"note: --out FOLDER writes {', '.join(more)}, too")
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadOutput(f"{out}: exists and is not an empty folder; choose another one")
    for name, text in found.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_new(out / name, text)
    notify(f"{out}: {counted(len(found), 'file')}: {', '.join(found)}")


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise BadOutput(f"{path}: exists; choose another name, or remove it") from None


def write_example(path: Path) -> None:
    """Write the example task to a new file.

    Raises BadOutput: A file that exists.
    """
    write_new(path, data_file(EXAMPLE).read_text(encoding="utf-8"))
    notify(f"{path}: an example; edit it, then run: scorecube sweep {path}")
