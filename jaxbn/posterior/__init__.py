"""What else could be: draws from the posterior of cuts and arcs, and averages over them."""
