"""A study at a URL is the same as one in a directory: same bits, resumed, checked, old or new but never half."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

from scorecube.analyses import Bootstrap
from scorecube.errors import BadStudy, StoreFailed
from scorecube.storage.location import open_location
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, cube_from_scores, open_study, plan_in_study
from tests.conftest import Cli, Files
from tests.storage.conftest import StandIn
from tests.workflow.test_sweep import write_matrices

pytestmark = pytest.mark.s3
obstore = pytest.importorskip("obstore", reason="the extra s3 is not installed")
HOW = ["--metrics", "AP", "--gains", "auto"]
RUN = ["--trials", 20, "--seed", 1, "--workers", 1]


def test_commands_do_at_a_url_what_they_do_in_a_directory(
    s3: str, tmp_path: Path, files: Files, scorecube: Cli
) -> None:
    local = tmp_path / "study.zarr"
    for study in (local, s3):
        scorecube("evaluate", study, "--name", "small", *files.options(), *HOW).succeeded()
        scorecube(
            "evaluate", study, "--name", "other", *files.options(), *HOW, "--levels", "1:0"
        ).succeeded()
        scorecube("swap", study, "--size", 3, *RUN, block_units=8).succeeded()
        again = scorecube("swap", study, "--size", 3, *RUN).succeeded()
        assert "already there" in again.stderr
        extended = scorecube("swap", study, "--size", 3, "--trials", 30, "--seed", 1).succeeded()
        assert "20 trials are recorded already; 10 to go" in extended.stderr
        scorecube("judges", study, "--truth", "small", "--workers", 1).succeeded()
        scorecube(
            "evaluate",
            study,
            "--name",
            "small",
            *files.options(),
            "--metrics",
            "RR",
            "--gains",
            "auto",
        ).succeeded()
    assert "all match their checksums" in scorecube("verify", s3).succeeded().stderr
    for words in (["scores"], ["swap", "--table", "rates"], ["judges"]):
        first, second = (
            scorecube("show", study, *words, "--format", "csv").succeeded().stdout
            for study in (local, s3)
        )
        assert first == second
    facts = [
        json.loads(scorecube("info", study, "--format", "json").succeeded().stdout)
        for study in (local, s3)
    ]
    assert [fact.pop("study") for fact in facts] == [str(local), s3]
    assert facts[0]["collections"] == facts[1]["collections"]
    for name in ("small", "other"):
        for analysis in ("swap", "judges"):
            results = [open_study(study)[name].results(analysis) for study in (local, s3)]
            assert len(results[0]) == len(results[1])
            for ours, theirs in zip(*results, strict=True):
                assert_same_bits(ours, theirs)


def assert_same_bits(one: xr.Dataset, other: xr.Dataset) -> None:
    xr.testing.assert_identical(one.drop_attrs(), other.drop_attrs())
    for name, array in one.data_vars.items():
        if array.dtype.kind == "O":  # labels, of which bytes are addresses
            assert array.values.tolist() == other[name].values.tolist(), name
        else:
            assert array.values.tobytes() == other[name].values.tobytes(), name


def test_a_sweep_stores_at_a_url(s3: str, study: Path, tmp_path: Path, scorecube: Cli) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        f'study = "{s3}"\ntrials = 20\nseed = 1\n[[analysis]]\nname = "swap"\nsize = 3\n'
    )
    open_study(s3, mode="a").add("small", cube=open_study(study)["small"].cube)
    scorecube("sweep", file).succeeded()
    assert "1 stored before" in scorecube("sweep", file).succeeded().stderr
    (made,) = open_study(s3)["small"].results("swap")
    scorecube("swap", study, "--size", 3, "--trials", 20, "--seed", 1).succeeded()
    assert_same_bits(made, open_study(study)["small"].result("swap"))


def test_a_sweep_in_parts_has_one_study(s3: str, scorecube: Cli, tmp_path: Path) -> None:
    file = write_matrices(tmp_path, 4)
    (tmp_path / "m/c01.csv").write_text("topic,x\n1,abc\n")
    file.write_text(file.read_text().replace("study.zarr", s3))
    statuses = [scorecube("sweep", file, "--part", f"{number}/2").status for number in (1, 2)]
    assert sorted(statuses) == [0, 1]
    said = scorecube("sweep", file, "--status").succeeded().stdout
    assert said.endswith("3 of 4 collections read, 6 of 8 results stored\n")


def test_a_report_is_drawn_of_it(s3: str, tmp_path: Path, scorecube: Cli) -> None:
    open_study(s3, mode="a").add("demo", cube=simulate_cube(n_runs=3))
    scorecube("report", s3, "--out", tmp_path / "report.html").succeeded()
    assert s3 in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_plain_xarray_reads_it(s3: str) -> None:
    cube = simulate_cube(n_runs=3)
    open_study(s3, mode="a").add("demo", cube=cube)
    path = open_study(s3)["demo"].manifest.entries["cube"].path
    with xr.open_datatree(open_location(s3).store, engine="zarr", consolidated=False) as tree:
        xr.testing.assert_equal(
            tree[f"demo/{path}"].to_dataset()["score"].drop_vars("team").load(),
            cube["score"].drop_vars("team"),
        )


SLOW_RUN = """
import sys, time
from scorecube.analyses import Bootstrap
from scorecube.workflow.api import open_study, plan_in_study
(task,) = plan_in_study(open_study(sys.argv[1], mode="a"), Bootstrap(), trials=40, seed=1)
task.run(block_units=1, progress=lambda *_: time.sleep(0.1))
"""


@pytest.mark.process
def test_a_killed_process_is_resumed(s3: str) -> None:
    cube = simulate_cube(metrics=("AP", "RR"), n_runs=10, seed=5)
    open_study(s3, mode="a").add("demo", cube=cube)

    def plan() -> Any:
        (task,) = plan_in_study(open_study(s3, mode="a"), Bootstrap(), trials=40, seed=1)
        return task

    def records() -> list[str]:
        return [
            meta["path"]
            for page in obstore.list(upstream)
            for meta in page
            if "/record/c/" in meta["path"]
        ]

    units, upstream = plan().prepared.n_units, open_location(s3).store.store
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", SLOW_RUN, s3]) as process:
        deadline = time.monotonic() + 120
        while len(records()) < 3:
            assert process.poll() is None, "the process ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.3)
        with pytest.raises(
            BadStudy, match=f"is being written by process {process.pid} on .*wait for it"
        ):
            plan().run()
        process.kill()
    kept = plan().recorded()
    assert 3 <= kept < units
    done: list[int] = []
    result = plan().run(progress=lambda count, _: done.append(count))
    assert done[0] == kept
    assert_same_bits(result, analyse(cube, Bootstrap(), trials=40, seed=1, workers=1))


@pytest.mark.parametrize("kind", ["flipped", "cut off", "missing"])
def test_a_damaged_object_is_found(s3: str, scorecube: Cli, kind: str) -> None:
    study = open_study(s3, mode="a")
    study.add("demo", cube=simulate_cube(n_runs=4, seed=5))
    (task,) = plan_in_study(study, Bootstrap(), trials=20, seed=1)
    task.run(block_units=3)
    upstream = open_location(s3).store.store
    keys = [meta["path"] for page in obstore.list(upstream) for meta in page]
    chunks = [
        next(key for key in keys if key.startswith(start) and part in key)
        for start, part in (
            ("demo/cube.", "/score/c/"),
            ("demo/blocks/", "/record/c/"),
            ("demo/results/bootstrap/", "."),
        )
    ]
    for key in chunks:
        content = bytearray(bytes(obstore.get(upstream, key).bytes()))
        if kind == "missing":
            obstore.delete(upstream, key)
        else:
            content[-1] ^= 255
            obstore.put(upstream, key, bytes(content if kind == "flipped" else content[:-2]))
    told = scorecube("verify", s3)
    assert told.status == 1
    assert f"{len(chunks)} of " in told.stderr
    for key in chunks:
        assert key.partition("/c/")[0].removesuffix("/record") in told.stderr


def make_cube(shift: float = 0.0, metric: str = "m") -> xr.Dataset:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.random((3, 4)) + shift, index=list("abc"), columns=list("1234"))
    return cube_from_scores({metric: frame})


class Crashed(BaseException):
    """Stands for the death of the process."""


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stores in this process' memory by their URL: fast enough to crash at every single step."""
    from obstore.store import MemoryStore

    from scorecube.storage import object_store

    made: dict[str, MemoryStore] = {}
    monkeypatch.setattr(
        object_store, "from_url", lambda url, **_: made.setdefault(url, MemoryStore())
    )
    return made


