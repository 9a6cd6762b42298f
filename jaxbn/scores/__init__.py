"""What a network is worth: family scores and tables."""
