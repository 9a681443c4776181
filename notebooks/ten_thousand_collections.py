# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # Ten thousand collections: how many topics find the best system?
#
# Nobody knows which of two systems is better in truth, unless the truth is made. Here each collection is drawn by a
# function that the workers call, so that no score crosses the network: five systems, each a little better than the one
# before, and reciprocal ranks (RR) on 10 to 100 topics. Results come back as one Dataset with a dim `collection`.

# %%
from functools import partial

import dask
import numpy as np
import xarray as xr
from distributed import Client
from matplotlib.figure import Figure

import scorecube as sc

COLLECTIONS = 120  # 10_000 are the same lines
TOPICS = (10, 25, 50, 100)


def collection(seed, n_topics):
    """Draw RR of five systems; system 4 is the best in truth."""
    chance = np.random.default_rng(seed)
    quality = np.linspace(0, 0.8, 5)[:, np.newaxis]
    difficulty = chance.normal(0, 1, n_topics)
    noise = chance.normal(0, 1, (5, n_topics))
    rank = np.ceil(np.exp(2 - quality - difficulty - noise))
    scores = xr.DataArray(
        [np.where(rank > 100, 0, 1 / rank)],
        {
            "metric": ["RR"],
            "run": [f"system {k}" for k in range(5)],
            "topic": [f"t{k}" for k in range(n_topics)],
        },
        ("metric", "run", "topic"),
    )
    return sc.cube_from_scores(scores)


makers = {
    f"{n_topics} topics, {k}": partial(
        collection, seed=k, n_topics=n_topics
    )
    for n_topics in TOPICS
    for k in range(COLLECTIONS // len(TOPICS))
}
dask.config.set({"distributed.worker.daemon": False})
with Client(
    n_workers=2, threads_per_worker=1, dashboard_address=None
) as client:
    results = sc.sweep([sc.Paired()], makers, client=client)
dict(results.sizes)

# %% [markdown]
# ## Three lines of xarray
#
# How often has the best system the best mean, and how many of the ten pairs are separated (p < .05)?

# %%
topics = results["collection"].str.extract(r"^(\d+)", dim=None).astype(int)
found = (results["mean"].isel(metric=0, gain=0).argmax("run") == 4).groupby(
    topics.rename("topics")
)
shares = 100 * found.mean()
shares.to_series().round(0).astype(int).rename("best system found, %")

# %%
axes = Figure(figsize=(5, 3), layout="constrained").subplots()
limits = 196 * found.std() / found.count() ** 0.5
axes.errorbar(shares["topics"], shares, limits, marker="o", capsize=3)
axes.set(ylim=(0, 105), xlabel="topics", ylabel="best system found, %")
axes.figure

# %% [markdown]
# With 10 topics a collection often crowns another system, and a single collection does not show which one it is. A board should say
# what a rank is worth: see [How sure is the order of a board?](how_sure_is_a_board.ipynb)
