"""Judges, human and machine, against the judgements that count as truth."""
