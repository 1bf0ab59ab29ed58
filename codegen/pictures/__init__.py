"""Programs as text for people to look at."""
