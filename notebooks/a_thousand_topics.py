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
# # What would 1,000 topics have shown?
#
# A collection has 50 topics; the systems would be compared on all topics users might have. Two ways to see what 50
# topics hide: a collection with many topics, of which 50 are drawn; and a simulation that is fitted to a collection.
#
# Scores: TREC 2004 Robust track, 249 topics, and TREC 2013 Web track (Urbano and Nagler, SIGIR 2018, CC BY-SA 4.0; the
# outputs below keep that licence).

# %%
import numpy as np
import pandas as pd

import scorecube as sc

everyone = sc.select(sc.fetch("robust2004"), metrics=["AP"])
means = everyone["score"].isel(metric=0, gain=0).mean("topic").to_pandas()
every_fifth = means.sort_values(ascending=False).index[::5].tolist()
robust = sc.select(everyone, runs=every_fifth)
dict(robust["score"].sizes)

# %% [markdown]
# ## 50 of 249 real topics
#
# The leaderboard of 50 topics gives every run a set of ranks that should contain its rank over infinitely many topics.
# The other 199 topics are a check that the leaderboard has not seen.

# %%
chance = np.random.default_rng(4)
drawn = chance.permutation(robust.sizes["topic"])
few, others = (
    robust.isel(topic=np.sort(drawn[:50])),
    robust.isel(topic=np.sort(drawn[50:])),
)
board = sc.analyse(few, sc.Leaderboard(), trials=2000, seed=1)
table = sc.table(board).set_index("run")
ranks = (
    others["score"]
    .isel(metric=0, gain=0)
    .mean("topic")
    .to_pandas()
    .rank(ascending=False)
)
table["rank on 199 others"] = ranks.reindex(table.index).astype(int)
inside = table["rank on 199 others"].between(
    table["rank_low"], table["rank_high"]
)
table[
    ["rank", "rank_low", "rank_high", "rank on 199 others", "mean"]
].round(3).head(10)

# %%
change = (table["rank on 199 others"] - table["rank"]).abs()
{
    "rank sets that contain the rank on the other topics": int(
        inside.sum()
    ),
    "of": len(inside),
    "largest change of a rank": int(change.max()),
}

# %% [markdown]
# Most sets are wider than the changes, as they hold for all runs together and for any sample of 50 topics.
#
# ## 1,000 simulated topics
#
# `sc.simulate` fits a distribution of scores for each run, and the dependence between runs, to a collection, and draws
# scores on new topics. Its true means are known. It answers what another sample of topics of this kind could show, if
# the fitted model is right.

# %%
web = sc.select(sc.fetch("web2013"), metrics=["nDCG@20"], top_runs=12)
many = sc.simulate(web, topics=1000, seed=1)
boards = {}
for n_topics in (50, 200, 1000):
    sample = many.isel(topic=slice(n_topics))
    boards[n_topics] = sc.analyse(
        sample, sc.Leaderboard(), trials=2000, seed=1
    )
widths = {
    n_topics: {
        "width of intervals": (
            shown["mean_high"] - shown["mean_low"]
        ).mean(),
        "ranks in a set": (
            shown["rank_high"] - shown["rank_low"] + 1
        ).mean(),
        "runs that may be best": int((shown["rank_low"] == 1).sum()),
    }
    for n_topics, shown in (
        (n, sc.table(board)) for n, board in boards.items()
    )
}
summary = pd.DataFrame(widths).T.rename_axis("topics")
summary.round(3)

# %% [markdown]
# With 1,000 topics the best run of these twelve is known; with 50, most of them may be the best.
#
# ## How often is it right?
#
# The simulation repeats: 200 times 50 topics. Each time the runs are ranked and compared with the truth.

# %%
truth = many["true_mean"].isel(metric=0, gain=0).to_pandas()
pool = (
    sc.simulate(web, topics=200 * 50, seed=2)["score"]
    .isel(metric=0, gain=0)
    .values
)
samples = pool.reshape(len(truth), 200, 50).mean(axis=2)
best = truth.to_numpy().argmax()
correct = {
    "the best run is first": (samples.argmax(axis=0) == best).mean(),
    "the best run is in the first three": (
        (samples > samples[best]).sum(axis=0) < 3
    ).mean(),
}
{name: round(float(value), 2) for name, value in correct.items()}

# %% [markdown]
# `scorecube check` does the same for whole analyses: it simulates collections, runs the analysis on each, and counts how
# often its intervals and sets hold the truth. `nominal` is what they promise; sets of ranks hold it more often than that.

# %%
check = sc.analyse(web, sc.Check(subject="ranks", n=50), trials=50, seed=1)
held = sc.table(check)
held[["quantity", "held", "held_low", "held_high", "nominal"]].round(2)

# %%
figure = sc.figure(boards[1000], size=(7, 3.5))
figure
