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
# # From run files to a cube of scores
#
# What a shared task has: a folder of run files, judgements, and who sent which run. Six small runs are made up here;
# with your own, skip the next cell and name your files in the one after it.

# %%
import random
import tempfile
from pathlib import Path

import xarray as xr
from matplotlib.figure import Figure

import scorecube as sc

chance, folder = random.Random(7), Path(tempfile.mkdtemp())
topics, documents = (
    [f"{number:03d}" for number in range(1, 21)],
    [f"doc{number:03d}" for number in range(100)],
)
level = {
    (topic, document): chance.choices([0, 1, 2, 3], [80, 10, 6, 4])[0]
    for topic in topics
    for document in documents
}
(folder / "qrels.txt").write_text(
    "".join(f"{topic} 0 {document} {each}\n" for (topic, document), each in level.items())
)
(folder / "teams.csv").write_text("run,team\n" + "".join(f"run{k},team{k % 3}\n" for k in range(6)))
(folder / "runs").mkdir()
for k in range(6):
    lines = []
    for topic in topics:
        scores = {
            document: level[topic, document] + chance.gauss(0, 0.5 + 0.4 * k)
            for document in documents
        }
        ranked = sorted(scores, key=lambda document: -scores[document])
        lines += [
            f"{topic} Q0 {document} {rank} {scores[document]:.4f} run{k}\n"
            for rank, document in enumerate(ranked, 1)
        ]
    (folder / "runs" / f"run{k}.txt").write_text("".join(lines))

# %%
rankings = sc.read_rankings(folder / "runs", folder / "qrels.txt", folder / "teams.csv")
rankings

# %% [markdown]
# ## The cube
#
# Every metric, under every gain setting, for every run and topic. Gains are given for the highest level first: `3:2:1`
# gives a highly relevant document three times as much as a partly relevant one, `1:1:1` makes relevance binary.

# %%
cube = sc.evaluate(rankings, metrics=["AP", "Q", "nDCG@10", "P@10", "RR"], gains=["3:2:1", "1:1:1"])
cube

# %% [markdown]
# Dims have names, so a question is a line: which topics were hard for everyone?

# %%
cube["score"].sel(metric="AP", gain="3:2:1").mean("run").to_pandas().nsmallest(3).round(3)

# %% [markdown]
# ## A study
#
# A study keeps cubes and results on disk, as zarr. Every program that reads zarr reads it; xarray needs one line.

# %%
study = sc.open_study(folder / "study.zarr", mode="a")
study.add("mine", cube=cube, rankings=rankings)
stored = xr.open_dataset(
    folder / "study.zarr", group="mine/cube", engine="zarr", consolidated=False
)
bool((stored["score"] == cube["score"]).all())

# %% [markdown]
# ## The table every overview paper has
#
# Means over topics, best run first.

# %%
means = (
    sc.table(cube, "means")
    .query("gain == '3:2:1'")
    .pivot(index="run", columns="metric", values="mean")
)
means.sort_values("AP", ascending=False).round(4)

# %%
figure = Figure(figsize=(7, 3.5), layout="constrained")
axes = figure.subplots()
per_topic = cube["score"].sel(metric="AP", gain="3:2:1").to_pandas()
axes.boxplot(
    per_topic.loc[means.sort_values("AP", ascending=False).index].T,
    tick_labels=means.sort_values("AP", ascending=False).index,
)
axes.set_ylabel("AP per topic")
figure
