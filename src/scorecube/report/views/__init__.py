"""What people see of each analysis, one record a file; see `scorecube.report.views.view`."""
