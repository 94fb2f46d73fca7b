"""Holds the passes that imitate AWS's compiler: each takes a program and gives the program that AWS's compiler would make of it."""
