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
# # How sure is the order of a board?
#
# Boards rank systems by a mean over collections, and mostly print it without any uncertainty. How many systems are really
# better than the next one, by the mean and by mean ranks (Borda)?
#
# Scores: AP of 17 retrieval models on three lengths of topics, for the 50 news topics of TREC-8 and the 50 web topics of
# TREC-9 (Grid of Points, Ferro and Silvello 2017, Apache License 2.0). One laboratory ran all 51 systems in the same
# way, with one stop list and one stemmer.

# %%
import pandas as pd

import scorecube as sc

scores = {
    name: sc.cube_from_scores(
        {"AP": pd.read_csv(f"data/{file}.csv", index_col="topic").T}
    )
    for name, file in {"news": "gop-t08-ap", "web": "gop-t09-ap"}.items()
}
{name: dict(cube.sizes) for name, cube in scores.items()}

# %% [markdown]
# ## By the mean over both collections
#
# Topics of each collection are resampled on their own. The rank set of a system holds the rank of its true mean, for all
# systems together.

# %%
board = sc.analyse(scores, sc.Board(), trials=10_000, seed=1)
table = sc.table(board).set_index("run")
SHOWN = ["rank", "mean", "mean_low", "mean_high", "rank_low", "rank_high"]
table[SHOWN].head(10).round(3)

# %% [markdown]
# No two neighbours are separated, and two thirds of the systems could be the best: most of what the board prints as an order
# is what these 100 topics happen to give. Systems far apart are separated, as their rank sets show.

# %%
by_mean = int(board["separated_neighbours"].sum())
may_lead = int((table["rank_low"] == 1).sum())
{
    "neighbours": len(table) - 1,
    "separated": by_mean,
    "systems that could be the best": may_lead,
}

# %% [markdown]
# ## By ranks
#
# Scores of hard and easy collections have different scales, which is why some boards average ranks instead (Borda).
# `standardise="rank"` takes the share of the other systems that a system beats on each topic; its mean has limits and
# tests like any other. The ranks of whole collections, which Borda averages, are `mean_rank`: resampled topics rank less
# well than the topics themselves, so no limits of them are known to hold.

# %%
ranked = sc.analyse(
    scores, sc.Board(standardise="rank"), trials=10_000, seed=1
)
by_rank = sc.table(ranked).set_index("run")
{
    "separated by mean": by_mean,
    "separated by rank": int(ranked["separated_neighbours"].sum()),
    "could be the best by mean": may_lead,
    "could be the best by rank": int((by_rank["rank_low"] == 1).sum()),
}

# %% [markdown]
# Both orders agree in the large, but not on who leads.

# %%
orders = pd.DataFrame(
    {
        "by mean": table["rank"],
        "by rank on topics": by_rank["rank"],
        "mean rank (Borda)": table["mean_rank"],
    }
)
print(orders.corr(method="kendall").round(2))
orders.sort_values("by mean").head(5)

# %% [markdown]
# ## Is my system worse than the baseline?
#
# An order of 51 systems takes many topics; a comparison of two takes fewer. The gate asks whether BM25 is worse than the
# leader by more than 0.02 AP, in the mean of both collections. The limits say that it is worse, and leave open whether by
# more than the margin: there is no verdict. On news alone, 100 topics do not even show that it is worse.

# %%
leader = table.index[0]
verdict = sc.gate(scores, "bm25-medium", leader, margin=0.02)
verdict[["difference", "low", "high", "verdict"]].to_dataframe().round(3)

# %% [markdown]
# ## What to print
#
# The systems with their limits and rank sets: where a group begins and ends says more than a number of three digits.

# %%
figure = sc.figure(board, size=(7, 9))
figure
