"""Several results in the same axes: colours and labels that differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgba_array

from scorecube.report.figures.style import COLOURS


@dataclass(frozen=True)
class Overlay:
    """What one result has drawn into axes: its options, its labelled artists with their own labels, and its title."""

    facts: Mapping[str, Any]
    labelled: Mapping[Artist, str]
    title: str


_OVERLAYS: WeakKeyDictionary[Axes, list[Overlay]] = WeakKeyDictionary()


def keep_apart(axes: Axes, before: set[Artist], facts: Mapping[str, Any]) -> None:
    """Give what was drawn into axes colours and labels that earlier results there do not have.

    axes: Of the caller.
    before: What they held before the result was drawn.
    facts: Options and collection of the result: labels name those that differ, or count where none does.
    """
    new = [each for each in axes.get_children() if each not in before]
    named = {each: str(each.get_label()) for each in new}
    labelled = {each: label for each, label in named.items() if label and label[0] != "_"}
    overlays = _OVERLAYS.setdefault(axes, [])
    taken = sum(len(set(each.labelled.values())) for each in overlays)
    overlays.append(Overlay(facts, labelled, axes.get_title(loc="left")))
    if len(overlays) == 1:
        return
    for each in new:
        _shift_colours(each, taken)
    differing = [
        name for name in facts if len({repr(each.facts.get(name)) for each in overlays}) > 1
    ]
    for number, overlay in enumerate(overlays, 1):
        words = [str(overlay.facts.get(name)) for name in differing] or [str(number)]
        for artist, label in overlay.labelled.items():
            artist.set_label(f"{label} ({', '.join(words)})")
    axes.set_title(
        "\n".join(dict.fromkeys(each.title for each in overlays)), loc="left", fontsize=8
    )
    if axes.get_legend() is not None:
        axes.legend(fontsize=8)


def _shift_colours(artist: Any, places: int) -> None:
    """Give an artist in colours of `COLOURS` those that stand so many places behind."""
    for name in ("color", "markerfacecolor") if hasattr(artist, "get_color") else ("facecolor",):
        if not hasattr(artist, f"get_{name}"):
            continue
        shades = [to_hex(each) for each in to_rgba_array(getattr(artist, f"get_{name}")())]
        if len(shades) == 1 and shades[0] in COLOURS:
            place = (COLOURS.index(shades[0]) + places) % len(COLOURS)
            getattr(artist, f"set_{name}")(COLOURS[place])
