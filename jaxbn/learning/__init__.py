"""Arcs and cuts together."""
