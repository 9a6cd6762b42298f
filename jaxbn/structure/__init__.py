"""The best arcs for given codes."""
