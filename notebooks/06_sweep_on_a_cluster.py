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
# # A sweep on a cluster
#
# Many analyses of many collections are one file. It runs on this machine, on a queueing system, or on Kubernetes: the
# file stays the same, and a profile says where. Here, two processes of this machine are the cluster;
# `cluster/slurm.yaml` and its neighbours are profiles for larger ones.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

import scorecube as sc
from scorecube.ingest.published import ntcir_clir
from scorecube.testing import simulate_rankings

folder = Path(tempfile.mkdtemp())
study = sc.open_study(folder / "collections.zarr", mode="a")
for seed, (name, (topics, judged)) in enumerate(ntcir_clir().items()):
    rankings = simulate_rankings(judged, topics=topics, n_runs=20, depth=200, seed=seed)
    study.add(name, cube=sc.evaluate(rankings, metrics=["AP", "Q", "P+", "RR"], gains=["3:2:1"]))
list(study)

# %% [markdown]
# ## The file
#
# Collections, analyses, and a grid of options. What a collection is too small for is left out and said.

# %%
(folder / "sweep.toml").write_text("""\
study = "results.zarr"
trials = 1000
seed = 1

[[collection]]
study = "collections.zarr"

[[analysis]]
name = "swap"
size = 15
grid = { sampling = ["disjoint", "replacement"] }

[[analysis]]
name = "bootstrap"
""")
(folder / "processes.yaml").write_text("kind: processes\nworkers: 2\n")

# %% [markdown]
# In a terminal: `scorecube sweep sweep.toml --cluster processes.yaml`, and `--dry-run` first to see what there is to do
# and what it will cost.

# %%
program = [sys.executable, "-c", "from scorecube.cli.program import main; main()"]
words = ["sweep", "sweep.toml", "--cluster", "processes.yaml"]
print(
    subprocess.run(
        [*program, *words], cwd=folder, stderr=subprocess.PIPE, text=True, check=True
    ).stderr
)

# %% [markdown]
# The same from Python: it finds everything done and only reads. So it is after a crash: what was recorded is not
# computed again.

# %%
plans = [
    sc.Swap(size=15, sampling="disjoint"),
    sc.Swap(size=15, sampling="replacement"),
    sc.Bootstrap(),
]
results = sc.sweep(folder / "results.zarr", [sc.Entry(plan, trials=1000, seed=1) for plan in plans])
results

# %% [markdown]
# ## What came out
#
# The required difference at 95% confidence, by collection: the columns of Sakai (2007), Table 3. The same bits on any
# cluster.

# %%
swaps = [node.to_dataset() for node in results.subtree if node.attrs.get("analysis") == "swap"]
tables = pd.concat([sc.table(swap).assign(collection=swap.attrs["collection"]) for swap in swaps])
chosen = tables.query("confidence == 0.95 and sampling == 'disjoint'")
required = chosen.pivot(index="metric", columns="collection", values="required_difference")
required

# %%
figure = sc.figure(swaps[0])
figure
