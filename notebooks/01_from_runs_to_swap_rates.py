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
# # From runs to swap rates
#
# Twelve simulated runs of known quality stand in for the runs of a shared task. With run files, replace the next cell by
# `rankings = sc.read_rankings("runs/", "qrels.txt", "teams.csv")`.

# %%
import scorecube as sc
from scorecube.testing import simulate_rankings

rankings = simulate_rankings(n_runs=12, n_teams=6, seed=7)
rankings.sizes

# %% [markdown]
# ## A cube of scores
#
# Every measure, under every gain setting, for every run and topic.

# %%
cube = sc.evaluate(rankings, metrics=["AP", "Q", "P+", "RR"], gains=["3:2:1", "1:1:1"])
cube["score"].mean("topic").sel(gain="3:2:1").to_pandas().round(3)

# %% [markdown]
# ## The swap method
#
# Two topic sets are drawn with replacement, 1,000 times. How often do they disagree about which of two runs is better?

# %%
result = sc.analyse(cube, sc.Swap(sampling="replacement"), trials=1000, seed=1)
sc.table(result, "sensitivity").query("confidence == 0.95 and gain == '3:2:1'")

# %% [markdown]
# The measures that look at all relevant documents (AP, Q) need a smaller difference than those that look for one (P+, RR),
# and more comparisons have it: the finding of Sakai (2007), Table 3.

# %%
figure = sc.figure(result)
figure
