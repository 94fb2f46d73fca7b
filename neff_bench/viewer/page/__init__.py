"""Writes the page of profiles: one HTML file that opens from disk, without a network.

`events.py` makes columns of a timeline, `encoding.py` packs them, `panels.py` and `plots.py` write what stands beside the timeline as plain HTML and SVG,
`document.py` joins all of it with the style and the scripts that lie here.
"""
