"""Tables as the papers print them: R per topic, tau as a triangle, gain settings against each other, classes of metrics."""

from __future__ import annotations

import itertools

import scorecube as sc
from scorecube.testing import simulate_cube
from tests.analyses.test_correlation import ranked_apart

GAINS = ("3:2:1", "1:1:1", "10:5:1")


def test_tau_is_a_triangle_with_intervals_and_marks() -> None:
    """The first number of S3 Table 2: .854 [.649, 1.059], in bold."""
    result = sc.analyse(ranked_apart(44, round(946 * (1 - 0.854) / 2)), sc.Correlation(), seed=1)
    frame = sc.table(result, "triangle")
    assert [*frame.columns] == ["collection", "gain", "metric", str(result["metric"].values[0])]
    assert frame.iloc[0, -1] == "0.854 [0.649, 1.059]*"
    cube = simulate_cube(n_runs=20, metrics=("AP", "Q", "RR"), gains=GAINS)
    several = sc.analyse(cube, sc.Correlation(), trials=1, seed=1)
    wide = sc.table(several, "triangle")
    pairs = sc.table(several, "metrics")
    assert (wide.drop(columns=["collection", "gain", "metric"]) != "").to_numpy().sum() == len(
        pairs
    )
    for row in pairs.to_dict("records"):
        of_row = (wide["gain"] == row["gain"]) & (wide["metric"] == row["metric_b"])
        (cell,) = wide.loc[of_row, row["metric_a"]]
        assert cell.startswith(f"{row['tau']:.3f} [")
        assert cell.endswith("*") == row["exceeds_one"]


def test_every_gain_setting_is_compared_with_every_other() -> None:
    cube = simulate_cube(n_runs=12, metrics=("AP", "Q", "nDCG@10"), gains=GAINS)
    plan = sc.Correlation(every_gain=True)
    frame = sc.table(sc.analyse(cube, plan, trials=1, seed=1), "gains")
    labels = zip(frame["metric"], frame["default"], frame["gain"], strict=True)
    found = dict(zip(labels, frame["tau"], strict=True))
    pairs = list(itertools.combinations(GAINS, 2))
    assert [*found] == [(metric, *pair) for metric in ("Q", "nDCG@10") for pair in pairs]
    for (metric, first, other), tau in found.items():
        alone = cube.sel(gain=[first, other], metric=[metric])
        one = sc.analyse(alone, sc.Correlation(), trials=1, seed=1)
        assert sc.table(one, "gains")["tau"].tolist() == [tau]


def test_metrics_have_the_classes_of_the_paper() -> None:
    users = sc.list_metrics().set_index("name")["user"]
    printed = {"AP": "many", "Q": "many", "nDCG": "many", "P-measure": "one highly"}
    printed |= {"P+": "one highly", "RR": "any one", "O": "any one", "NWRR": "any one"}
    assert {name: users[name] for name in printed} == {
        name: f"{words} relevant" for name, words in printed.items()
    }
