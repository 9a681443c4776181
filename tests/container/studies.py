"""A small study for the container test: made here, analysed twice, compared bit by bit."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import scorecube as sc
from scorecube.testing import simulate_rankings
from scorecube.workflow import api


def make(path: str) -> None:
    """Write a study of 40 simulated runs."""
    study = api.open_study(path, mode="a")
    rankings = simulate_rankings(n_runs=40, seed=3)
    api.evaluate_into(study, "small", rankings, ("AP", "Q", "nDCG@10"), ("3:2:1", "1:1:1"))


def compare(first: str, second: str) -> None:
    """Leave with a message unless both studies hold one swap result, of the same plan and the same bytes."""
    (one,), (other,) = (sc.open_study(path)["small"].results("swap") for path in (first, second))
    if one.attrs["digest"] != other.attrs["digest"]:
        sys.exit("the plans differ")
    if set(one.variables) != set(other.variables):
        sys.exit(
            f"the variables differ: {sorted(map(str, set(one.variables) ^ set(other.variables)))}"
        )
    for name in one.variables:
        a, b = one[name].values, other[name].values
        if a.dtype != b.dtype or a.shape != b.shape or contents(a) != contents(b):
            sys.exit(f"{name} differs")


def contents(array: np.ndarray[Any, Any]) -> object:
    """Return texts, or the bytes of numbers."""
    return array.tolist() if array.dtype.kind in "OT" else array.tobytes()


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        compare(*sys.argv[2:])