def copied(store: Any) -> Any:
    from obstore.store import MemoryStore

    copy = MemoryStore()
    for page in obstore.list(store):
        for meta in page:
            obstore.put(copy, meta["path"], obstore.get(store, meta["path"]).bytes())
    return copy


@pytest.mark.parametrize("how", ["first", "replaced", "replaced twice", "more metrics twice"])
def test_a_crash_at_any_step_leaves_old_or_new(
    stores: dict[str, Any], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    from scorecube.storage.object_store import ErrorTranslatingStore, ObjectPrefix

    base, url, replace = (
        "s3://memory/base.zarr",
        "s3://memory/study.zarr",
        how.startswith("replaced"),
    )
    for k in range(0 if how == "first" else 2 if how.endswith("twice") else 1):
        before = make_cube(float(k)) if replace else make_cube(metric=f"m{k}")
        open_study(base, mode="a").add("demo", cube=before, replace=replace)
    assert open_location(base).exists() == (how != "first")
    old = None if how == "first" else open_study(base)["demo"].cube
    more = make_cube(2.0) if replace else make_cube(metric="last")
    stores["s3://memory/whole.zarr"] = copied(stores[base])
    open_study("s3://memory/whole.zarr", mode="a").add("demo", cube=more, replace=replace)
    new = open_study("s3://memory/whole.zarr")["demo"].cube
    seen, step, crashed = {"old": 0, "new": 0}, 0, True
    while crashed:
        step, crashed = step + 1, False
        stores[url] = copied(stores[base])
        with monkeypatch.context() as patch:
            steps = [0]
            for name in ("set", "delete"):
                patch.setattr(
                    ErrorTranslatingStore,
                    name,
                    crashing(getattr(ErrorTranslatingStore, name), steps, step),
                )
            patch.setattr(ObjectPrefix, "exchange", crashing_exchange(steps, step))
            try:
                open_study(url, mode="a").add("demo", cube=more, replace=replace)
            except Crashed:
                crashed = True
        found = open_study(url, mode="a")
        after = found["demo"].cube if "demo" in found else None
        state = "new" if after is not None and after.identical(new) else "old"
        assert state == "new" or (
            after is None if old is None else after is not None and after.identical(old)
        ), step
        seen[state] += 1
        if step % 5 == 0 or (state, seen[state]) == ("new", 1):  # takes most of the time
            assert problems_of(url) == [], step
            found.add("demo", cube=more, replace=replace)
            xr.testing.assert_identical(open_study(url)["demo"].cube, new)
            assert problems_of(url) == [], step
    assert seen["old"] > 10
    assert seen["new"] > (
        0 if how == "first" else 10
    )  # the old group is removed when the new one counts


def problems_of(url: str) -> list[str]:
    from scorecube.storage.verify import verify_study

    return verify_study(open_study(url))[1] if open_location(url).holds_zarr() else []


def crashing(method: Any, steps: list[int], at: int) -> Any:
    async def changed(self: Any, *given: Any) -> None:
        steps[0] += 1
        if steps[0] >= at:  # a dead process changes nothing more
            raise Crashed
        await method(self, *given)

    return changed


def crashing_exchange(steps: list[int], at: int) -> Any:
    """Return `ObjectPrefix.exchange` that counts two steps: one before and one after it."""
    from scorecube.storage.object_store import ObjectPrefix

    exchange = ObjectPrefix.exchange

    def changed(self: Any, *given: Any) -> bool:
        steps[0] += 1
        if steps[0] >= at:
            raise Crashed
        done = exchange(self, *given)
        steps[0] += 1
        if steps[0] >= at:
            raise Crashed
        return done

    return changed


def test_names_that_begin_alike_are_kept_apart(s3: str) -> None:
    study = open_study(s3, mode="a")
    for name in ("demo", "demo2", "demo.x"):
        study.add(name, cube=make_cube())
    study.add("demo", cube=make_cube(1.0), replace=True)
    study.add("demo", cube=make_cube(2.0), replace=True)
    again = open_study(s3)
    assert list(again) == ["demo", "demo.x", "demo2"]
    xr.testing.assert_identical(again["demo"].cube, make_cube(2.0))
    xr.testing.assert_identical(again["demo2"].cube, make_cube())


def test_plain_xarray_finds_the_cube_by_the_attributes_of_its_collection(s3: str) -> None:
    """As docs/reference/study.md says; an earlier path is gone, so that no other program reads old scores without a word."""
    study, store, before = open_study(s3, mode="a"), open_location(s3).store, "cube.1"
    for value in (1.0, 2.0, 3.0):
        study.add("demo", cube=make_cube(value), replace=True)
        attributes: Any = zarr.open_group(store, path="demo", mode="r").attrs.asdict()
        path = attributes["manifest"]["entries"]["cube"]["path"]
        found = xr.open_zarr(store, group=f"demo/{path}", consolidated=False)
        np.testing.assert_array_equal(found["score"].values, make_cube(value)["score"].values)
        for gone in ("cube", before):
            with pytest.raises(FileNotFoundError):
                xr.open_zarr(store, group=f"demo/{gone}", consolidated=False)
        before = path


def test_a_store_that_was_copied_to_a_directory_is_read_and_changed(
    s3: str, tmp_path: Path
) -> None:
    study = open_study(s3, mode="a")
    study.add("demo", cube=make_cube())
    study.add("demo", cube=make_cube(1.0), replace=True)
    study.add("demo", cube=make_cube(metric="n"))
    upstream = open_location(s3).store.store
    for page in obstore.list(upstream):
        for meta in page:
            target = tmp_path / "copy" / meta["path"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(bytes(obstore.get(upstream, meta["path"]).bytes()))
    copy = open_study(tmp_path / "copy", mode="a")
    xr.testing.assert_identical(copy["demo"].cube, open_study(s3)["demo"].cube)
    copy.add("demo", cube=make_cube(metric="k"))
    assert open_study(tmp_path / "copy")["demo"].cube["metric"].values.tolist() == ["m", "n", "k"]
    copy.add("demo", cube=make_cube(3.0), replace=True)
    xr.testing.assert_identical(open_study(tmp_path / "copy")["demo"].cube, make_cube(3.0))


def told(scorecube: Cli, *words: object) -> str:
    """Return the one message of a command that fails."""
    outcome = scorecube(*words)
    assert outcome.status == 1
    assert outcome.stderr.startswith("error: ")
    assert outcome.stderr.count("\n") == 1
    assert "Traceback" not in outcome.stderr
    return outcome.stderr


def test_wrong_credentials_are_told(s3: str, stand_in: StandIn, scorecube: Cli) -> None:
    stand_in.ask("/moto-api/reset-auth", "POST", b"0")
    try:
        message = told(scorecube, "info", s3)
    finally:
        stand_in.ask("/moto-api/reset-auth", "POST", b"inf")
    assert f"{s3}: the store refuses these credentials; check AWS_ACCESS_KEY_ID" in message
    assert "no study there" in told(scorecube, "info", s3)


@pytest.mark.parametrize("command", [["info"], ["swap"], ["verify"]])
def test_what_is_not_there_is_told(s3: str, scorecube: Cli, command: list[str]) -> None:
    assert f"{s3}: no study there; make one with: scorecube evaluate {s3}" in told(
        scorecube, *command, s3
    )
    assert "there is no bucket 'nowhere'" in told(scorecube, *command, "s3://nowhere/study.zarr")


def test_something_else_is_not_taken_for_a_study(s3: str, files: Files, scorecube: Cli) -> None:
    obstore.put(open_location(s3).store.store, "notes.txt", b"mine")
    words = ["evaluate", s3, "--name", "small", *files.options(), *HOW]
    assert "holds objects that are not a study" in told(scorecube, *words)


def test_a_store_that_does_not_answer_is_told_soon(
    s3: str, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    started = time.monotonic()
    assert f"{s3}: the store failed: " in told(scorecube, "info", s3)
    assert time.monotonic() - started < 10


def test_a_store_that_fails_later_is_told(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from obstore.exceptions import GenericError
    from zarr.storage import ObjectStore

    study = open_study(s3, mode="a")
    study.add("demo", cube=make_cube())

    async def failing(self: Any, *given: Any, **how: Any) -> None:
        raise GenericError("503 Slow Down")

    monkeypatch.setattr(ObjectStore, "get", failing)
    with pytest.raises(
        StoreFailed,
        match=r"503 Slow Down; .*Recorded blocks are kept; rerun the same command to resume",
    ):
        _ = study["demo"].cube


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("ftp://host/study", r"directories or at s3://bucket/prefix.*not at ftp://"),
        ("https://host/study", "not at https://"),
        ("s3://bucket", "give scheme://bucket/prefix"),
        ("s3://bucket/", "give scheme://bucket/prefix"),
        (Path("s3://bucket/study"), "converted to a path; pass it as text, e.g. s3://bucket/study"),
        ("az://container/study", "Account must be specified"),
    ],
)
def test_other_urls_are_refused(url: Any, text: str) -> None:
    with pytest.raises((BadStudy, StoreFailed), match=text):
        open_study(url)


@pytest.mark.parametrize("endpoint", ["http://minio:9000", "http://10.0.0.1:9000"])
def test_a_line_that_is_not_encrypted_is_refused(
    s3: str, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(BadStudy, match=f"AWS_ENDPOINT_URL={endpoint} is not encrypted"):
        open_study(s3)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("obstore", "obstore.store", "obstore.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "scorecube.storage.object_store", raising=False)
    with pytest.raises(BadStudy, match="pip install obstore"):
        open_study("s3://bucket/study.zarr")


def test_nothing_is_written_to_the_file_system(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    open_study(s3, mode="a").add("demo", cube=make_cube())
    assert os.listdir(tmp_path) == []
