"""Exact inference: one engine of variable elimination for single questions and for tables with missing entries.

Variables are positions; names, bins and levels are the business of ``model.queries``. ``elimination`` is the engine,
``questions`` asks it about one row of which some is known, ``answers`` and ``em`` about many rows at once.

Given what a row has, its hidden variables fall apart into connected components: hidden variables that share a family
are connected, and everything else in their families is observed. A component, not a row or its pattern of missing
entries, is the unit of work: thousands of patterns share the same few components, and rows that agree in what is
observed around a component share one result.
"""
