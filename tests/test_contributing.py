"""CONTRIBUTING.md and the files that check changes elsewhere: what they name is there, and what they run is valid."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

REPO = Path(__file__).parents[1]
PAGE = (REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((REPO / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (REPO / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def test_the_page_names_files_and_targets_that_are_there() -> None:
    for path in re.findall(r"`((?:src|tests|docker|notebooks|cluster)/[\w./-]+)`", PAGE):
        assert (REPO / path).exists(), path
    for link in re.findall(r"\]\((?!http|#)([^)#]+)\)", PAGE):
        assert (REPO / link).exists(), link
    named = set(re.findall(r"\bmake ([a-z-]+)`", PAGE)) | set(
        re.findall(r"^make ([a-z-]+)", PAGE, re.MULTILINE)
    )
    assert named <= TARGETS
    assert {"check", "test", "test-all", "coverage", "lock"} <= named


def test_every_marker_has_a_tier() -> None:
    options = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    markers = {line.split(":")[0] for line in options["markers"]}
    programs, serial, quick = (
        re.findall(rf"^{name} := (.*)$", MAKEFILE, re.MULTILINE)[0]
        for name in ("PROGRAMS", "SERIAL", "QUICK")
    )
    left_out = quick.replace("$(PROGRAMS)", programs).replace("$(SERIAL)", serial)
    assert set(re.findall(r"\w+", left_out)) - {"not", "or"} == markers | {"hypothesis"}
    parallel, grouped, alone = re.findall(
        r"^\t\$\(PYTEST\) .*--hypothesis-profile=ci -m \"(.*)\"$", MAKEFILE, re.MULTILINE
    )
    (rest,) = re.findall(
        r"^\((.*) or hypothesis\) and not \(\$\(PROGRAMS\) or \$\(SERIAL\)\)$", parallel
    )
    assert grouped == "($(PROGRAMS)) and not ($(SERIAL))"
    assert alone == "$(SERIAL)"
    assert set(f"{rest} or {programs} or {serial}".split(" or ")) == markers
    assert all(f"`{marker}`" in PAGE for marker in markers)


def steps() -> list[dict[str, Any]]:
    jobs = [job for each in WORKFLOWS for job in yaml.safe_load(each.read_text())["jobs"].values()]
    return [step for job in jobs for step in job["steps"]]


def test_the_workflow_runs_what_is_there() -> None:
    commands = "\n".join(step.get("run", "") for step in steps())
    assert set(re.findall(r"\bmake ([a-z-]+)", commands)) <= TARGETS
    assert ".ci/run" in commands
    assert (REPO / ".ci" / "run").stat().st_mode & 0o111


@pytest.mark.process
@pytest.mark.parametrize(
    "schema", ["vendor.github-workflows", "custom.github-workflows-require-timeout"]
)
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_the_workflow_is_valid(workflow: Path, schema: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    broken.write_text(
        re.sub(
            r"^    (runs-on|timeout-minutes): .*\n", "", workflow.read_text(), flags=re.MULTILINE
        )
    )
    for path, status in ((workflow, 0), (broken, 1)):
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == status, done.stdout + done.stderr


@pytest.mark.process
def test_hooks_are_local_and_the_one_for_large_files_finds_them(tmp_path: Path) -> None:
    (repo,) = yaml.safe_load((REPO / ".pre-commit-config.yaml").read_text())["repos"]
    assert repo["repo"] == "local"
    hooks = {hook["id"]: shlex.split(hook["entry"]) for hook in repo["hooks"]}
    assert set(hooks) == {"ruff", "ruff-format", "mypy", "large-files"}
    small, large = tmp_path / "a small file", tmp_path / "a large file"
    small.write_text("a")
    large.write_bytes(bytes(600_000))
    for files, said in (([small], ""), ([small, large], f"{large}\n")):
        done = subprocess.run(
            [*hooks["large-files"], *map(str, files)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (int(bool(said)), said)
