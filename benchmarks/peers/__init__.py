"""jaxbn beside its peers, on the same machine and data: ``python -m benchmarks.peers`` from the project's root."""
