"""Tests of scorecube; the folders mirror the package."""
