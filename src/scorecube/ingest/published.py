"""Published facts that are data files of the package."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd


def ntcir_clir() -> dict[str, tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]]:
    """Return topics and numbers of relevant documents of Sakai 2007, Tables 7-9.

    Returns facts: Collection -> (topic ids, int64 (topic, 3) numbers of relevant documents at
        levels 1, 2, 3: B, A and S of NTCIR).

    Examples
    --------
    >>> topics, judged = ntcir_clir()["NTCIR-3 Chinese"]
    >>> len(topics), judged.mean(axis=0).round(1).tolist()
    (42, [32.3, 24.9, 21.0])
    """
    with files("scorecube").joinpath("data/ntcir_clir.csv").open() as file:
        rows = pd.read_csv(file, dtype={"topic": str})
    return {
        str(name): (part["topic"].tolist(), part[["b", "a", "s"]].to_numpy(np.int64))
        for name, part in rows.groupby("collection", sort=False)
    }
