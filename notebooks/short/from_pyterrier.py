import pandas as pd

import scorecube as sc

# frame = pt.Experiment([bm25, pl2, dph], topics, qrels, ["map", "ndcg_cut_10"], perquery=True)
frame = pd.read_csv("perquery.csv")
cube = sc.cube_from_scores(frame)
result = sc.analyse(cube, sc.Leaderboard(), trials=1000, seed=1)
print(sc.table(result)[["metric", "rank", "run", "mean", "mean_low", "mean_high"]])
sc.figure(result).savefig("leaderboard.png")
