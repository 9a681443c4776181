import pathlib

import pandas as pd

import scorecube as sc

# A checkout of AlpacaEval has results/MODEL/JUDGE/annotations.json; preference: 1 the reference, 2 the model.
files = pathlib.Path("results").glob("*/weighted_alpaca_eval_gpt4_turbo/annotations.json")
scores = pd.concat(pd.read_json(path).assign(run=path.parts[1]) for path in files)
scores = scores.assign(topic=pd.factorize(scores["instruction"])[0], wins=scores["preference"] - 1)
scores = scores.rename(columns={"dataset": "collection", "wins": "win rate"})
study = sc.open_study("alpaca.zarr", mode="a")
for name, cube in sc.import_scores(scores, metric="win rate", collections=True).items():
    study.add(name, cube=cube)
