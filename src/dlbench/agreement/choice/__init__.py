"""Which of several solutions is chosen, from nothing but which passed which of the model's own tests. Pure functions."""
