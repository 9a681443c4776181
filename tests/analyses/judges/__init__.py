"""Tests of judges."""
