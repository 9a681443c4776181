"""Views: everything that is shown of an analysis, one record per file; see `scorecube.report.views.view`."""
