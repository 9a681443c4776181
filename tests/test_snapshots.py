"""Tables of three studies as they were, as csv: ``python -m tests.test_snapshots`` writes them anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scorecube as sc
from tests.compare import TRIALS, analyses, cubes

FOLDER = Path(__file__).parent / "snapshots"
STUDIES = ("accuracy", "groups", "pair")
MOST_ROWS = 60


def tables(study: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name of each analysis with its options, and the first rows of its first table."""
    for name, cube in cubes(sc, [study]):
        for label, scores, way in analyses(sc, name, cube):
            if label == "teams" or (name != "groups" and label == "correlate"):
                continue  # these take teams, and more metrics
            analysis = eval(f"sc.{way}", {"sc": sc, "RUN": str(scores["run"].values[0])})
            result = sc.analyse(scores, analysis, trials=TRIALS.get(label, 200), seed=1)
            words = re.findall(r"[\w.-]+", way)
            yield "-".join([label, *words[1:]]), sc.table(result).head(MOST_ROWS)


@pytest.mark.parametrize("study", STUDIES)
def test_tables_are_as_they_were(study: str) -> None:
    shown = dict(tables(study))
    assert {path.stem for path in (FOLDER / study).iterdir()} == shown.keys()
    for name, table in shown.items():
        kept = pd.read_csv(FOLDER / study / f"{name}.csv", keep_default_na=False)
        assert list(kept) == list(table), name
        for column in table:
            now = pd.to_numeric(table[column].astype(str), errors="coerce").to_numpy(float)
            was = pd.to_numeric(kept[column].astype(str), errors="coerce").to_numpy(float)
            np.testing.assert_allclose(now, was, rtol=1e-9, atol=1e-12, err_msg=f"{name} {column}")


def main() -> None:
    """Write all tables."""
    for study in STUDIES:
        (FOLDER / study).mkdir(parents=True, exist_ok=True)
        for name, table in tables(study):
            table.to_csv(FOLDER / study / f"{name}.csv", index=False)


if __name__ == "__main__":
    main()
