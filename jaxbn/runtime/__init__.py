"""The machine: shapes, batches, devices, processes, progress and files."""
