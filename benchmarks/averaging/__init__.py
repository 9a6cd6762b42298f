"""What an average over networks gains, and what its probabilities are worth: see ``python -m benchmarks.averaging``."""
