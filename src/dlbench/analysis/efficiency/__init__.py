"""Compare time, memory and maintainability of passing candidates with the reference."""
