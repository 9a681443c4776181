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
# # Is my model better than the baseline?
#
# A model has a higher mean than a baseline on 50 topics. Three questions decide what may be claimed: is the difference
# more than chance, how large is it, and does the claim still hold if many models were tried?
#
# Scores: TREC 2013 Web track, nDCG@20 (Urbano and Nagler, SIGIR 2018, CC BY-SA 4.0; the outputs below keep that
# licence). The runs are anonymous. Here `sys7` is the baseline and `sys1` is "my model": a pair that was chosen because
# the answer depends on the question.

# %%
import scorecube as sc

cube = sc.select(sc.fetch("web2013"), metrics=["nDCG@20"])
baseline, model = "sys7", "sys1"
scores = cube["score"].sel(metric="nDCG@20", gain="auto").to_pandas()
scores.loc[[model, baseline]].mean(axis="columns").round(3)

# %% [markdown]
# ## One comparison, planned in advance
#
# One model and one baseline: a paired test.

# %%
two = sc.select(cube, runs=[baseline, model])
one = sc.analyse(
    two,
    sc.Paired(baseline=baseline, tests=("t", "wilcoxon")),
    trials=1000,
    seed=1,
)
single = sc.table(one, "pairs")
single[["test", "run_a", "run_b", "mean_difference", "p_value"]]

# %% [markdown]
# Planned in advance, this comparison is significant at the 5% level. But topics differ more than the two systems do: the
# mean is a sum of wins and losses.

# %%
difference = scores.loc[model] - scores.loc[baseline]
{
    "wins": int((difference > 0).sum()),
    "ties": int((difference == 0).sum()),
    "losses": int((difference < 0).sum()),
    "standard deviation over topics": round(float(difference.std()), 3),
}

# %% [markdown]
# ## The best of many comparisons
#
# If 33 models were compared with the baseline, small p-values occur by chance. The step-down max-T test adjusts for all
# comparisons together; its intervals hold at the same time. The same difference is no longer significant at 5%: sys1 has
# the highest mean of 33 runs, and the highest of 33 means is high partly by chance.

# %%
all_runs = sc.analyse(
    cube, sc.MaxT(baseline=baseline), trials=10_000, seed=1
)
pairs = sc.table(all_runs, "pairs")
better = (
    pairs.query("mean_difference > 0")
    .sort_values("p_value")
    .set_index("run_a")
)
COLUMNS = [
    "mean_difference",
    "difference_low",
    "difference_high",
    "p_value",
]
better[COLUMNS].head().round(3)

# %% [markdown]
# ## What to print
#
# The leaderboard has the interval of each mean, of each rank (over infinitely many topics), and of the difference from
# the baseline. Say in the paper how many runs were compared, which test was used and how it was adjusted; "better than the
# baseline" then means what the reader takes it to mean.

# %%
board = sc.analyse(
    cube, sc.Leaderboard(baseline=baseline), trials=10_000, seed=1
)
table = sc.table(board).set_index("run")
SHOWN = ["rank", "mean", "mean_low", "mean_high", "rank_low", "rank_high"]
AGAINST = ["difference", "joint_low", "joint_high", "p_baseline"]
table.loc[[*table.index[:5], baseline], SHOWN + AGAINST].round(3)

# %%
figure = sc.figure(board, size=(7, 6.5))
figure
