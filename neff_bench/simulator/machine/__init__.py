"""Holds what an operation works on: memory, operands, accumulators, and the arithmetic of the engines."""
