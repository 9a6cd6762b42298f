"""Sums over all partitions, where the other programs look for the best one."""
