"""Random sequences of writing, reading, killing and damaging, against a model of what a study must hold."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scorecube.analyses import Swap
from scorecube.errors import ScorecubeError
from scorecube.storage import lock, open_study
from scorecube.storage.verify import verify_study
from scorecube.workflow.api import analyse, cube_from_scores, plan_in_study
from tests.storage.states import FAULTS, Killed, made_anew, without_stamps

NAMES, SEEDS = st.sampled_from(["a", "b"]), st.integers(0, 3)
KILL_AT = st.none() | st.integers(1, 250)


def make_cube(seed: int, metric: str = "m") -> xr.Dataset:
    values = np.random.default_rng(seed).random((3, 6))
    return cube_from_scores(
        {metric: pd.DataFrame(values, index=list("xyz"), columns=list("123456"))}
    )


class Studies(RuleBasedStateMachine):
    """The model: the cube of each collection, and the results of these scores."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "study.zarr"
        self.cubes: dict[str, xr.Dataset] = {}
        self.results: dict[str, dict[int, xr.Dataset]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def attempt(self, kill_at: int | None, function: Any) -> bool:
        """Call a function, perhaps killed at one of its calls; return whether it came to its end."""
        try:
            with FAULTS.below(self.folder, kill_at or 0, kill=True):
                function()
        except Killed:
            self.bury()
            return False
        return True

    def bury(self) -> None:
        """Let the locks be those of a process that has ended."""
        lock._HELD.clear()
        for file in self.path.glob(".*lock"):
            owner = {"machine": lock.machine_name(), "process": 2**22 + 1, "since": ""}
            file.write_text(json.dumps(owner))

    def found(self, name: str) -> xr.Dataset | None:
        if not (self.path / "zarr.json").exists():
            return None
        study = open_study(self.path)
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
        new, old = make_cube(seed), self.cubes.get(name)
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
        more = make_cube(seed, "n")
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

        done = self.attempt(kill_at, task)
        stored = open_study(self.path)[name].results("swap")
        if done or len(stored) > len(self.results[name]):
            cube = self.cubes[name].sel(metric=["m"])
            self.results[name][seed] = analyse(cube, Swap(), trials=20, seed=seed, workers=1)

    @rule(place=st.integers(0, 10**6), bit=st.integers(0, 7))
    def damage(self, place: int, bit: int) -> None:
        """A flipped bit is found by verify, and nothing wrong is read; then it is mended.

        Some bits of a compressed chunk carry no value (the unused bit of a zstd frame's header);
        verify need not see them, but then everything must be read as it was written.
        """
        files = sorted(path for path in self.path.rglob("*") if path.is_file())
        if not self.cubes or not verified(self.path):
            return
        file = files[place % len(files)]
        content = file.read_bytes()
        changed = bytearray(content)
        changed[place % len(content)] ^= 1 << bit
        file.write_bytes(changed)
        listed = all(part not in str(file) for part in (".staged", ".partial"))
        if listed and self.is_listed(file) and verified(self.path):
            assert file.name != "zarr.json", file
            self.compare()
        with suppress(ScorecubeError):
            self.compare()
        file.write_bytes(content)

    def is_listed(self, file: Path) -> bool:
        """Whether a file is not the rest of what a killed process wrote."""
        parts = file.relative_to(self.path).parts
        if len(parts) == 1:
            return parts == ("zarr.json",)
        if parts[0] not in self.cubes:
            return False
        below = "/".join(parts[1:])
        try:
            paths = open_study(self.path)[parts[0]].manifest.paths()
        except ScorecubeError:
            return True
        return below == "zarr.json" or any(below.startswith(f"{path}/") for path in paths)

    def compare(self) -> None:
        if not self.cubes:
            return
        study = open_study(self.path)
        assert list(study) == sorted(self.cubes)
        for name, cube in self.cubes.items():
            xr.testing.assert_identical(study[name].cube, cube)
            found = study[name].results("swap")
            expected = {result.attrs["digest"]: result for result in self.results[name].values()}
            assert {result.attrs["digest"] for result in found} == set(expected)
            for result in found:
                xr.testing.assert_identical(
                    result.drop_attrs(), expected[result.attrs["digest"]].drop_attrs()
                )

    @invariant()
    def holds(self) -> None:
        self.compare()

    @invariant()
    def the_index_equals_one_made_anew(self) -> None:
        if self.cubes:
            study = open_study(self.path)
            assert without_stamps(study.rows()) == made_anew(study)

    @rule(keep=st.integers(0, 3), flip=st.booleans())
    def damage_the_index(self, keep: int, flip: bool) -> None:
        """What is lost or damaged of the index is made anew."""
        segments = sorted((self.path / ".index").glob("*/zarr.json"))
        for segment in segments[keep:]:
            content = bytearray(segment.read_bytes())
            content[len(content) // 2] ^= 1
            segment.write_bytes(content) if flip else segment.unlink()


def verified(path: Path) -> bool:
    """Whether verify finds no damage."""
    try:
        return verify_study(open_study(path))[1] == []
    except ScorecubeError:
        return False


TestStudies = Studies.TestCase
TestStudies.settings = settings(max_examples=8, stateful_step_count=12, deadline=None)
