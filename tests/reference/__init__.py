"""The maths of docs/maths.md written by definition in NumPy: the oracle of the tests and the benchmark's baseline."""
