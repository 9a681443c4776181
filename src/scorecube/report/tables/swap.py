"""Tables of the swap method."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables.rows import parts, where


def sensitivity(result: xr.Dataset) -> pd.DataFrame:
    """Required differences, sorted by the share of comparisons that have them (S0 Tables 1-4, S1 Table 3)."""
    facts = {name: result.attrs[name] for name in ("trials", "size", "sampling")}
    rows = [
        where(result) | cell | {
            "confidence": float(at.confidence), "required_difference": float(at.required_difference),
            "max_performance": float(at.max_performance), "relative_difference": float(at.relative_difference),
            "share": float(at.share),
        } | facts
        for cell, data in parts(result)
        for at in (data.isel(confidence=k) for k in range(data.sizes[names.CONFIDENCE]))
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    return frame.sort_values(
        ["confidence", "share"], ascending=False, kind="stable", na_position="last", ignore_index=True
    )


def rates(result: xr.Dataset) -> pd.DataFrame:
    """Swap rate of every difference bin (S0 Figures 2-4); empty bins have none."""
    columns = ("lower", "count", "swaps", "swap_rate", "swap_rate_low", "swap_rate_high")
    rows = [
        where(result) | cell | {"bin": k} | {name: data[name].values[k].item() for name in columns}
        for cell, data in parts(result)
        for k in range(data.sizes[names.BIN])
    ]
    return pd.DataFrame(rows)


def overlap(result: xr.Dataset) -> pd.DataFrame:
    """Mean numbers of distinct and of common topics of the two samples (S0 Table 5)."""
    facts = {"size": result.attrs["size"], "sampling": result.attrs["sampling"]}
    return pd.DataFrame(
        [where(result) | facts | {"unique": float(result["unique"]), "common": float(result["common"])}]
    )


def conditions(result: xr.Dataset) -> str:
    """Return collection and conditions of a swap result in one line."""
    facts = result.attrs
    return (
        f"{facts.get('collection', '')}  {facts['n_runs']} runs, {facts['sampling']} samples of {facts['size']} of "
        f"{facts['n_topics']} topics, {facts['trials']:,} trials".strip()
    )
