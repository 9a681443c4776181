"""Files of the field -> columns: one file per format, errors with file and line."""
