"""Everything that understands schedules: syntax, trace, plan, checks."""
