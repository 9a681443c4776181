"""Random sequences of writing, reading, killing and damaging, against a model of what a study must hold."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import xarray as xr
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scorecube import Swap
from scorecube.errors import BadStudy, ScorecubeError
from scorecube.storage import find_rest, open_study
from scorecube.workflow.api import analyse, plan_in_study
from tests.attributes import without_attrs
from tests.storage.states import FAULTS, Killed, is_whole
from tests.storage.states import cube as cube_of

NAMES, SEEDS = st.sampled_from(["a", "b"]), st.integers(0, 3)
KILL_AT = st.none() | st.integers(1, 250)


class Studies(RuleBasedStateMachine):
    """The model: the cube of each collection, and the results of these scores."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "study"
        self.cubes: dict[str, xr.Dataset] = {}
        self.results: dict[str, dict[int, xr.Dataset]] = {}
        self.known: dict[str, xr.Dataset] = {}
        """All results by digest: those of a cube that comes back are current again."""

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def attempt(self, kill_at: int | None, function: Any) -> bool:
        """Call a function, perhaps killed at one of its calls; return whether it came to its end."""
        try:
            with FAULTS.below(self.folder, kill_at or 0, kill=True):
                function()
        except Killed:
            return False
        return True

    def found(self, name: str) -> xr.Dataset | None:
        try:
            study = open_study(self.path)
        except BadStudy:
            return None
        return study[name].cube if name in study else None

    def settle(self, name: str, new: xr.Dataset, done: bool) -> bool:
        """Return whether the collection has the new cube, as it must if the call came to its end."""
        now, old = self.found(name), self.cubes.get(name)
        if now is not None and now.identical(new):
            return True
        assert not done
        assert now is None if old is None else now is not None and now.identical(old)
        return False

    @rule(name=NAMES, seed=SEEDS, kill_at=KILL_AT)
    def replace(self, name: str, seed: int, kill_at: int | None) -> None:
        new, old = cube_of(seed), self.cubes.get(name)
        done = self.attempt(
            kill_at, lambda: open_study(self.path, mode="a").add(name, cube=new, replace=True)
        )
        if self.settle(name, new, done):
            if old is None or not old.equals(new):
                self.results[name] = {}
            self.cubes[name] = new

    @rule(name=NAMES, seed=SEEDS, kill_at=KILL_AT)
    def add_metric(self, name: str, seed: int, kill_at: int | None) -> None:
        if name not in self.cubes or "n" in self.cubes[name]["metric"]:
            return
        more = cube_of(seed, "n")
        new = xr.concat([self.cubes[name], more], dim="metric", data_vars="minimal")
        done = self.attempt(kill_at, lambda: open_study(self.path, mode="a").add(name, cube=more))
        now = self.found(name)
        assert now is not None
        if now.equals(new):
            self.cubes[name] = now
        else:
            assert not done
            assert now.identical(self.cubes[name])

    @rule(name=NAMES, seed=SEEDS, kill_at=KILL_AT)
    def run(self, name: str, seed: int, kill_at: int | None) -> None:
        if name not in self.cubes:
            return

        def task() -> None:
            study = open_study(self.path, mode="a")
            (planned,) = plan_in_study(
                study, Swap(), collections=[name], trials=20, seed=seed, metrics=["m"]
            )
            planned.run(block_units=10)

        before = len(open_study(self.path)[name].results("swap"))
        done = self.attempt(kill_at, task)
        stored = open_study(self.path)[name].results("swap")
        if done or len(stored) > before:
            cube = self.cubes[name].sel(metric=["m"])
            result = analyse(cube, Swap(), trials=20, seed=seed, workers=1)
            self.results[name][seed] = self.known[result.attrs["digest"]] = result

    @rule(place=st.integers(0, 10**6), bit=st.integers(0, 7))
    def damage(self, place: int, bit: int) -> None:
        """A flipped bit is found by verify, and nothing wrong is read; then it is mended."""
        files = sorted(path for path in self.path.rglob("*") if path.is_file())
        files = [path for path in files if path.stat().st_size]  # what only is there has no bit
        if not self.cubes or not verified(self.path):
            return
        file = files[place % len(files)]
        content = file.read_bytes()
        changed = bytearray(content)
        changed[place % len(content)] ^= 1 << bit
        file.write_bytes(changed)
        if ".partial" not in file.name and self.is_named(file):
            assert not verified(self.path), file
        with suppress(ScorecubeError):
            self.compare()
        file.write_bytes(content)

    def is_named(self, file: Path) -> bool:
        """Whether a file is not the rest of what a killed process wrote."""
        rest = find_rest(open_study(self.path)) if verified(self.path) else []
        path = file.relative_to(self.path).as_posix()
        return not any(path.startswith(f"{other}/") for other in rest)

    def compare(self) -> None:
        if not self.cubes:
            return
        study = open_study(self.path)
        assert list(study) == sorted(self.cubes)
        for name, cube in self.cubes.items():
            xr.testing.assert_identical(study[name].cube, cube)
            found = study[name].results("swap")
            needed = {result.attrs["digest"] for result in self.results[name].values()}
            assert needed <= {result.attrs["digest"] for result in found}
            for result in found:
                known = self.known[result.attrs["digest"]]
                xr.testing.assert_identical(without_attrs(result), without_attrs(known))

    @invariant()
    def holds(self) -> None:
        self.compare()


def verified(path: Path) -> bool:
    """Whether verify finds no damage."""
    try:
        return is_whole(path)
    except ScorecubeError:
        return False


TestStudies = Studies.TestCase
TestStudies.settings = settings(
    max_examples=8, stateful_step_count=12, deadline=None, phases=[Phase.generate]
)
