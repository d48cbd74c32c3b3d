"""The static call graph: which test comes to which function, as far as the text tells."""
