import pandas as pd

import scorecube as sc

scores = pd.read_csv("scores.csv")  # columns model, item, seed, score
means = scores.groupby(["model", "item"], as_index=False)["score"].mean()  # over seeds
frame = means.rename(columns={"model": "run", "item": "topic"}).assign(metric="accuracy")
result = sc.analyse(sc.cube_from_scores(frame), sc.Leaderboard(), trials=1000, seed=1)
print(sc.table(result)[["rank", "run", "mean", "mean_low", "mean_high", "rank_low", "rank_high"]])
sc.figure(result).savefig("leaderboard.png")
