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
# # Do metrics and gain settings rank runs alike?
#
# Two metrics that always rank runs alike measure one thing. Kendall's tau says how alike (Sakai 2007, Table 2), and
# intervals say how much of that is luck of the topics.
#
# Simulated runs on topics with as many relevant documents as those of NTCIR-3 CLIR Chinese.

# %%
import scorecube as sc
from scorecube.ingest.published import ntcir_clir
from scorecube.testing import simulate_rankings

METRICS = ["RR", "NWRR", "O", "P+", "nDCG@10", "Q", "AP"]
topics, judged = ntcir_clir()["NTCIR-3 Chinese"]
rankings = simulate_rankings(judged, topics=topics, n_runs=30, depth=500, seed=2007)
cube = sc.evaluate(rankings, metrics=METRICS, gains=["3:2:1", "1:1:1", "10:5:1"])
result = sc.analyse(cube, sc.Correlation(), trials=1000, seed=1)

# %% [markdown]
# ## The matrix (Sakai 2007, Table 2)
#
# Metrics that look for one relevant document (RR, NWRR, O, P+) rank alike, and so do those that look at all (AP, Q).

# %%
pairs = sc.table(result, "metrics").query("gain == '3:2:1'")
matrix = pairs.pivot(index="metric_a", columns="metric_b", values="tau").reindex(
    index=METRICS[:-1], columns=METRICS[1:]
)
matrix.map("{:.3f}".format).replace("nan", "-")

# %% [markdown]
# ## How sure is that?
#
# `tau_low` to `tau_high` is the interval of the normal approximation, as in Sakai and Shang (2016); it may pass 1.
# `tau_population` estimates tau of these runs over infinitely many topics, with an interval.

# %%
pairs.nsmallest(4, "tau")[
    [
        "metric_a",
        "metric_b",
        "tau",
        "tau_population",
        "tau_population_low",
        "tau_population_high",
        "tau_low",
        "tau_high",
    ]
].round(3)

# %% [markdown]
# ## Gain settings (Sakai 2007, Table 5)
#
# Does it matter whether a highly relevant document counts 3, 10, or as much as any other? Rankings under each setting
# against those under 3:2:1.

# %%
gains = sc.table(result, "gains")
gains.pivot(index="metric", columns="gain", values="tau").round(3)

# %%
figure = sc.figure(result)
figure
