"""Rows that come later: how probable each is, and how a network goes on with them."""
