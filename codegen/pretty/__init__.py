"""Python source, broken into lines as the formatters do it."""
