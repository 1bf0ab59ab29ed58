"""The body of the annotated forward: what is printed as a call, what everything is called, what stands where."""
