"""The numbers of devices: a table, and CANN's own files."""
