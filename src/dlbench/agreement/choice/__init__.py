"""Which of several solutions is chosen, from nothing but which passed which of the model's tests. Pure functions."""
