"""The store: what a case is, what a bundle holds, how it is published and verified."""
