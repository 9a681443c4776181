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
# # A sweep over twenty collections on a cluster
#
# Does a finding about metrics hold on one collection or on all? A sweep file names collections and analyses; a cluster file
# names the cluster. The file is the same on a laptop, on SLURM and on Kubernetes, and so are the results, bit by bit.
#
# Eleven collections of TREC and, for nine of them, the same scores standardised by topic (std-AB, Sakai 2016): twenty
# collections. Question: do standardised scores of AP separate more pairs of runs?
#
# Scores: Urbano et al., SIGIR 2018 and 2019, and Urbano, IRJ 2016; CC BY-SA 4.0; the outputs below keep that licence.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

import scorecube as sc

folder = Path(tempfile.mkdtemp())
TRACKS = [
    *(f"adhoc{k}" for k in range(5, 9)),
    *(f"web{year}" for year in range(2010, 2015)),
]
study = sc.open_study(folder / "collections.zarr", mode="a")
for name in [*TRACKS, "genomics2004", "robust2004-99"]:
    cube = sc.select(sc.fetch(name), metrics=["AP"], top_runs=30)
    study.add(name, cube=cube)
    if name in TRACKS:
        study.add(f"{name}-std", cube=sc.standardise(cube))
len(list(study))

# %% [markdown]
# ## The sweep file and the cluster
#
# `cluster/` in the repository has files of clusters. Here two processes
# of this machine are the cluster.

# %%
(folder / "sweep.toml").write_text("""\
study = "collections.zarr"
trials = 1000
seed = 1

[[analysis]]
name = "tukey"

[[analysis]]
name = "swap"
size = 20
""")
(folder / "processes.yaml").write_text("""\
class: distributed.LocalCluster
options: {n_workers: 2, threads_per_worker: 1}
""")


def sweep(*words):
    """Run the command as in a terminal; return the line of its report about the results."""
    program = [
        sys.executable,
        "-m",
        "scorecube",
        "sweep",
        "sweep.toml",
        *words,
    ]
    done = subprocess.run(
        program, cwd=folder, capture_output=True, text=True, check=True
    )
    (line,) = (
        line for line in done.stderr.splitlines() if " new result" in line
    )
    return line.split(": ")[-1]


# %% [markdown]
# In a terminal: `scorecube sweep sweep.toml --cluster processes.yaml`; with `--status` it counts what is stored.

# %%
print(sweep("--cluster", "processes.yaml"))
stored = sc.open_study(folder / "collections.zarr")
results = {name: stored[name].contents()["results"] for name in stored}
pd.DataFrame(results).T.head()

# %% [markdown]
# ## Again
#
# After a crash, a time limit of the queue or a new collection, the same command computes what is missing. Here nothing
# is missing.

# %%
again = sweep()
print(again)

# %% [markdown]
# ## The answer
#
# The share of pairs of runs that are significantly different at 5% (randomised Tukey HSD test), and the correlation of
# rankings by two disjoint samples of 20 topics.


# %%
def column(analysis, table, value, **chosen):
    values = {}
    for name in stored:
        rows = sc.table(stored[name].result(analysis), table)
        for key, wanted in chosen.items():
            rows = rows[rows[key] == wanted]
        values[name] = float(rows[value].iloc[0])
    return pd.Series(values)


share = column("tukey", None, "share", alpha=0.05)
tau = column("swap", "halves", "tau")
answer = pd.DataFrame(
    {
        "share": share[TRACKS],
        "share, std-AB": share[[f"{name}-std" for name in TRACKS]].values,
        "tau": tau[TRACKS],
        "tau, std-AB": tau[[f"{name}-std" for name in TRACKS]].values,
    }
)
answer.round(2)

# %%
gain = pd.DataFrame(
    {
        "share": answer["share, std-AB"] - answer["share"],
        "tau": answer["tau, std-AB"] - answer["tau"],
    }
)
gain.agg(["min", "mean", "max"]).round(3)

# %% [markdown]
# On average standardisation changes little, and what one collection shows another contradicts: a finding about metrics
# from one collection may be one about that collection.

# %%
figure = sc.figure(stored["web2013"].result("swap"))
figure
