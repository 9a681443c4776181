"""Reliability of mean scores: variance components and generalisability coefficients."""
