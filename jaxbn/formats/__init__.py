"""Networks in files and in other programs."""
