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
# # Which metric, how many topics?
#
# A collection is planned: which metric needs the fewest topics to detect differences between systems, and how many
# topics does it need? A collection of the same kind answers both.
#
# Scores: TREC 2014 Web track (Urbano and Nagler, SIGIR 2018, CC BY-SA 4.0; the outputs below keep that licence).

# %%
import scorecube as sc

METRICS = ["AP", "nDCG@20", "ERR@20", "P@10", "RR"]
cube = sc.select(sc.fetch("web2014"), metrics=METRICS)
dict(cube["score"].sizes)

# %% [markdown]
# ## Which metric?
#
# The swap method (Voorhees and Buckley 2002; Sakai 2005) draws two disjoint samples of 25 topics and counts how often
# they disagree about two runs. The required difference is the smallest one that the other sample confirms 95% of the
# time; the share counts the comparisons that reach it. A sensitive metric has a large share.

# %%
swap = sc.analyse(cube, sc.Swap(), trials=1000, seed=1)
COLUMNS = ["required_difference", "share", "share_low", "share_high"]
sensitivity = (
    sc.table(swap, "sensitivity")
    .query("confidence == 0.95")
    .set_index("metric")
)
sensitivity[COLUMNS].sort_values("share", ascending=False).round(2)

# %%
sc.figure(swap, size=(7, 4))

# %% [markdown]
# The limits of the shares are those for other topics and these runs. They are wide: one collection of 50 topics does
# not settle the order of neighbours in this table.
#
# Sensitive is not the same as valid: a metric should first measure what users need. The next table says how far the
# metrics rank the runs alike (tau, with 95% limits for as many other topics).

# %%
correlation = sc.analyse(cube, sc.Correlation())
tau = sc.table(correlation)[
    ["metric_a", "metric_b", "tau", "topics_low", "topics_high"]
]
tau.sort_values("tau", ascending=False).round(2)

# %% [markdown]
# ## How many topics?
#
# Topic set size design (Sakai 2016): the number of topics that detects a difference of `min_diff` between the best and
# the worst of ten systems, at the 5% level with 80% power. Variances come from the runs of this collection.

# %%
variances = sc.variances(cube)
variance = variances["within_variance"].sel(gain="auto")
sizes = sc.topic_set_size(variance, [0.05, 0.1, 0.15, 0.2], systems=10)
topics = sizes["topics"].to_pandas()
topics

# %% [markdown]
# Half the difference takes about four times the topics. `min_diff` is a difference of this metric: 0.1 of AP and 0.1 of RR
# are not equally important, so compare down a column only after you have said which difference matters.
#
# ## Are 50 topics enough to rank?
#
# `reliability` has E rho^2 (for the order of runs) and Phi (for their absolute scores), and the number of topics for
# E rho^2 of .95.

# %%
reliability = sc.analyse(cube, sc.Reliability(), seed=1)
coefficients = (
    sc.table(reliability, "coefficients")
    .query("n_topics == 50")
    .set_index("metric")
)
coefficients[["erho2", "erho2_low", "erho2_high", "phi"]].round(2)

# %%
needed = (
    sc.table(reliability, "topics")
    .query("coefficient == 'erho2'")
    .set_index("metric")
)
needed[["n_topics", "n_topics_low", "n_topics_high"]].round(0)

# %%
figure = sc.figure(reliability, size=(7, 3.5))
figure
