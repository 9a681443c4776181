"""Simulated experiments of two systems: their dependence, their scores, and what tests say of them."""
