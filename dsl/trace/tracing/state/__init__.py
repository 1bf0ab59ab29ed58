"""What forward() leaves behind: in the objects that it is given, and in the attributes of modules."""
