"""Running what was generated against the original, under many stream orders."""
