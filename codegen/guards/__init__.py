"""What a generated forward checks at each call: that it is like the one that was traced."""
