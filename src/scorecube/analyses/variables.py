"""Declarations of the variables of results, one a line."""

from scorecube.collection.schema import read_variables as read_variables
