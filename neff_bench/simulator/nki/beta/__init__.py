"""Provides the dialect before 0.2 (`neuronxcc.nki`).

Instructions return their result, tiles have operators, tensors are indexed by affine expressions (`nl.arange`,
`nl.mgrid`), masks restrict an operation to a region, and a kernel is launched on a grid of programs. All of it is written
with the current dialect's instructions, so a program looks the same whichever dialect its kernel is in.
"""
