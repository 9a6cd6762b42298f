"""Array programs under jit: static shapes in, arrays out. They know nothing of graphs, names or frames."""
