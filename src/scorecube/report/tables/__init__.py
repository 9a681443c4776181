"""Results to tables with fixed columns: functions of a Dataset that return a data frame, one file an analysis."""
