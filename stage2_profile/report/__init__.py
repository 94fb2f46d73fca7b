"""Makes an answer of the rows of a store."""
