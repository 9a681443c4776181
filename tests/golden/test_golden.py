"""What the code shows of the results of the golden corpus is what is kept of it; see `tests.golden`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.golden import dump
from tests.golden.corpus import STUDIES, parts_of
from tests.golden.dump import FOLDER, VERSIONS, differences, other_versions, pack, unpack
from tests.golden.shown import FAILED, FORMS, declared_figures, declared_tables

MOST_BYTES = 3_000_000
ALWAYS_LONG = {("wcw", "widths"): ["160 columns", "60 columns", "json", "latex", "markdown"]}
"""Tables that are never short, and the forms in which they are not kept."""
MOST_LINES = 200
"""Of differences that a failing test prints."""


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_what_is_shown_is_what_is_kept(name: str, tmp_path: Path) -> None:
    if others := other_versions():
        pytest.skip(others)
    lines = differences(name, unpack(name), parts_of(name, tmp_path), exact=False)
    assert not lines, "\n".join([*lines[:MOST_LINES], f"all: python -m tests.golden {name}"])


def test_the_dump_is_small_and_has_no_other_files() -> None:
    files = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    kept = {f"{name}.{form}" for name in STUDIES for form in ("txt", "xz")}
    assert files.keys() == {VERSIONS, *kept}
    assert sum(files.values()) < MOST_BYTES


@pytest.fixture(scope="module")
def kept_tables() -> dict[tuple[str, str], set[str]]:
    """Forms in which each table of each analysis is kept, of results that could be shown."""
    found: dict[tuple[str, str], set[str]] = {}
    for name in STUDIES:
        for part, text in unpack(name).items():
            shown = re.fullmatch(r"(\S+).*: table (\w+), (.+)", part)
            if shown and not text.startswith(FAILED):
                found.setdefault((shown[1], shown[2]), set()).add(shown[3])
    return found


def test_every_table_of_every_analysis_is_kept_in_every_form(
    kept_tables: dict[tuple[str, str], set[str]],
) -> None:
    forms = {f"{form} columns" if isinstance(form, int) else form for form in (*FORMS, "csv")}
    lacking = {each: sorted(forms - kept_tables.get(each, set())) for each in declared_tables()}
    assert {each: some for each, some in lacking.items() if some} == ALWAYS_LONG


def test_every_figure_is_kept_of_one_collection_and_of_several() -> None:
    figures = {
        (part.split()[0].removesuffix(":"), "several" if name.startswith("several") else "one")
        for name in STUDIES
        for part, text in unpack(name).items()
        if part.endswith(": figure") and text.lstrip().startswith("<?xml")
    }
    assert figures == declared_figures()


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("splits: said", "most similarly", "most alike"),
        ("splits: table quantiles, csv", "10,disjoint", "11,disjoint"),
        ("splits: figure", "stroke: #0072b2", "stroke: #0072b3"),
    ],
)
def test_a_change_is_found_and_located(part: str, old: str, new: str) -> None:
    before = unpack("splits")
    changed = before | {part: before[part].replace(old, new, 1)}
    first, where, *lines = differences("splits", before, changed)
    assert first == f"splits: 1 of {len(before)} parts differ"
    assert where == f"splits, {part}: 1 lines removed, 1 added"
    assert sum(line.startswith("+") and new in line for line in lines) == 1


def test_last_digits_may_differ_in_tests() -> None:
    before = {"a: page": "0.123456789012 of -7e-17, 0.5"}
    near = {"a: page": "0.123456789013 of -6e-17, 0.49999999999999994"}
    assert differences("a", before, near)
    assert not differences("a", before, near, exact=False)
    for far in ("0.123456799 of -7e-17, 0.5", "0.123456789012 or -7e-17, 0.5", "0.123456789012"):
        assert differences("a", before, {"a: page": far}, exact=False)


def test_texts_are_kept_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "FOLDER", tmp_path)
    odd = "\n\n \n==== a: said\n| b \r\n\u2028\udc80\n"
    parts = {"a: said": odd, "a: words": "", "a: page": odd, "a: table t, 100 columns": "x\n" * 99}
    pack("odd", parts)
    assert unpack("odd") == parts
    assert differences("odd", parts, unpack("odd")) == []
