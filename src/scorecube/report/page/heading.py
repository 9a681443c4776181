"""What stands above a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scorecube.storage import Study


@dataclass(frozen=True)
class Heading:
    """What stands above a report.

    Parameters
    ----------
    title
        Instead of the name of the study; empty for that name.
    authors, date
        Below the title; empty for none.
    """

    title: str = ""
    authors: str = ""
    date: str = ""

    def words(self) -> list[str]:
        """Return what a page depends on; nothing for the usual heading."""
        chosen = [self.title, self.authors, self.date]
        return chosen if any(chosen) else []

    def name(self, study: Study) -> str:
        """Return the title, or the name of the study."""
        return self.title or Path(study.path.rstrip("/")).name or study.path
