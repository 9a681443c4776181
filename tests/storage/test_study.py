"""Studies: what is put in comes out, foreign readers can open it, nothing half-written or foreign is taken for data."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

from scorecube.analyses import Swap
from scorecube.cli.program import main
from scorecube.errors import BadInput, BadStudy, CorruptStudy
from scorecube.kernels.swap import count_and_swaps
from scorecube.storage import NewResult, Study, datasets, lock
from scorecube.storage import writer as writer_module
from scorecube.storage.nodes import open_group
from scorecube.storage.verify import verify_study
from scorecube.testing import simulate_cube, simulate_rankings
from scorecube.workflow.api import cube_from_scores, evaluate_into, open_study, plan_in_study

GAINS = ("3:2:1", "1:1:1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.zarr"


@pytest.fixture
def empty(path: Path) -> Study:
    return open_study(path, mode="a")


@pytest.fixture(scope="module")
def rankings() -> xr.Dataset:
    return simulate_rankings(n_runs=4, depth=50, seed=3)


@pytest.fixture
def filled(empty: Study, rankings: xr.Dataset) -> Study:
    """A study of one collection with rankings, a cube, blocks and a result."""
    evaluate_into(empty, "demo", rankings, ["AP", "nDCG@10"], GAINS)
    plan_in_study(empty, Swap(), trials=20, seed=1)[0].run(block_units=10)
    return empty


def small_cube(
    metric: str = "m", runs: tuple[str, ...] = ("a", "b"), shift: float = 0.0
) -> xr.Dataset:
    frame = pd.DataFrame([[0.25, 0.5, 0.75]] * len(runs), index=list(runs), columns=["1", "2", "3"])
    return cube_from_scores({metric: frame + shift})


def test_a_collection_comes_back_as_it_was(path: Path, empty: Study, rankings: xr.Dataset) -> None:
    cube = evaluate_into(empty, "demo", rankings, ["AP", "nDCG@10"], GAINS)
    again = open_study(path)
    assert list(again) == ["demo"]
    xr.testing.assert_identical(again["demo"].cube, cube)
    xr.testing.assert_identical(again["demo"].rankings, rankings)


def test_labels_of_any_script_come_back(path: Path, empty: Study) -> None:
    runs = ["zürich", "東京-1", "Ж run", "🦉", "a b/c", "e\u0301", "é", "x" * 300]
    topics = ["一", "Ünï", "001", "1", "-", "q'\"<&>"]
    values = np.arange(48).reshape(8, 6) / 48
    frame = pd.DataFrame(values, index=runs, columns=topics)
    cube = cube_from_scores({"mesure é": frame}, gain="利得", teams={runs[0]: "équipe"})
    empty.add("結果 2007", cube=cube)
    stored = open_study(path)["結果 2007"].cube
    xr.testing.assert_identical(stored, cube)
    assert [str(run) for run in stored["run"].values] == sorted(runs)
    for k, run in enumerate(runs):
        found = stored["score"].sel(metric="mesure é", gain="利得", run=run)
        assert [float(found.sel(topic=topic)) for topic in topics] == values[k].tolist()


def test_missing_scores_come_back(path: Path, empty: Study) -> None:
    cube = small_cube()
    cube["score"][0, 0, 1, 2] = np.nan
    empty.add("demo", cube=cube)
    xr.testing.assert_identical(open_study(path)["demo"].cube, cube)


def test_plain_xarray_reads_everything_without_a_warning(path: Path, filled: Study) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_datatree(path, engine="zarr", consolidated=False) as opened:
            tree = opened.load()
    groups = {
        place
        for place, member in open_group(filled.location).members(max_depth=None)
        if isinstance(member, zarr.Group)
    }
    assert {group.strip("/") for group in tree.groups} == groups | {""}
    collection = filled["demo"]
    for place, expected in (
        ("cube", collection.cube),
        ("rankings", collection.rankings),
        (f"results/swap/{collection.result('swap').attrs['digest']}", collection.result("swap")),
    ):
        found = tree[f"demo/{place}"].to_dataset()
        for name, variable in expected.variables.items():
            np.testing.assert_array_equal(found[name].values, variable.values)
    (blocks,) = (
        tree[group].to_dataset() for group in tree.groups if group.startswith("/demo/blocks/swap/")
    )
    compared = count_and_swaps(blocks["counts"].sum(["segment", "counts_2"]).values, False)[0]
    shown = np.array(_cells(collection.result("swap")["count"]))
    np.testing.assert_array_equal(compared[..., : shown.shape[-1]], shown)
    assert not compared[..., shown.shape[-1] :].any()  # results leave empty bins at the end out


def _cells(count: xr.DataArray) -> list[list[list[int]]]:
    """Return counts as blocks hold them, by size: AP uses no gains, so it is one cell under all gain settings."""
    rows = [
        count.sel(metric="AP", gain=GAINS[0]),
        *(count.sel(metric="nDCG@10", gain=gain) for gain in GAINS),
    ]
    return [row.values.tolist() for row in rows]


def test_a_result_comes_back_as_it_was_made(path: Path, empty: Study) -> None:
    empty.add("demo", cube=simulate_cube(n_runs=4))
    (task,) = plan_in_study(empty, Swap(), trials=20, seed=1)
    made = task.run()
    stored = open_study(path)["demo"].result("swap")
    xr.testing.assert_identical(stored.drop_attrs(), made.drop_attrs())
    assert {key: stored.attrs[key] for key in made.attrs} == made.attrs
    for name in made.data_vars:
        assert {key: stored[name].attrs[key] for key in made[name].attrs} == made[name].attrs


def test_collections_are_listed_in_order(empty: Study) -> None:
    for name in ("b", "a", "ä", "C"):
        empty.add(name, cube=small_cube())
    assert list(empty) == ["C", "a", "b", "ä"]
    assert "a" in empty
    assert "c" not in empty


def test_further_metrics_are_added(path: Path, empty: Study) -> None:
    first, second = small_cube("m2"), small_cube("m1", shift=0.125)
    empty.add("demo", cube=first)
    empty.add("demo", cube=second)
    merged = open_study(path)["demo"].cube
    assert [str(metric) for metric in merged["metric"].values] == ["m2", "m1"]
    xr.testing.assert_equal(merged.sel(metric=["m2"]), first)
    xr.testing.assert_equal(merged.sel(metric=["m1"]), second)


def test_further_gain_settings_are_added(path: Path, empty: Study, rankings: xr.Dataset) -> None:
    evaluate_into(empty, "demo", rankings, ["nDCG@10"], GAINS[:1])
    both = evaluate_into(empty, "demo", rankings, ["nDCG@10"], GAINS[1:])
    assert [str(gain) for gain in both["gain"].values] == list(GAINS)
    stored = open_study(path)["demo"].cube
    xr.testing.assert_equal(stored, both)
    assert not stored["score"].sel(gain=GAINS[0]).equals(stored["score"].sel(gain=GAINS[1]))


def test_adding_keeps_rankings_and_results(path: Path, filled: Study, rankings: xr.Dataset) -> None:
    before = filled["demo"].result("swap")
    evaluate_into(filled, "demo", rankings, ["RR"], GAINS)
    after = open_study(path)["demo"]
    assert [str(metric) for metric in after.cube["metric"].values] == ["AP", "nDCG@10", "RR"]
    xr.testing.assert_identical(after.rankings, rankings)
    xr.testing.assert_identical(after.result("swap"), before)


def test_adding_leaves_nothing_behind_in_the_cube(path: Path, empty: Study) -> None:
    empty.add("demo", cube=small_cube("m1"))
    empty.add("demo", cube=small_cube("m2"))
    assert open_study(path)["demo"].cube.attrs == small_cube().attrs
    found = sorted(each.name for each in (path / "demo").iterdir())
    assert found == ["cube", "cube.2", "zarr.json"]


def test_cube_is_one_path_for_readers_that_know_no_manifest(
    path: Path, empty: Study, rankings: xr.Dataset
) -> None:
    def names_of(group: str, variable: str = "metric") -> list[str]:
        opened = xr.open_zarr(path / "demo" / group, chunks=None, consolidated=False)
        return [str(each) for each in opened[variable].values]

    for count in (1, 2, 3):
        evaluate_into(empty, "demo", rankings, ["AP", "RR", "nDCG@10"][count - 1 :][:1], GAINS)
        expected = ["AP", "RR", "nDCG@10"][:count]
        assert names_of("cube") == expected
        if count > 1:
            assert (path / "demo/cube").is_symlink()
    empty.add("demo", cube=empty["demo"].cube, rankings=rankings, replace=True)
    assert names_of("rankings", "topic") == [str(each) for each in rankings["topic"].values]
    assert verify_study(open_study(path))[1] == []


def test_the_path_of_the_cube_is_mended_after_a_kill(path: Path, empty: Study) -> None:
    empty.add("demo", cube=small_cube("m1"))
    empty.add("demo", cube=small_cube("m2"))
    link = path / "demo/cube"
    link.unlink()
    link.with_name("cube.0123.partial").symlink_to("cube.1")
    (path / ".demo.lock").write_text(
        json.dumps({"machine": lock.machine_name(), "process": 2**22 + 1, "since": ""})
    )
    with open_study(path, mode="a").lock("demo"):
        pass
    assert link.resolve() == (path / "demo/cube.2").resolve()
    found = sorted(each.name for each in (path / "demo").iterdir())
    assert found == ["cube", "cube.2", "zarr.json"]


@pytest.mark.parametrize(
    ("cube", "text"),
    [
        (
            small_cube("m2", runs=("a", "c")),
            "2 runs, and the new scores have 2 or other ones.*replace=True",
        ),
        (small_cube("m2", runs=("a", "b", "c")), "2 runs, and the new scores have 3"),
        (small_cube("m2").isel(topic=[0, 1]), "3 topics, and the new scores have 2"),
        (small_cube("m", shift=0.1), "other scores, teams or groups.*replace=True"),
    ],
)
def test_scores_that_do_not_fit_are_refused(
    path: Path, empty: Study, cube: xr.Dataset, text: str
) -> None:
    empty.add("demo", cube=small_cube("m"))
    with pytest.raises(BadStudy, match=text):
        empty.add("demo", cube=cube)
    xr.testing.assert_identical(open_study(path)["demo"].cube, small_cube("m"))


def test_replacing_drops_scores_and_rankings_and_outdates_results(
    path: Path, filled: Study
) -> None:
    filled.add("other", cube=small_cube())
    filled.add("demo", cube=small_cube("m", runs=("x", "y")), replace=True)
    again = open_study(path)
    xr.testing.assert_identical(again["demo"].cube, small_cube("m", runs=("x", "y")))
    assert again["demo"].results("swap") == []
    assert again["demo"].contents() == {"rankings": False, "results": {}, "outdated": {"swap": 1}}
    with pytest.raises(BadStudy, match=r"no result of swap .* of the scores that are there now"):
        again["demo"].result("swap")
    with pytest.raises(BadStudy, match="imported as scores and has no rankings"):
        _ = again["demo"].rankings
    xr.testing.assert_identical(again["other"].cube, small_cube())


def test_replacing_nothing_adds(empty: Study) -> None:
    empty.add("demo", cube=small_cube(), replace=True)
    xr.testing.assert_identical(empty["demo"].cube, small_cube())


def test_an_outdated_result_is_kept_until_it_is_computed_again(path: Path, empty: Study) -> None:
    def computed(trials: int) -> None:
        for analysis in (Swap(), Swap(sampling="replacement", size=2)):
            plan_in_study(empty, analysis, trials=trials, seed=1)[0].run()

    empty.add("demo", cube=small_cube())
    computed(20)
    empty.add("demo", cube=small_cube(), replace=True)
    assert open_study(path)["demo"].contents()["results"] == {"swap": 2}  # the same scores
    empty.add("demo", cube=small_cube(shift=0.125), replace=True)
    assert open_study(path)["demo"].contents()["outdated"] == {"swap": 2}
    assert len(open_study(path)["demo"].result_attributes("swap", outdated=True)) == 2
    plan_in_study(empty, Swap(), trials=30, seed=2)[0].run()
    contents = open_study(path)["demo"].contents()
    assert (contents["results"], contents["outdated"]) == ({"swap": 1}, {"swap": 1})
    left = open_study(path)["demo"].result_attributes("swap", outdated=True)
    assert left[0]["sampling"] == "replacement"
    computed(20)
    assert open_study(path)["demo"].contents()["outdated"] == {}
    groups = (path / "demo/results/swap").glob("*/zarr.json")
    assert len(list(groups)) == 3
    assert verify_study(open_study(path))[1] == []


def test_a_result_of_scores_that_were_replaced_meanwhile_is_not_stored(
    path: Path, empty: Study
) -> None:
    empty.add("demo", cube=small_cube())
    (task,) = plan_in_study(empty, Swap(), trials=20, seed=1)
    open_study(path, mode="a").add("demo", cube=small_cube("m2"))
    task.run()  # its scores are there still
    (task,) = plan_in_study(empty, Swap(), trials=30, seed=1)
    open_study(path, mode="a").add("demo", cube=small_cube(shift=0.125), replace=True)
    with pytest.raises(BadStudy, match="demo: its scores were replaced while this command ran"):
        task.run()
    assert open_study(path)["demo"].contents()["results"] == {}


def test_a_large_group_is_written_and_read_in_pieces(
    filled: Study, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = filled["demo"].result("swap")
    monkeypatch.setattr(datasets, "MAX_BUFFERED_BYTES", 0)
    monkeypatch.setattr(datasets, "MAX_LOADED_BYTES", 0)
    large = NewResult("swap", "pieces", whole.assign_attrs(digest="pieces"))
    with filled.lock("demo") as writer:
        writer.write_results([large])
    found = filled["demo"].find_result("swap", "pieces")
    assert found is not None
    assert not found.variables["count"]._in_memory
    xr.testing.assert_identical(found.load(), whole.assign_attrs(digest="pieces"))
    for name, coord in whole.coords.items():
        assert found[name].dtype == coord.dtype
    assert verify_study(open_study(path))[1] == []
    pieces = path / "demo/results/swap/pieces"
    chunk = next(each for each in (pieces / "swap_rate/c").rglob("0") if each.is_file())
    written = chunk.read_bytes()
    chunk.write_bytes(bytes([*written[:-1], written[-1] ^ 255]))
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # which main sets, and later tests do not expect
    monkeypatch.setattr(
        "sys.argv", ["scorecube", "show", str(path), "swap", "--all", "--table", "rates"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("error: a part of the study cannot be read")
    assert told.endswith("run scorecube verify to find it")
    chunk.write_bytes(written)
    next(each for each in (pieces / "count/c").rglob("0") if each.is_file()).unlink()
    with pytest.raises(CorruptStudy, match="chunks of count are missing; run scorecube verify"):
        filled["demo"].find_result("swap", "pieces")
    assert len(verify_study(open_study(path))[1]) == 1


@pytest.mark.parametrize("how", ["new", "more metrics", "replace"])
@pytest.mark.parametrize("after_writing", [False, True])
def test_an_interruption_leaves_what_was_there(
    path: Path, empty: Study, monkeypatch: pytest.MonkeyPatch, how: str, after_writing: bool
) -> None:
    write = datasets.write_dataset

    def interrupted(*arguments: Any, **options: Any) -> None:
        if after_writing:
            write(*arguments, **options)
        raise KeyboardInterrupt

    if how != "new":
        empty.add("demo", cube=small_cube("m1"))
    with monkeypatch.context() as patch:
        patch.setattr(writer_module, "write_dataset", interrupted)
        with pytest.raises(KeyboardInterrupt):
            empty.add("demo", cube=small_cube("m2"), replace=how == "replace")
    again = open_study(path, mode="a")
    assert list(again) == ([] if how == "new" else ["demo"])
    if how != "new":
        xr.testing.assert_identical(again["demo"].cube, small_cube("m1"))
    again.add("demo", cube=small_cube("m2"), replace=how == "replace")
    metrics = ["m1", "m2"] if how == "more metrics" else ["m2"]
    assert [str(metric) for metric in open_study(path)["demo"].cube["metric"].values] == metrics


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", ".hidden", "a/b", "/a", "a\\b", "a\0b", "zarr.json", "a.staged", "é" * 80, "a\x1b[2J", "\udcff"],
)  # fmt: skip
def test_bad_names_are_refused(path: Path, empty: Study, name: str) -> None:
    empty.add("demo", cube=small_cube())
    with pytest.raises(BadStudy, match="cannot name a collection"):
        empty.add(name, cube=small_cube())
    assert list(open_study(path)) == ["demo"]


def test_an_unknown_collection_is_named_with_the_known_ones(empty: Study) -> None:
    with pytest.raises(BadStudy, match="no collection 'demo'; it has: none yet"):
        _ = empty["demo"]
    empty.add("demonstration", cube=small_cube())
    with pytest.raises(BadStudy, match="no collection 'demo'; it has: demonstration"):
        _ = empty["demo"]


def test_something_that_is_no_cube_is_refused(empty: Study) -> None:
    with pytest.raises(BadInput, match="the cube has no variable 'score'"):
        empty.add("demo", cube=xr.Dataset({"scores": ("run", [1.0])}))
    assert list(empty) == []


@pytest.mark.parametrize("mode", ["r", "a"])
@pytest.mark.parametrize("kind", ["file", "folder", "group", "array", "old format", "broken"])
def test_what_is_no_study_is_refused_and_left_alone(tmp_path: Path, kind: str, mode: str) -> None:
    path = tmp_path / "other"
    if kind == "file":
        path.write_text("x")
    elif kind == "folder":
        path.mkdir()
        (path / "notes.txt").write_text("x")
    elif kind == "group":
        zarr.open_group(path, mode="w").create_group("child")
    elif kind == "array":
        zarr.create_array(path, shape=(3,), dtype="int32")
    elif kind == "old format":
        zarr.open_group(path, mode="w", zarr_format=2).create_group("child")
    else:
        path.mkdir()
        (path / "zarr.json").write_text("{ not JSON")
    before = {each: each.read_bytes() for each in [path, *path.rglob("*")] if each.is_file()}
    with pytest.raises((BadStudy, CorruptStudy), match="other"):
        open_study(path, mode=mode)
    assert {
        each: each.read_bytes() for each in [path, *path.rglob("*")] if each.is_file()
    } == before


def test_a_missing_path_is_refused_for_reading_and_made_by_adding(path: Path) -> None:
    with pytest.raises(
        BadStudy, match=r"no study there, no such folder; make one with: scorecube evaluate"
    ):
        open_study(path)
    assert not path.exists()
    assert list(open_study(path, mode="a")) == []
    assert (
        not path.exists()
    )  # made when something is added, so that a refused command leaves nothing behind


def test_an_unknown_mode_is_refused(path: Path) -> None:
    with pytest.raises(BadStudy, match="mode 'w' is not 'r' or 'a'"):
        open_study(path, mode="w")
    assert not path.exists()


CHUNKS = [
    "cube/score/c/1/1/0/0",
    "cube/run/c/0",
    "rankings/level_at_rank/c/0/0/0",
    "results/swap/*/count/c/0/0/0/0",
]


def test_a_whole_study_has_no_damage(filled: Study) -> None:
    checked, problems = verify_study(filled)
    assert problems == []
    arrays = [
        place
        for place, node in open_group(filled.location).members(max_depth=None)
        if isinstance(node, zarr.Array)
    ]
    # The study, the collection, its blocks, and the arrays of other groups.
    assert checked == 3 + len([place for place in arrays if "/blocks/" not in place])


@pytest.mark.parametrize("pattern", CHUNKS)
@pytest.mark.parametrize("kind", ["flipped", "cut off", "missing"])
def test_damage_is_named(path: Path, filled: Study, pattern: str, kind: str) -> None:
    (chunk,) = (path / "demo").glob(pattern)
    content = chunk.read_bytes()
    if kind == "missing":
        chunk.unlink()
    else:
        # The last bytes are the checksum.
        chunk.write_bytes(
            content[:-1] + bytes([content[-1] ^ 255]) if kind == "flipped" else content[:-1]
        )
    _, problems = verify_study(open_study(path))
    assert len(problems) == 1
    assert chunk.relative_to(path).as_posix().partition("/c/")[0] in problems[0]


def test_what_is_there_already_is_not_written_again(filled: Study, rankings: xr.Dataset) -> None:
    def times() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in Path(filled.path).rglob("*")}

    before = times()
    evaluate_into(filled, "demo", rankings, ["AP", "nDCG@10"], GAINS)
    assert times() == before
    evaluate_into(filled, "demo", rankings, ["RR"], GAINS)
    assert times() != before


def test_what_a_killed_first_writer_left_is_no_other_content(tmp_path: Path) -> None:
    path = tmp_path / "study.zarr"
    path.mkdir()
    (path / "zarr.json.0a1b2c3d.partial").write_text("{", encoding="utf-8")
    open_study(str(path), mode="a").add("a", cube=simulate_cube(n_runs=3))
    assert list(open_study(str(path))) == ["a"]
