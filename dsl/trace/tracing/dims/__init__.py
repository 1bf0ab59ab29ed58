"""Dynamic dims: their symbols, what the model asks of them, and how sizes are spelled."""
