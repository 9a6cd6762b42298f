"""Rows that need not be in memory: engines that hold them, and the counts that learning needs of them."""
