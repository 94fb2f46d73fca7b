"""Implements `neff-bench watch`: a page, and lines for editors, that follow a kernel while somebody writes it. `doors/subject.py` says what is watched.

look.py         one look at it, in a process of its own: numbers first, then the picture, then what is wrong
script.py       the kernels that a script launches
drawing.py      the picture of a save, or of two over each other
diagnostics.py  what is said of a save at its lines
changes.py      what two looks differ in
session.py      the saves so far; each starts a look and ends the one under way
serving.py      follows the files, and serves until Ctrl-C
server.py       the page, on this machine alone
lines.py        a save as lines, for people and for editors
"""
