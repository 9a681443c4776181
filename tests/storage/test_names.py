"""Odd names of collections: what is acknowledged is listed, shown and verified, wherever the study lies."""

from __future__ import annotations

import pytest

from scorecube.errors import BadStudy
from scorecube.report.contents import overview
from scorecube.report.study_tables import collect_table
from scorecube.storage import open_study, verify_study
from scorecube.storage.heads import folder_of
from tests.conftest import Cli
from tests.storage.states import cube

ODD = [
    *("w.partial", ".partial", "W.PARTIAL2", "a.partial.partial", "x/.partial", ".x.partial"),
    *("..", ".", "...", ".hidden", "ends.", "~", "-", "--name", "-x"),
    *("a/b", "a\\b", "a//b", "/etc/passwd", "../up", "c:d", "a:b", "C:\\x"),
    *("con", "NUL.txt", "lpt1.x", "com9", "prn"),
    *("head.00001.json", "committed.00001", "results", "blocks", "cube-0.zarr", "rankings"),
    *("%", "%2F", "%2e%2e", "a%00b", "100%", "a b", " lead", "trail ", "+", "a+b", "a&b=c?d#e"),
    *("*", "[x]", "{y}", "$HOME", "'q'", '"q"', "`ls`", "a;b", "|", "<b>x</b>", "\\x1b"),
    *(
        "\u00e9t\u00e9",
        "Stra\u00dfe",
        "\u65e5\u672c\u8a9e",
        "\U0001f600",
        "\u202ex",
        "\ufeffx",
        "\u200b",
    ),
    *("x" * 190, "zarr.json", "packed-00.zarr", "__pycache__"),
]
"""None of them is told from another only by its case."""


@pytest.mark.slow
def test_odd_names_come_back(place: str) -> None:
    study = open_study(place, mode="a")
    taken = list[str]()
    for name in ODD:
        study.add(name, cube=cube())
        taken.append(name)
        assert study[name].head.name == name
    again = open_study(place)
    assert list(again) == sorted(ODD) == sorted(taken)
    assert [row["name"] for row in overview(again)["collections"]] == sorted(ODD)
    assert set(collect_table(again, "scores")[0]["collection"]) == set(ODD)
    assert verify_study(again) == (2 * len(ODD), [])
    assert len(set(map(folder_of, ODD))) == len(ODD) >= 40


@pytest.mark.parametrize(
    "name", ["", " ", "a\nb", "\x7f", "\x1b[2J", "x" * 201, "\udcff", "\u65e5" * 30]
)
def test_other_names_are_refused(place: str, name: str) -> None:
    with pytest.raises(BadStudy, match="200 bytes"):
        open_study(place, mode="a").add(name, cube=cube())


def test_a_name_that_ends_like_an_unfinished_file_is_told(place: str, scorecube: Cli) -> None:
    open_study(place, mode="a").add("w.partial", cube=cube())
    assert "w.partial: 3 runs" in scorecube("info", place).succeeded().stdout
    assert "w.partial" in scorecube("show", place, "scores").succeeded().stdout
    assert "2 parts read" in scorecube("verify", place).succeeded().stderr
