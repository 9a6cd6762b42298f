"""The pruned dynamic program: the exact best cuts of one variable of many rows."""
