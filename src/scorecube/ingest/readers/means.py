"""Files of means, which have no topics: of ranx, and measures beside numbers."""

from __future__ import annotations

from scorecube.ingest.formats import File, summary


def _is_of_one_system(file: File) -> bool:
    from scorecube.collection.names_of_tools import is_measure

    is_flat = all(isinstance(value, int | float) for value in file.first.values())
    return len(file.records) == 1 and is_flat and any(map(is_measure, file.names))


summary(
    "a report of ranx",
    "write the scores of runs: json.dump({run.name: run.scores ...})",
    lambda file: {"metrics", "model_names"} <= file.names,
)
summary(
    "results of MTEB, means of a task",
    "write predictions of queries with prediction_folder, and score them: scorecube evaluate",
    lambda file: {"task_name", "mteb_version", "scores"} <= file.names,
)
summary(
    "results of lighteval, means of tasks",
    "import its details (Parquet), which --save-details writes, with names of columns",
    lambda file: {"config_general", "results"} <= file.names,
)
summary(
    "a classification report of scikit-learn, means of classes",
    "write a row for each item: model, item, and 1 where its prediction is right",
    lambda file: {"macro avg", "weighted avg"} <= file.names,
)
summary(
    "measures of one system",
    "write a score of each topic, such as with ir_measures -q or iter_calc",
    _is_of_one_system,
)
