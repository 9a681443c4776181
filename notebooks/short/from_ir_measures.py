import ir_measures
from ir_measures import AP, nDCG

import scorecube as sc

qrels = list(ir_measures.read_trec_qrels("qrels.txt"))
runs = {name: list(ir_measures.read_trec_run(f"{name}.run")) for name in ("a", "b", "c")}
scores = {name: ir_measures.iter_calc([AP, nDCG @ 10], qrels, run) for name, run in runs.items()}
result = sc.analyse(sc.cube_from_scores(scores), sc.Leaderboard(), trials=1000, seed=1)
sc.figure(result, metrics=["nDCG@10"]).savefig("leaderboard.png")
