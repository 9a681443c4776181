"""Bytes of run files to judged rankings."""
