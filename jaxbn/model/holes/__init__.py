"""Rows with missing entries: their likelihood, posterior draws, expected counts, and tables fitted to them by EM.

Given what a row has, its hidden variables fall apart into components: hidden variables that share a family hang
together, and everything else in their families is observed. A component, not a row or its pattern of missing entries,
is the unit of work: thousands of patterns share the same few components, and rows that agree in a component's blanket
share one result.
"""
