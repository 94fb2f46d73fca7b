"""The rows of a store as an answer."""
