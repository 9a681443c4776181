"""Licences of the packages that scorecube needs: ``python -m tests.licences > docs/reference/licences.md`` in an environment of the locks."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

REPO = Path(__file__).parents[1]
LOCKS = {
    "to run": "requirements.lock",
    "clusters and object stores": "requirements-cluster.lock",
    "tests, documentation": "requirements-test.lock",
}
PACKAGE = re.compile(r"^([A-Za-z0-9_.-]+)==(\S+)", re.MULTILINE)
CLASSIFIER = "License :: OSI Approved :: "
HEAD = """# Licences of dependencies

What the locks install, with the licence that each package states. scorecube itself is under the
Apache License 2.0. (`python -m tests.licences`)

| package | licence | needed |
|---|---|---|"""


def locked() -> dict[str, tuple[str, str]]:
    """Return for each package of the locks its version and what it is needed for first."""
    found = dict[str, tuple[str, str]]()
    for purpose, lock in LOCKS.items():
        for name, version in PACKAGE.findall((REPO / lock).read_text(encoding="utf-8")):
            found.setdefault(name, (version, purpose))
    return found


def licence(name: str) -> str:
    """Return the licence that an installed package states: its expression, else its classifiers, else the first line of its text.

    Raises
    ------
    PackageNotFoundError
        It is not installed.
    """
    stated = metadata(name).json
    classifiers = [
        text.removeprefix(CLASSIFIER)
        for text in stated.get("classifier", [])
        if text.startswith(CLASSIFIER)
    ]
    text = stated.get("license_expression") or ", ".join(classifiers) or stated.get("license")
    return str(text or "not stated").splitlines()[0]


def page() -> str:
    """Return the page; packages that this platform does not install are named as such."""
    rows = []
    for name, (_, purpose) in sorted(locked().items()):
        try:
            rows.append(f"| {name} | {licence(name)} | {purpose} |")
        except PackageNotFoundError:
            rows.append(f"| {name} | on other platforms only | {purpose} |")
    return "\n".join([HEAD, *rows]) + "\n"


if __name__ == "__main__":
    print(page(), end="")
