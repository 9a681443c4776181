"""Statistics of HELM by instance: per_instance_stats.json, in a folder for each model and scenario.

helm/benchmark/metrics/metric.py and statistic.py of stanford-crfm/helm, read 2026-11-29.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from scorecube.ingest.formats import File, Row, reader, summary
from scorecube.ingest.json_rows import at, objects_in

MODEL = re.compile(r"(?:^|[,:])model=([^,]+)")
MEANS = re.compile(
    r"(stats|run_spec|scenario|scenario_state|display_\w+|instances|cost_estimates)\.json(\.gz)?"
)


def _is_beside(file: File) -> bool:
    is_named = MEANS.fullmatch(Path(file.path).name) is not None
    return is_named and (Path(file.path).parent / "per_instance_stats.json").exists()


summary("a file of HELM without scores of instances", "import per_instance_stats.json", _is_beside)


@reader(
    "helm",
    "per_instance_stats.json of HELM, in a folder each",
    lambda file: file.names >= {"instance_id", "train_trial_index", "stats"},
)
def read_helm(file: File) -> Iterator[Row]:
    """Yield means of instances; the folder tells run (model=) and collection; trials repeat."""
    folder = Path(file.path).absolute().parent.name
    model = MODEL.search(folder)
    run = model[1] if model else folder
    scenario = MODEL.sub("", folder) if model else ""
    n_perturbed = 0
    for number, instance in file.records:
        if instance.get("perturbation"):
            n_perturbed += 1
            continue
        for one in objects_in(instance.get("stats")):
            if at(one, "name.perturbation"):
                continue
            topic = instance.get("instance_id")
            trial = instance.get("train_trial_index")
            yield Row(number, run, topic, one.get("mean"), at(one, "name.name"), scenario, trial)
    if n_perturbed:
        file.notes.append(f"not read: {n_perturbed} instances with perturbations")
