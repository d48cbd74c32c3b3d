"""Studies of our own tool, outside the package."""
