"""Tables of the stability method."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables.topic_samples import by_size


def stability(result: xr.Dataset) -> pd.DataFrame:
    """Error rates and ties, the lowest error rate first (Buckley and Voorhees 2000, Table 1)."""
    rows = [
        cell
        | {
            "fuzziness": float(at[names.FUZZINESS]),
            "error_rate": float(at["error_rate"]),
            "ties": float(at["ties"]),
            "trials": result.attrs["trials"],
            "size": size,
            "sampling": result.attrs["sampling"],
        }
        for cell, size, data in by_size(result)
        for at in (
            data[["error_rate", "ties"]].isel(fuzziness=k)
            for k in range(data.sizes[names.FUZZINESS])
        )
    ]
    return pd.DataFrame(rows).sort_values(
        ["fuzziness", "size", "error_rate"],
        ascending=[True, False, True],
        kind="stable",
        ignore_index=True,
    )
