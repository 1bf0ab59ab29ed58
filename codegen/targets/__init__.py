"""One module per target: what code is generated for."""
