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
# # From PyTerrier to the paper's table
#
# PyTerrier's `pt.Experiment(..., perquery=True)` returns one row for each system, topic and measure. scorecube reads
# that data frame as it is and makes the table of a paper: means, the best in bold, daggers for significant differences
# from a baseline, as LaTeX.

# %%
import subprocess
import sys
import tempfile

import scorecube as sc

# %% [markdown]
# ## The data frame
#
# With an index and queries of your own:
#
# ```python
# frame = pt.Experiment(
#     [bm25, bm25 >> rm3 >> bm25, bm25 >> monot5], topics, qrels,
#     eval_metrics=["map", "ndcg_cut_20"], names=["BM25", "RM3", "monoT5"], perquery=True,
# )
# ```
#
# So that this page runs without an index, the frame is filled with the scores of eight runs of the TREC 2014 Web track
# (Urbano and Nagler, SIGIR 2018, CC BY-SA 4.0; the outputs below keep that licence), with PyTerrier's columns and
# measure names.

# %%
public = sc.select(
    sc.fetch("web2014"),
    metrics=["AP", "nDCG@20", "P@10"],
    top_runs=8,
    by="nDCG@20",
)
frame = (
    public["score"].sel(gain="auto", drop=True).to_dataframe().reset_index()
)
frame = frame.rename(
    columns={
        "run": "name",
        "topic": "qid",
        "metric": "measure",
        "score": "value",
    }
)
SPELLED = {"AP": "map", "nDCG@20": "ndcg_cut_20", "P@10": "P_10"}
frame = frame.assign(measure=frame["measure"].map(SPELLED))[
    ["name", "qid", "measure", "value"]
]
frame.head()

# %% [markdown]
# ## The cube
#
# The spellings of trec_eval become scorecube's names of metrics.

# %%
cube = sc.cube_from_scores(frame)
cube

# %% [markdown]
# ## The table
#
# The run that is last by nDCG@20 is the baseline. Daggers mark differences from it that are significant at 5%, adjusted
# for all runs (step-down max-T).

# %%
means = (
    cube["score"]
    .isel(gain=0)
    .sel(metric="nDCG@20")
    .mean("topic")
    .to_pandas()
)
baseline = means.idxmin()
folder = tempfile.mkdtemp()
study = sc.open_study(f"{folder}/study", mode="a")
study.add("mine", cube=cube)
plan = sc.Entry(sc.Leaderboard(baseline=baseline), trials=10_000, seed=1)
sc.sweep([plan], study)
board = study["mine"].result("leaderboard")
matrix = sc.table(board, "matrix")
matrix

# %% [markdown]
# The command line prints the stored result for a paper, the best means in bold. `scorecube import study --name mine
# perquery.csv` and `scorecube leaderboard study --baseline NAME` make the same study from a file.

# %%
words = [
    "show",
    "study",
    "leaderboard",
    "--table",
    "matrix",
    "--format",
    "latex",
]
program = [sys.executable, "-m", "scorecube", *words]
latex = subprocess.run(
    program, cwd=folder, capture_output=True, text=True, check=True
).stdout
print(latex)

# %% [markdown]
# ## The sentence under the table
#
# Say the test, its adjustment, the number of runs and topics, and give intervals: a dagger alone says nothing about the
# size of a difference. By nDCG@20 none of these runs is significantly better than the baseline; the intervals show that
# differences of .06 or more are not excluded for most of them, either.

# %%
table = sc.table(board).query("metric == 'nDCG@20'").set_index("run")
table[
    ["mean", "difference", "joint_low", "joint_high", "p_baseline"]
].round(3)

# %%
figure = sc.figure(board, metrics=["nDCG@20"], size=(7, 3))
figure
