"""One discrete variable: its levels merged into groups."""
