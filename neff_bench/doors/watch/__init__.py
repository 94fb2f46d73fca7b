"""`neff-bench watch`: a page, and lines for editors, that follow a kernel while somebody writes it.

subject.py   what is watched, and its cases
look.py      one look at it, in a process of its own: numbers first, then the picture, then what is wrong
changes.py   what two looks differ in
session.py   the saves so far; each starts a look and ends the one under way
server.py    the page, on this machine alone
"""
