"""The fitted network and what it answers."""
