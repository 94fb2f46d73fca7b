"""Implements `neff-bench watch`: a page, and lines for editors, that follow a kernel while somebody writes it. `doors/subject.py` says what is watched."""
