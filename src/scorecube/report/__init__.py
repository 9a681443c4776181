"""Tables, figures and the report of results."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scorecube.storage import Study


class _CallableModule(ModuleType):
    """A package that can be called: ``sc.report(study)`` has the name of the package that makes reports."""

    def __call__(
        self,
        study: Study | str,
        path: str = "report.html",
        *,
        title: str = "",
        authors: str = "",
        date: str = "",
    ) -> str:
        """Write the report of a study, see `scorecube.report.report_file.report`."""
        from scorecube.report.report_file import report

        return report(study, path, title=title, authors=authors, date=date)


sys.modules[__name__].__class__ = _CallableModule
