"""What users may rely on: tables and their columns, commands and their options, registries, formats, Python names."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import typer
import xarray as xr
import zarr

import scorecube as sc
from scorecube.analyses.joined import part_of
from scorecube.cli import program
from scorecube.cli.analysis_commands import analysis_command
from scorecube.cli.options import value_of
from scorecube.declare.options import options_of as declared_options
from scorecube.methods import index
from scorecube.metrics import DEFINITIONS, parse_metric
from scorecube.report.views import view_names, view_of
from scorecube.testing import simulate_rankings
from tests.oracles.diversity import made_up_intents

if TYPE_CHECKING:
    from tests.conftest import Cli, Files

COLUMNS = {
    "scores means": "collection metric gain run team mean n_topics",
    "scores cells": "collection metric gain run topic score",
    "scores variance": "collection metric gain n_runs n_topics within_variance paired_variance",
    "scores statistics": "collection n_runs n_teams n_topics judged n_level_0 n_level_1 n_level_2 n_level_3",
    "scores preferred_rank": "collection topic run rank found_level_3 n_level_3 found_level_2 n_level_2 found_level_1 n_level_1",
    "swap sensitivity": "collection metric gain confidence required_difference required_low required_high required_suffix max_performance relative_difference share share_low share_high trials size sampling",
    "swap rates": "collection metric gain bin lower count swaps swap_rate swap_rate_low swap_rate_high",
    "swap overlap": "collection size sampling unique common",
    "swap halves": "collection metric gain size tau tau_low tau_high",
    "bootstrap power": "collection metric gain test alpha significant pairs share estimated_difference trials",
    "bootstrap pairs": "collection metric gain test run_a run_b mean_difference difference_low difference_high effect_size effect_size_low effect_size_high d_z p_value p_value_holm p_value_bh",
    "tukey power": "collection metric gain test alpha significant pairs share trials",
    "tukey pairs": "collection metric gain test run_a run_b mean_difference difference_low difference_high effect_size effect_size_low effect_size_high d_z p_value",
    "leaderboard systems": "collection metric gain rank run team mean mean_low mean_high rank_low rank_high groups limits_reason",
    "leaderboard leader": "collection metric gain run mean leader_low leader_high",
    "board systems": "collection metric gain rank run team mean mean_low mean_high rank_low rank_high groups limits_reason",
    "board leader": "collection metric gain run mean leader_low leader_high",
    "randomisation power": "collection metric gain test alpha significant pairs share trials",
    "randomisation pairs": "collection metric gain test run_a run_b mean_difference difference_low difference_high effect_size effect_size_low effect_size_high d_z p_value p_value_holm p_value_bh",
    "paired power": "collection metric gain test alpha significant pairs share",
    "paired pairs": "collection metric gain test run_a run_b mean_difference difference_low difference_high effect_size effect_size_low effect_size_high d_z p_value p_value_holm p_value_bh",
    "stability stability": "collection metric gain fuzziness error_rate ties trials size sampling",
    "maxt power": "collection metric gain test alpha significant pairs share trials",
    "maxt pairs": "collection metric gain test run_a run_b mean_difference difference_low difference_high effect_size effect_size_low effect_size_high d_z p_value",
    "reliability coefficients": "collection metric gain n_topics erho2 erho2_low erho2_high phi phi_low phi_high",
    "reliability components": "collection metric gain systems topics interaction",
    "reliability topics": "collection metric gain target coefficient n_topics n_topics_low n_topics_high",
    "judges agreement": "truth judge metric gain tau tau_low tau_high tau_ap n_runs agree neither only_truth only_judge opposite bias",
    "judges labels": "truth judge kappa kappa_low kappa_high weighted_kappa alpha n_documents",
    "judges corrected": "truth judge metric gain run n_labelled mean mean_low mean_high",
    "correlate metrics": "collection gain metric_a metric_b tau tau_low tau_high z p_value spearman tau_b tau_ap n_runs tied_pairs exceeds_one topics_low topics_high",
    "correlate gains": "collection metric gain tau spearman",
    "correlate triangle": "collection gain metric AP",
    "correlate swops": "collection metric swops",
    "teams variance": "collection metric gain left_out n_topics_wanted variance_mean variance_low variance_high trials runs_min runs_max topics_min topics_max",
    "teams trials": "collection metric gain left_out n_topics_wanted trial variance n_runs n_topics teams_left_out",
    "teams first_miss": "collection metric gain n_topics_wanted first_miss",
    "teams absent": "collection metric gain",
    "design sizes": "method mode variance variance_of min_diff width systems alpha beta topics topics_low topics_high power",
}  # fmt: skip
"""Analysis and table -> columns that must be there; the first table of an analysis is its default."""

COMMON = "--collection --metrics --gains --runs --topics --top-runs --by --seed --workers --cluster --scheduler --dry-run"
OPTIONS = {
    "evaluate": "--name --runs --qrels --teams --metrics --gains --order --depth --run-name --replace",
    "import": "--name --metric --layout --teams --replace",
    "info": "--format",
    "compare": "--metrics --collection --retrained --missing --format",
    "gate": "--run --baseline --margin --at-least --each --retrained --metrics --collection --missing --allow-undecided --format",
    "preferences": "--name",
    "standardise": "--collection --name --method",
    "fetch": "",
    "merge": "",
    "list": "",
    "figure": "--out --metrics",
    "stability": f"--sampling --size --trials {COMMON}",
    "randomisation": f"--trials --alpha --baseline {COMMON}",
    "paired": f"--tests --alpha --baseline {COMMON}",
    "swap": f"--sampling --size --trials --rule --confidence {COMMON}",
    "bootstrap": f"--trials --alpha {COMMON}",
    "tukey": f"--trials --alpha {COMMON}",
    "leaderboard": f"--trials --alpha --baseline --top {COMMON}",
    "board": f"--weights --standardise --trials --alpha --baseline --top {COMMON}",
    "maxt": f"--trials --alpha --baseline {COMMON}",
    "reliability": "--target --collection --metrics --gains --runs --topics --top-runs --by --workers --dry-run",
    "judges": "--truth --judges --labels --collection --metrics --gains --runs --topics --workers --dry-run",
    "correlate": COMMON,
    "teams": f"--leave --topics --trials --pool-depth {COMMON}",
    "design": "--variance --min-diff --width --systems --alpha --beta --method --mode --pair",
    "wcw": "--variance --topics",
    "sweep": "--part",
    "show": "--table --collection --columns --top --sort --all --average --format",
    "report": "--out",
    "forget": "--collection",
    "verify": "",
    "demo": "--out",
}
NAMES = (
    "AP AP(rel=2) AP@10 P@10 Rprec RR Recall@1000 Hit@5 RBP(p=0.8) Q Q@10 Rmeasure AWP RWP O P-measure P+ WRR NWRR NWRR(beta=2:3:5)"
    " nCG@10 AnCG@10 nDCG@10 nDCG(b=2)@10 AnDCG(b=2)@10 nG@1 ERR@10 nERR@10 nERR(form=exp2)@10 bpref"
)


def records(scorecube: Cli, *words: object) -> list[dict[str, Any]]:
    listed = json.loads(scorecube("show", *words, "--format", "json").succeeded().stdout)
    assert isinstance(listed, list)
    return listed


@pytest.mark.parametrize("table", COLUMNS)
def test_tables_have_the_columns_of_the_contract(
    scorecube: Cli, analysed_study: Path, table: str
) -> None:
    analysis, name = table.split()
    of_scores = ["--collection", "small"]  # another has battles
    rows = records(scorecube, analysed_study, analysis, "--table", name, *of_scores)
    columns = COLUMNS[table].split()
    assert len(rows) > 0
    assert [set(columns) - set(row) for row in rows] == [set()] * len(rows)


@pytest.mark.parametrize("analysis", sorted({table.split()[0] for table in COLUMNS}))
def test_first_table_is_the_default(analysis: str) -> None:
    assert view_of(analysis).first_table == next(
        table.split()[1] for table in COLUMNS if table.startswith(analysis)
    )


def options_of(name: str) -> set[str]:
    """Return all flags of a command; the help shows the first of each option."""
    commands: Any = typer.main.get_command(program.app)
    command = commands.build(name)
    context = command.context_class(command, info_name=name)
    return {flag for parameter in command.get_params(context) for flag in parameter.opts}


@pytest.mark.parametrize("command", OPTIONS)
def test_commands_take_the_options_of_the_contract(scorecube: Cli, command: str) -> None:
    assert re.search(rf"^│ {command} ", scorecube("--help").succeeded().stdout, re.MULTILINE)
    assert options_of(command) >= set(OPTIONS[command].split())


@pytest.mark.parametrize("name", index.names())
def test_python_and_the_command_line_have_the_same_defaults(name: str) -> None:
    kind, command = index.load(name), inspect.signature(analysis_command(name)).parameters
    ours = {key: option for key, option in declared_options(kind).items() if option.help}
    parsed = {key: value_of(option, command[key].default) for key, option in ours.items()}
    assert {key: getattr(kind(**parsed), key) for key in ours} == {
        key: getattr(kind(), key) for key in ours
    }
    assert ("trials" in command) == kind.resamples
    assert command["seed"].default == 1 == inspect.signature(sc.analyse).parameters["seed"].default
    if kind.resamples:
        expected = {"teams": 10} | dict.fromkeys(("swap", "stability"), 1_000)
        assert command["trials"].default == expected.get(
            name, 10_000 if name in OPTIONS else kind.default_trials
        )
        assert command["trials"].default == kind.default_trials


@pytest.mark.parametrize("name", ["leaderboard", "swap", "maxt", "paired"])
def test_the_same_question_has_the_same_answer_everywhere(
    scorecube: Cli, study: Path, name: str
) -> None:
    """In Python, on the command line, and in a sweep."""
    cube = sc.open_study(study)["small"].cube
    scorecube(name, study).succeeded()
    here = sc.analyse(cube, index.load(name)())
    whole = sc.sweep([index.load(name)()], study)
    assert isinstance(whole, xr.Dataset)
    swept = part_of(whole, "small")
    stored = max(
        sc.open_study(study)["small"].results(name), key=lambda each: each.attrs["finished"]
    )
    for other in (stored, swept):
        assert {key: other.attrs[key] for key in ("plan", "trials", "seed")} == {
            key: here.attrs[key] for key in ("plan", "trials", "seed")
        }
        xr.testing.assert_equal(other.reset_coords(drop=True), here.reset_coords(drop=True))


@pytest.mark.parametrize("order", ["score", "file", "rank"])
@pytest.mark.parametrize("run_name", ["tag", "file"])
def test_evaluate_takes_the_words_of_the_contract(
    scorecube: Cli, files: Files, tmp_path: Path, order: str, run_name: str
) -> None:
    how = f"--metrics AP(rel=2),NWRR(beta=2:3:5) --order {order} --run-name {run_name} --depth 5"
    words = [*files.options(), *how.split()]
    scorecube("evaluate", tmp_path / "s", "--name", "x", *words).succeeded()
    assert metrics_of(scorecube, tmp_path / "s") == ["AP(rel=2)", "NWRR(beta=2:3:5)"]
    (row,) = records(scorecube, tmp_path / "s", "scores", "--table", "statistics")
    assert row["n_runs"] == 6
    runs = {row["run"] for row in records(scorecube, tmp_path / "s", "scores")}
    assert runs == {f"run{number}" + (".txt" if run_name == "file" else "") for number in range(6)}


def metrics_of(scorecube: Cli, study: Path) -> list[str]:
    """Return the metrics of the one collection of a study."""
    said = scorecube("info", study, "--format", "json").succeeded().stdout
    (facts,) = json.loads(said)["collections"]
    found: list[str] = facts["metrics"]
    return found


@pytest.mark.parametrize("name", index.names())
def test_analyses_are_frozen_records_that_tell_their_options(scorecube: Cli, name: str) -> None:
    kind = index.load(name)
    record = kind()
    assert record.name == name
    assert (kind.__doc__ or "").strip()
    for field in dataclasses.fields(record):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, field.name, None)
    options = json.loads(json.dumps(record.options()))
    given = {key: tuple(of) if isinstance(of, list) else of for key, of in options.items()}
    assert kind(**given) == record
    assert re.search(rf"^{name} ", scorecube("list", "analyses").succeeded().stdout, re.MULTILINE)
    assert name in view_names()
    assert view_of(name).figure is not None
    assert view_of(name).answers
    assert name in sc.list_analyses()["name"].tolist()


@pytest.mark.parametrize("name", DEFINITIONS)
def test_metrics_are_listed_and_score(scorecube: Cli, name: str) -> None:
    assert re.search(
        rf"^{re.escape(name)} ", scorecube("list", "metrics").succeeded().stdout, re.MULTILINE
    )
    facts = sc.list_metrics().set_index("name").loc[name]
    written = f"{name}@10" if facts["cutoff"] == "required" else name
    rankings = made_up_intents(simulate_rankings(n_runs=5, seed=4))
    cube = sc.evaluate(rankings, [written], ["3:2:1", "10:5:1"])
    scores = cube["score"].values
    assert np.isfinite(scores).all()
    assert scores.min() >= 0
    assert scores.std() > 0
    assert bool((scores[0, 0] != scores[0, 1]).any()) == bool(facts["uses_gains"])


@pytest.mark.parametrize("name", NAMES.split())
def test_metric_names_of_the_contract_parse_and_print_back(name: str) -> None:
    assert str(parse_metric(name)) == name
    assert str(parse_metric(str(parse_metric(f" {name} ")))) == name


def test_results_are_as_the_contract_says(tmp_path: Path) -> None:
    cube = sc.evaluate(
        simulate_rankings(n_runs=5, seed=1), metrics=["AP", "Q", "P+"], gains=["auto", "1:1:1"]
    )
    assert cube["score"].dims == ("metric", "gain", "run", "topic")
    swap = sc.Swap(sampling="replacement", size=50)
    result = sc.analyse(cube, swap, trials=30, seed=1, client=None)
    assert isinstance(result, xr.Dataset)
    assert [
        name
        for name, each in result.data_vars.items()
        if not {"long_name", "units"} <= each.attrs.keys()
    ] == []
    assert set(COLUMNS["swap sensitivity"].split()) <= {*sc.table(result, "sensitivity")}
    picture = tmp_path / "swap.png"
    sc.figure(result).savefig(picture)
    assert picture.stat().st_size > 1000


def test_plain_xarray_opens_a_study(analysed_study: Path) -> None:
    study = sc.open_study(analysed_study)
    for name in study:
        collection, folder = study[name], analysed_study / name
        head = json.loads(max(folder.glob("head.*.json")).read_text())["record"]
        cube = xr.open_zarr(folder / f"cube-{head['cube']}.zarr", consolidated=False)
        xr.testing.assert_equal(
            cube["score"].drop_vars(list(cube["score"].coords)).load(),
            collection.cube["score"].drop_vars(list(collection.cube["score"].coords)),
        )
        n_results = sum(collection.contents()["results"].values())
        archives = list(folder.glob("results/*/*.zip"))
        assert len(archives) >= n_results
        for archive in archives:
            with zarr.storage.ZipStore(archive, mode="r") as store:
                result = xr.open_zarr(store, consolidated=False)
                assert result.attrs["analysis"] == archive.parent.name
                stored = collection.results(archive.parent.name)
                digests = [each.attrs["digest"] for each in stored]
                same = stored[digests.index(result.attrs["digest"])]
                for variable in {*result.data_vars} & {*same.data_vars}:
                    np.testing.assert_array_equal(result[variable].values, same[variable].values)
