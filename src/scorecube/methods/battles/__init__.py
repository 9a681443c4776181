"""Battles of pairs of systems: strengths by Bradley and Terry."""
