"""What a column looks like by itself: recorded digits, the base density, and what lies inside bins."""
