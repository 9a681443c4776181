"""Input files and objects of other tools -> columns and matrices; one module per format, errors with file and line."""
