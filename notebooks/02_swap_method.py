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
# # The swap method
#
# Run A beats run B by 0.05. Would another topic set agree? The swap method (Voorhees and Buckley 2002; Sakai 2005) asks
# the topics at hand: draw two disjoint sets of topics, compare all pairs of runs on both, and count how often the sets
# disagree.
#
# The 42 topics have as many relevant documents as those of NTCIR-3 CLIR Chinese (Sakai 2007, Table 7). The 30 runs of
# 10 teams are simulated, so expect the papers' findings, not their digits. Your own:
# `sc.open_study("study.zarr")["mine"].cube`.

# %%
import scorecube as sc
from scorecube.ingest.published import ntcir_clir
from scorecube.testing import simulate_rankings

topics, judged = ntcir_clir()["NTCIR-3 Chinese"]
rankings = simulate_rankings(judged, topics=topics, n_runs=30, depth=500, seed=2007)
cube = sc.evaluate(rankings, metrics=["AP", "Q", "O", "RR"], gains=["3:2:1"])
cube.sizes

# %% [markdown]
# Sakai (2005) drew 1,000 times two sets of 20 of the 42 topics, without and with replacement.

# %%
disjoint = sc.analyse(
    cube, sc.Swap(sampling="disjoint", size=20, bins=21, required="suffix"), trials=1000, seed=1
)
replacement = sc.analyse(
    cube, sc.Swap(sampling="replacement", size=20, bins=21, required="suffix"), trials=1000, seed=1
)

# %% [markdown]
# ## Swap rates (Sakai 2005, Figures 2 and 3)
#
# Across: the difference between two runs on the first set. Up: the share of such comparisons that the second set
# reverses. Small differences are reversed often; the metrics that look for one relevant document (O, RR) need larger
# ones.

# %%
rates = sc.table(disjoint, "rates").pivot(index="lower", columns="metric", values="swap_rate")
rates.loc[[0.0, 0.05, 0.1, 0.15, 0.2]].round(3)

# %% [markdown]
# ## Sensitivity (Sakai 2005, Table 3)
#
# (i) the difference that keeps the swap rate at 5% or below, (ii) the best mean seen, (iii) = (i) / (ii), (iv) the
# share of comparisons that have such a difference: the more, the more sensitive the metric.

# %%
COLUMNS = {
    "required_difference": "(i)",
    "max_performance": "(ii)",
    "relative_difference": "(iii)",
    "share": "(iv)",
}


def sensitivity(result):
    frame = sc.table(result, "sensitivity").query("confidence == 0.95").set_index("metric")
    return (
        frame.rename(columns=COLUMNS)[list(COLUMNS.values())]
        .sort_values("(iv)", ascending=False)
        .round(3)
    )


sensitivity(disjoint)

# %% [markdown]
# Drawing with replacement gives much the same, although the two sets then share topics: the second finding of that
# paper.

# %%
sensitivity(replacement)

# %% [markdown]
# Its Table 5 counts what such sets hold: 16.1 different topics of 20 drawn, 6.2 of them in both.

# %%
sc.table(replacement, "overlap")

# %%
figure = sc.figure(disjoint)
figure
