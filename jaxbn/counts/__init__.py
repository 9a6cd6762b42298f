"""How many rows there are of each kind: all that is asked of the rows, wherever they are."""
