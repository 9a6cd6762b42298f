"""Missing entries of a table filled in by a network, in original units and levels."""
