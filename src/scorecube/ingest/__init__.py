"""Input files and objects of other tools -> columns and matrices; one module per format.

Errors with file and line.
"""
