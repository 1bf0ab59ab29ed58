"""The command `streamsched`, one file per verb."""
