"""Learning from tables with missing entries: completed by draws, learned, drawn again."""
