"""Files of a release name one version and the same dependencies."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import scorecube
from tests import console_pages, release

REPO = Path(__file__).parents[1]
RECIPE = REPO / "conda" / "recipe" / "recipe.yaml"
CONDA_NAMES = {"dask": "dask-core", "matplotlib": "matplotlib-base", "flit_core": "flit-core"}
"""Packages that have another name on conda-forge."""


def project() -> dict[str, Any]:
    """Return the settings of the package."""
    return tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))


def as_conda(requirement: str) -> str:
    """Return a requirement of Python's in the words of conda."""
    name, bound = re.fullmatch(r"([\w-]+)(>=[\w.]+)", requirement).groups()  # type: ignore[union-attr]
    return f"{CONDA_NAMES.get(name, name)} {bound}"


def test_all_files_name_the_version() -> None:
    version = scorecube.__version__
    changelog = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = yaml.safe_load((REPO / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## (\S+) \((\S+)\)", changelog, re.MULTILINE)
    assert newest is not None
    assert newest.groups() == (version, citation["date-released"])
    assert citation["version"] == version
    assert yaml.safe_load(RECIPE.read_text(encoding="utf-8"))["context"]["version"] == version


def test_a_release_refuses_placeholders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("pyproject.toml", "SECURITY.md", "CODE_OF_CONDUCT.md"):
        (tmp_path / name).write_text("Repository = 'https://example.org'\n")
    monkeypatch.setattr(console_pages, "REPO", tmp_path)
    assert release.placeholders() == []
    (tmp_path / "SECURITY.md").write_text("write to\nhttps://scorecube.invalid/security, please\n")
    with pytest.raises(SystemExit, match=r"SECURITY.md:2: https://scorecube\.invalid/security"):
        release.main(tmp_path / "no.whl")


@pytest.mark.slow
def test_the_readme_runs_with_an_installed_program(tmp_path: Path) -> None:
    assert release.run_commands(Path(sys.executable).parent, tmp_path) == 3


def test_the_recipe_has_the_dependencies_of_the_package() -> None:
    recipe = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    settings = project()
    of_package = settings["project"]
    assert recipe["context"]["python_min"] == of_package["requires-python"].removeprefix(">=")
    python, *run = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert run == [as_conda(each) for each in of_package["dependencies"]]
    assert as_conda(settings["build-system"]["requires"][0]) in recipe["requirements"]["host"]
    (program,) = of_package["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(program)]
    assert recipe["about"]["license"] == of_package["license"]
    assert recipe["about"]["summary"] == of_package["description"]
    optional = of_package["optional-dependencies"]
    wanted = {as_conda(each) for each in [*optional["s3"], *optional["cluster"]]}
    assert set(recipe["requirements"]["run_constraints"]) == wanted


def test_the_recipe_is_read_by_its_tool() -> None:
    tool = pytest.importorskip("rattler_build")
    (made,) = tool.Stage0Recipe.from_yaml(RECIPE.read_text()).render(tool.VariantConfig())
    assert made.recipe.to_dict()["package"] == {
        "name": "scorecube",
        "version": scorecube.__version__,
    }


def test_the_sdist_has_what_the_tests_and_pages_need() -> None:
    included = project()["tool"]["flit"]["sdist"]["include"]
    for name in included:
        assert list(REPO.glob(name.rstrip("/"))), name
    tracked = {"tests/", "docs/", "notebooks/", "cluster/", "conda/", "docker/", "CHANGELOG.md"}
    assert tracked <= set(included)
