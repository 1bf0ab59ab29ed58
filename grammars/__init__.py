"""The definition of the schedule syntax."""
