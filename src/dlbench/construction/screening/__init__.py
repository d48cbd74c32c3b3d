"""Which functions can be instances, and how large and complex are they? Step 6."""
