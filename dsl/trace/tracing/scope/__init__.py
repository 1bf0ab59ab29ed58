"""The modules in scope: one trace that is each module's, or why there is none."""
