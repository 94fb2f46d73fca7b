"""Holds the tables of rules, a file for each family."""
