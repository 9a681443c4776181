"""Means of tables over collections."""

from __future__ import annotations

import pandas as pd

from scorecube import names
from scorecube.analyses.frames import COLLECTION, trait
from scorecube.errors import BadPlan, option

WITHOUT_MEAN = ("low", "high", "p_value", "standard_error", "statistic", "flag")
"""Roles of columns that have no mean over collections."""


def averages(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means over collections, of the rows that all have (Sakai 2004, Tables 7 and 12).

    Rows belong together where their texts and conditions are equal; limits, test statistics and
    p-values have no mean. A number that is missing in one collection is missing in the mean.
    """
    roles = trait(frame, "role")
    count = frame[COLLECTION].nunique()
    numbers = {*frame.select_dtypes("number").columns}
    frame = frame[[name for name in frame if roles.get(str(name)) not in WITHOUT_MEAN]]
    keys = [
        name
        for name in frame.columns.drop(COLLECTION)
        if roles.get(name) in ("condition", "label") or name not in numbers
    ]
    if names.N_TOPICS in frame and frame.duplicated([COLLECTION, *keys]).any():
        keys.append(names.N_TOPICS)
    means = []
    for _, rows in frame.groupby(keys or names.COLLECTION, sort=False, dropna=False):
        if rows[COLLECTION].nunique() == count:
            of_numbers = rows.drop(columns=[COLLECTION, *keys]).mean(skipna=False)
            means.append(rows.iloc[[0]].assign(**{COLLECTION: f"mean of {count}"}, **of_numbers))
    if not means and len(frame):
        raise BadPlan(
            f"no row is in all {count} collections, so there are no means over them; choose what "
            f"they share with {option('metrics')} or {option('collections')}",
            option="average",
        )
    table = pd.concat(means, ignore_index=True) if means else frame.head(0)
    table.attrs = frame.attrs
    return table
