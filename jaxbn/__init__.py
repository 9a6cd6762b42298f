"""Discrete Bayesian networks from continuous and mixed data."""
