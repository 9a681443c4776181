"""Results of tools for tests of language models, in JSON.

deepeval: test_run/api.py and test_run_sample.json of confident-ai/deepeval. Every Eval Ever:
instance_level_eval.schema.json 0.3.0. HELM: metrics/metric.py and statistic.py of helm/benchmark.
OpenAI evals: record.py, whose LocalRecorder writes a line an event. promptfoo: `-o results.json`
(version 2 or 3), or lines of results; `EvaluateResult` of 0.12x. All read 2026-11-29.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from scorecube.ingest.formats import File, Row, reader, summary
from scorecube.ingest.input_files import name_in
from scorecube.ingest.json_rows import Record, at, objects_in

OF_DEEPEVAL = (
    *("testCases", "testRunData.testCases", "test_run_data.testCases"),
    *(f"{run}conversationalTestCases" for run in ("", "testRunData.", "test_run_data.")),
)
OF_PROMPTFOO = ("results.results", "results")
"""Where files may hold lists of cases, or of results."""
SAMPLE = frozenset({"evaluation_id", "evaluation_name", "sample_id", "evaluation"})
"""Fields of Every Eval Ever."""
MODEL = re.compile(r"(?:^|[,:])model=([^,]+)")
BESIDE = re.compile(
    r"(stats|run_spec|scenario|scenario_state|display_\w+|instances|cost_estimates)\.json(\.gz)?"
)
"""Of HELM: the model in the name of a folder, and files without scores."""
SCORED = ("match", "metrics")
"""Types of events of OpenAI evals that hold scores."""
FACTS = frozenset({"success", "score", "namedScores", "gradingResult"})
"""Fields of a result of promptfoo."""


def _listed(file: File, places: Sequence[str]) -> list[Record]:
    """Return the objects of lists in a file, which are numbered."""
    return [*enumerate(chain.from_iterable(objects_in(at(file.first, one)) for one in places), 1)]


@reader(
    "deepeval",
    "test run of deepeval (JSON)",
    lambda file: any("metricsData" in one for _, one in _listed(file, OF_DEEPEVAL)[:1]),
)
def read_deepeval(file: File) -> Iterator[Row]:
    """Yield scores of test cases by name; the file is the run."""
    run = name_in(file.path, r"\.json$")
    for number, case in _listed(file, OF_DEEPEVAL):
        for one in objects_in(case.get("metricsData")):
            yield Row(number, run, case.get("name"), one.get("score"), one.get("name"))


@reader(
    "every_eval_ever", "samples of Every Eval Ever (JSON lines)", lambda file: file.names >= SAMPLE
)
def read_every_eval_ever(file: File) -> Iterator[Row]:
    """Yield scores by model_id and sample_id; evaluation_name is the collection."""
    for line, sample in file.records:
        score = at(sample, "evaluation.score")
        task = str(sample.get("evaluation_name") or "").replace("/", "-")
        metric = str(sample.get("evaluation_result_id") or "score")
        yield Row(line, sample.get("model_id"), sample.get("sample_id"), score, metric, task)


def _is_beside(file: File) -> bool:
    is_named = BESIDE.fullmatch(Path(file.path).name) is not None
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


@reader(
    "openai_evals",
    "log of OpenAI evals (JSON lines)",
    lambda file: bool(at(file.first, "spec.eval_name") or at(file.first, "spec.completion_fns")),
)
def read_openai_evals(file: File) -> Iterator[Row]:
    """Yield scores of match and metrics by completion_fns, sample_id and eval_name."""
    functions = at(file.first, "spec.completion_fns")
    if not isinstance(functions, list) or not functions:
        functions = [at(file.first, "spec.model_name")]
    run = "+".join(map(str, functions))
    for line, event in file.records:
        data = event.get("data")
        if event.get("type") not in SCORED or not isinstance(data, Mapping):
            continue
        if event["type"] == "match":
            scores = {"accuracy": at(data, "correct")}
        else:
            scores = {name: one for name, one in data.items() if isinstance(one, int | float)}
        for metric, score in scores.items():
            topic = event.get("sample_id")
            yield Row(line, run, topic, score, metric, at(file.first, "spec.eval_name") or "")


def _results(file: File) -> list[Record]:
    return _listed(file, OF_PROMPTFOO) or file.records


def _is_promptfoo(file: File) -> bool:
    return any("provider" in one and len(FACTS & {*one}) > 1 for _, one in _results(file)[:1])


@reader("promptfoo", "results of promptfoo, in JSON or JSON lines", _is_promptfoo)
def read_promptfoo(file: File) -> Iterator[Row]:
    """Yield scores by provider, with the prompt where there are several, and testIdx.

    Tests with equal variables are repetitions: with ``--repeat``, each has a number of its own.
    """
    results = _results(file)
    prompts = {str(_prompt_of(one)) for _, one in results}
    topics: dict[str, object] = {}
    counts: Counter[tuple[str, str]] = Counter()
    n_errors = 0
    for line, one in results:
        provider = one.get("provider")
        if isinstance(provider, Mapping):
            provider = provider.get("label") or provider.get("id")
        run = f"{provider} {_prompt_of(one)}" if len(prompts) > 1 else provider
        test = _test_of(one)
        topic = topics.setdefault(test, one.get("testIdx", test))
        counts[str(run), test] += 1
        seed = counts[str(run), test]
        n_errors += bool(one.get("error")) and not one.get("gradingResult")
        yield Row(line, run, topic, one.get("score", one.get("success")), seed=seed)
        named = one.get("namedScores")
        for name, value in (named if isinstance(named, Mapping) else {}).items():
            yield Row(line, run, topic, value, name, seed=seed)
    if n_errors:
        file.notes.append(f"{n_errors} results are errors, which promptfoo scores 0")


def _prompt_of(one: Mapping[str, Any]) -> object:
    """Return what tells the prompt of a result."""
    index = one.get("promptIdx")
    return f"prompt {index}" if index is not None else at(one, "prompt.label")


def _test_of(one: Mapping[str, Any]) -> str:
    """Return what tells a test: its description and variables, or else its number."""
    told = (at(one, "testCase.description") or one.get("description"), one.get("vars"))
    return str(told) if any(told) else str(one.get("testIdx"))
