"""How good and how sure: cross-validation, bootstrap, refinement."""
