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
# # Discriminative power
#
# Test every pair of runs; the more pairs a metric tells apart, the larger its discriminative power (Sakai 2006, 2007).
# The bootstrap test asks for nothing but topics that are a sample: no normal distribution.
#
# Simulated runs on topics with as many relevant documents as those of NTCIR-3 CLIR Chinese; your own cube goes in as
# well.

# %%
import scorecube as sc
from scorecube.ingest.published import ntcir_clir
from scorecube.testing import simulate_rankings

topics, judged = ntcir_clir()["NTCIR-3 Chinese"]
rankings = simulate_rankings(judged, topics=topics, n_runs=30, depth=500, seed=2007)
cube = sc.evaluate(rankings, metrics=["Q", "AP", "nDCG@10", "P+", "O", "RR"], gains=["3:2:1"])
result = sc.analyse(cube, sc.Bootstrap(alphas=(0.05, 0.01)), trials=1000, seed=1)

# %% [markdown]
# ## The table (Sakai 2007, Table 4)
#
# Of 435 pairs, how many differ at the level alpha, and about how large a difference in the mean it takes.

# %%
power = sc.table(result, "power").set_index(["alpha", "metric"])
power.loc[0.05, ["significant", "pairs", "share", "estimated_difference"]].sort_values(
    "share", ascending=False
).round(3)

# %% [markdown]
# ## 435 tests at once
#
# Each test is wrong with probability alpha if its two runs are equal, so some of 435 will be. The randomised Tukey test
# holds the probability of *any* wrong one at alpha (Carterette 2012; Sakai 2018), and finds fewer.

# %%
together = sc.analyse(cube, sc.Tukey(alphas=(0.05,)), trials=1000, seed=1)
both = power.loc[0.05, ["significant"]].rename(columns={"significant": "bootstrap"})
both["Tukey"] = sc.table(together, "power").set_index("metric")["significant"]
both.sort_values("bootstrap", ascending=False)

# %% [markdown]
# ## ASL curves (Sakai 2006)
#
# The achieved significance levels (p-values) of all pairs, sorted. The further right a curve crosses alpha, the more
# pairs the metric tells apart.

# %%
figure = sc.figure(result)
figure
