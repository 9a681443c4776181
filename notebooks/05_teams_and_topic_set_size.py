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
# # How many teams and topics does a pilot need?
#
# Topic set size design starts from the variance of scores. Sakai and Shang (2016) asked how few teams, and topics, give
# a variance to rely on: leave teams out, remove from the judgements what only they had found, evaluate again.
#
# 24 simulated runs of 12 teams stand in for theirs; each returns 10 documents, and all of these are judged.

# %%
import numpy as np
import xarray as xr

import scorecube as sc
from scorecube.testing import simulate_rankings

relevant = np.random.default_rng(3).poisson([6, 3], (60, 2)) + 1
rankings = simulate_rankings(relevant, n_runs=24, n_teams=12, depth=10, seed=5)
scores = sc.evaluate(
    rankings, metrics=["nDCG@1", "P+", "nERR@10", "nDCG@10", "Q@10"], gains=["3:1"]
)
cube = sc.with_rankings(scores, rankings)
result = sc.analyse(
    cube, sc.Teams(topic_sizes=(45, 30, 15), keep_unpooled=False), trials=10, seed=1
)

# %% [markdown]
# ## Fewer teams (their Figure 1)
#
# The variance, mean and 95% interval of 10 draws of the teams to leave out. `within` is the largest number of teams up to
# which the mean variance stays within 5% of the whole; its limits come together as trials are added.

# %%
sc.table(result, "equivalence").query("n_topics_wanted == 60 and quantity == 'variance'")[
    ["metric", "within", "within_low", "within_high", "n_teams"]
]

# %% [markdown]
# ## Fewer topics (their Table 3)
#
# All teams, fewer topics: the variance, and in brackets the number of topics that it asks for in the next collection,
# for 80% power to find a difference of 0.15 among 10 systems at the 5% level.

# %%
whole = sc.table(result, "variance").query("left_out == 0")
variance = whole.pivot(index="metric", columns="n_topics_wanted", values="variance_mean")[
    [60, 45, 30, 15]
]
sizes = sc.topic_set_size(xr.DataArray(variance), min_diff=0.15, systems=10, alpha=0.05, beta=0.2)[
    "topics"
].to_pandas()
variance.map("{:.3f}".format) + sizes.map(" ({})".format)

# %% [markdown]
# Metrics that look at the top alone (nDCG@1) vary most and ask for most topics. Half of the topics give nearly the
# answer of all of them; with a quarter, nDCG@10 and Q@10 stray, as theirs did with a tenth.

# %%
figure = sc.figure(result)
figure
