"""What a report is asked to show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scorecube.errors import BadName
from scorecube.storage import Study


@dataclass(frozen=True)
class PageOptions:
    """What a report is asked to show.

    title: Instead of the name of the study; empty for that name.
    authors, date: Below the title; empty for none.
    metrics: Metrics that are shown, in this order; all if empty.
    primary: Metric that comes first and that pages open with; the first one if empty.
    final: Leave out what could be analysed further, for pages that are published.
    """

    title: str = ""
    authors: str = ""
    date: str = ""
    metrics: tuple[str, ...] = ()
    primary: str = ""
    final: bool = False

    def name(self, study: Study) -> str:
        """Return the title, or the name of the study."""
        name = Path(study.path.rstrip("/")).name.removesuffix(".zarr")
        return self.title or name or study.path

    def chosen(self, known: list[str]) -> list[str]:
        """Return the metrics of a collection that are shown, the primary one first; all where it has none of those.

        Examples
        --------
        >>> PageOptions(primary="AP").chosen(["RR", "AP"]), PageOptions(metrics=("Q", "AP")).chosen(["RR", "AP"])
        (['AP', 'RR'], ['AP'])
        """
        shown = [name for name in self.metrics or known if name in known] or known
        return sorted(shown, key=lambda name: name != self.primary)

    def check(self, known: list[str]) -> None:
        """Refuse metrics that no collection has (BadName)."""
        for name in (*self.metrics, *filter(None, [self.primary])):
            if name not in known:
                found = ", ".join(dict.fromkeys(known))
                raise BadName(f"no metric {name!r} in the study; it has: {found}", option="metrics")
