"""A stored result that lacks a variable is shown, where options leave it out, or ends in one message."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses import registry
from scorecube.errors import CorruptStudy
from scorecube.storage import NewResult
from scorecube.storage.fact_types import check_arrays
from scorecube.testing import simulate_cube
from tests.conftest import Cli

DIGEST = "0123456789abcdef"


def is_refused(result: xr.Dataset, analysis: str) -> bool:
    """Whether a result lacks what it must have."""
    try:
        check_arrays(result, analysis, "study")
    except CorruptStudy:
        return True
    return False


@pytest.mark.parametrize("analysis", registry.names())
def test_what_may_be_absent_is_declared(analysis: str) -> None:
    declared = [each.name for each in registry.variables(analysis)]
    optional = [name for group in registry.optional(analysis) for name in group]
    assert declared
    assert len(optional) == len(set(optional))
    assert set(optional) < set(declared)


@pytest.mark.slow
@pytest.mark.parametrize("analysis", ["swap", "teams"])
def test_a_result_without_a_variable_is_shown_or_ends_in_one_message(
    analysis: str, analysed_study: Path, tmp_path: Path, scorecube: Cli
) -> None:
    path = Path(shutil.copytree(analysed_study, tmp_path / "study.zarr"))
    study = sc.open_study(path, mode="a")
    name = next(each for each in study if study[each].contents()["results"].get(analysis))
    result, kinds = study[name].result(analysis), set[bool]()
    for variable in registry.variables(analysis):
        if variable.name not in result.variables:
            continue
        forged = result.drop_vars(variable.name).assign_attrs(digest=DIGEST)
        with study.lock(name) as writer:
            writer.write_results([NewResult(analysis, DIGEST, forged)])
        refused = is_refused(forged, analysis)
        lacks = f"{path}: {name}/results/{analysis}/{DIGEST}: the result cannot be read: it lacks {variable.name}; run scorecube verify"
        if refused:
            with pytest.raises(CorruptStudy) as caught:
                sc.open_study(path)[name].result(analysis)
            assert str(caught.value).startswith(lacks)
        else:
            study[name].result(analysis)
        commands: list[tuple[object, ...]] = [] if refused else [("show", path, analysis)]
        if refused not in kinds:  # all go through that reader: once is enough
            commands = [("show", path, analysis), ("report", path, "--out", tmp_path / "page.html")]
        kinds.add(refused)
        for words in commands:
            done = scorecube(*words)
            messages = [line for line in done.stderr.splitlines() if line.startswith("error:")]
            assert (done.status, len(messages)) == (int(refused), int(refused)), (
                variable.name,
                words,
                done.stderr,
            )
            if refused:
                assert lacks in messages[0]
    assert True in kinds


def test_a_group_is_whole_or_absent() -> None:
    group = max(registry.optional("leaderboard"), key=len)
    cube = simulate_cube(metrics=("AP", "RR"), n_runs=6, seed=1)
    result = sc.analyse(cube, sc.Leaderboard(baseline=str(cube["run"].values[0])), trials=5, seed=1)
    whole = result.drop_vars([name for name in group if name in result.variables])
    assert not is_refused(result, "leaderboard")
    assert not is_refused(whole, "leaderboard")
    assert is_refused(result.drop_vars(group[0]), "leaderboard")
