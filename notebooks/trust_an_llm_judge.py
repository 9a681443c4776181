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
# # Can I trust this LLM judge?
#
# A language model labels documents instead of people. Does it lead to the same conclusions about systems, and is it fair
# to all of them?
#
# The first part has labels of the same documents by people and judges; they are simulated, so the truth is known. The
# second part has real scores: runs of TREC 2019 Deep Learning under judgements of NIST and of GPT-4.

# %%
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import scorecube as sc
from scorecube.testing import simulate_rankings

# %% [markdown]
# ## Files
#
# Run files and qrels, as a track has them: 24 runs of 8 teams, 40 topics. Your own files take their place.

# %%
folder = Path(tempfile.mkdtemp())
(folder / "runs").mkdir()
chance = np.random.default_rng(19)
judged = 1 + chance.poisson([20, 12, 4], (40, 3))
simulated = simulate_rankings(
    judged, n_runs=24, n_teams=8, depth=60, seed=19
)
topics, documents = (
    simulated["topic"].values,
    simulated["document_at_rank"].values,
)
levels = simulated["level_of_document"].values
for run, ranked in zip(simulated["run"].values, documents, strict=True):
    lines = [
        f"{topic} Q0 d{document} {rank} {100 - rank} {run}\n"
        for topic, row in zip(topics, ranked, strict=True)
        for rank, document in enumerate(row, 1)
    ]
    (folder / "runs" / f"{run}.txt").write_text("".join(lines))

# %% [markdown]
# Two judges: `careful` gives one label in ten at random; `fond` labels like people, but raises half of the documents
# that the runs of `team04` rank in their top ten: the team that built its system with the same language model.

# %%
official = levels.astype(int)
is_judged = official >= 0
anywhere = chance.integers(0, 4, official.shape)
careful = np.where(chance.random(official.shape) < 0.1, anywhere, official)
own = simulated["team"].values == "team04"
liked = np.zeros(official.shape, bool)
for position, top in enumerate(documents[own, :, :10].transpose(1, 0, 2)):
    liked[position, np.unique(top)] = True
raised = liked & (chance.random(official.shape) < 0.5)
fond = np.where(raised, np.minimum(official + 1, 3), official)


def cube_of(name, labels):
    lines = [
        f"{topics[t]} 0 d{d} {labels[t, d]}\n"
        for t, d in zip(*np.nonzero(is_judged), strict=True)
    ]
    (folder / f"{name}.txt").write_text("".join(lines))
    rankings = sc.read_rankings(folder / "runs", folder / f"{name}.txt")
    return sc.evaluate(rankings, metrics=["nDCG@10"]), rankings


judges = {"people": official, "careful": careful, "fond": fond}
read = {name: cube_of(name, labels) for name, labels in judges.items()}
sets = {
    name: sc.with_rankings(cube, rankings)
    for name, (cube, rankings) in read.items()
}

# %% [markdown]
# ## Rankings and decisions
#
# `tau`: how alike the judge ranks the runs. `agree`, `only_truth`, `only_judge`, `opposite`: pairs of runs that are
# significantly different under both sets, under one of them, or in opposite directions.

# %%
result = sc.analyse(sets, sc.Judges(truth="people"))
agreement = sc.table(result, "agreement").set_index("judge")
agreement[
    ["tau", "agree", "only_truth", "only_judge", "opposite", "bias"]
].round(3)

# %% [markdown]
# ## Labels
#
# Kappa is a poor guide: the judge with the better kappa is the one that favours a team. Random labels of documents that are
# not relevant lower kappa; they change rankings little.

# %%
labels = sc.table(result, "labels").set_index("judge")
labels[["kappa", "kappa_low", "kappa_high"]].round(3)

# %% [markdown]
# The bias of a run is its mean under the judge less its mean under people. A judge that raises the scores of one team
# alone should not compare its systems with others.

# %%
bias = (
    result["run_bias"].isel(metric=0, gain=0).to_series().unstack("judge")
)
bias.groupby(simulated["team"].to_series()).mean().round(3)

# %% [markdown]
# ## Corrected means
#
# Means under the truth, from labels of people on some topics and of the judge on all (prediction-powered inference).

# %%
corrected = sc.table(result, "corrected").query("n_labelled == 20")
corrected[["judge", "run", "mean", "mean_low", "mean_high"]].head(6).round(
    3
)

# %% [markdown]
# ## Real scores: GPT-4 on other topics
#
# TREC 2019 Deep Learning, passages: 36 runs, nDCG@10. NIST judged 43 topics, GPT-4 judged 192 other topics (Rahmani et
# al., SynDL, arXiv 2408.16312; MIT licence; `notebooks/data`). No topic is shared, so labels and scores cannot be
# compared, but rankings can.

# %%
real = {
    judge: sc.cube_from_scores(
        {
            "nDCG@10": pd.read_csv(
                f"data/syndl-dl2019-{judge}-nDCG10.csv", index_col=0
            ).T
        }
    )
    for judge in ("nist", "gpt4")
}
other = sc.analyse(real, sc.Judges(truth="nist"))
ranked = sc.table(other, "agreement").iloc[0]
ranked[["tau", "tau_ap", "agree", "opposite"]].to_frame().T

# %% [markdown]
# Rankings from other topics differ under the same judgements, too, so this tau is no measure of the judge alone. It says
# nothing about a preference for single systems, which takes shared topics.

# %%
figure = sc.figure(result)
figure
