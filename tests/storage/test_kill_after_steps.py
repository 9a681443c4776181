"""What a kill leaves after each step of a change: the process is killed there, and continued."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from scorecube.storage import lock, open_study, study, writer
from scorecube.storage.index import INDEX
from scorecube.storage.location import LocalDirectory
from scorecube.storage.lock import LocalLockFile
from scorecube.storage.verify import verify_study
from scorecube.storage.writer import ListWriter, Writer
from scorecube.testing import simulate_cube
from tests.storage.states import FAULTS, Killed, state

STEPS: dict[str, tuple[Any, str, tuple[str, ...], bool]] = {
    "lock file made": (LocalLockFile, "create", (".demo.lock",), False),
    "group written": (writer, "write_dataset", (".demo.lock", "demo/cube.2.*.staged"), False),
    "group in place": (LocalDirectory, "install", (".demo.lock", "demo/cube.2"), False),
    "groups synced": (LocalDirectory, "sync", (".demo.lock", "demo/cube.2"), False),
    "manifest replaced": (Writer, "commit", (".demo.lock", "demo/cube"), True),
    "old groups removed": (Writer, "remove_unlisted", (".demo.lock",), True),
    "row written": (study, "write_rows", (".demo.lock",), True),
    "lock file removed": (LocalLockFile, "remove", (), True),
    "manifest of a new collection written": (
        Writer,
        "commit",
        (".lock", ".new.lock", "new"),
        False,
    ),
    "collection listed": (ListWriter, "change", (".lock",), True),
}
"""Steps of a change: the function that ends each, what a kill then leaves, and whether readers see the new state."""
CALLS = {"lock file made": 2, "lock file removed": 2, "collection listed": 2}
"""Which of its calls, where it is not the first: the list has a lock, too, and a study that exists is not made anew."""


def die_after(patch: pytest.MonkeyPatch, step: str) -> None:
    """Let the process do nothing more after a step."""
    owner, name, *_ = STEPS[step]
    function, left = getattr(owner, name), [CALLS.get(step, 1)]

    def last(*arguments: Any, **options: Any) -> Any:
        made = function(*arguments, **options)
        left[0] -= 1
        if not left[0]:
            FAULTS.kill, FAULTS.fail_at = True, 1  # every further call of the file system
            raise Killed
        return made

    patch.setattr(owner, name, last)


def left_over(path: Path) -> set[str]:
    """Return what lies in a study that its list and manifests do not name, at any depth."""
    found = open_study(path)
    listed = {name: found[name].manifest.paths() for name in found}
    entries = {f"{name}/{each}" for name, paths in listed.items() for each in paths}
    known = {INDEX, "zarr.json", *listed, *(f"{name}/zarr.json" for name in listed), *entries}
    # The name that leads plain readers to the cube that counts.
    links = [path / name / "cube" for name in listed]
    known |= {
        link.relative_to(path).as_posix()
        for link in links
        if link.is_symlink() and link.resolve().relative_to(path.resolve()).as_posix() in entries
    }
    below = [*path.iterdir(), *(each for name in listed for each in (path / name).iterdir())]
    return {each.relative_to(path).as_posix() for each in below} - known


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_change_is_continued(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, (_, _, patterns, is_new) = tmp_path / "study.zarr", STEPS[step]
    open_study(path, mode="a").add("demo", cube=simulate_cube(n_runs=3))
    name = "new" if "collection" in step else "demo"

    def change() -> None:
        cube = simulate_cube(n_runs=4, seed=2)
        open_study(path, mode="a").add(name, cube=cube, replace=True)

    old = state(path)
    with monkeypatch.context() as patch, FAULTS.below(tmp_path), pytest.raises(Killed):
        die_after(patch, step)
        change()
    found, left = state(path), left_over(path)
    if name == "demo":  # under the lock of the list, as one that is new
        left -= {".lock"}
    elif step == "collection listed":
        left -= {".new.lock"}
    assert (found != old) == is_new
    assert len(left) == len(patterns), left
    assert all(any(fnmatchcase(each, pattern) for pattern in patterns) for each in left), left
    bury(path)
    change()
    new = state(path)
    assert new != old
    assert found == new or not is_new
    assert not left_over(path)
    assert verify_study(open_study(path))[1] == []


def bury(path: Path) -> None:
    """Let the locks be those of a process that has ended."""
    lock._HELD.clear()
    for file in path.glob(".*lock"):
        owner = {"machine": lock.machine_name(), "process": 2**22 + 1, "since": ""}
        file.write_text(json.dumps(owner))
