"""The maths of the design written by definition in NumPy: the oracle of the tests and the benchmark's baseline."""
