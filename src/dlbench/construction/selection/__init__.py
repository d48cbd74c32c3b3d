"""Which projects are there, and which of them can give instances? Steps 1 and 2."""
