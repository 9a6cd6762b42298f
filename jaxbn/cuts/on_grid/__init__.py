"""Cuts among few positions at first, then closer around them, to the last row."""
