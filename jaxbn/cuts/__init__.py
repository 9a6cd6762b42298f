"""One continuous variable: where it is cut, and why there."""
