"""How results are shown: one palette for plots and pages, where labels go, and plots as SVG.

Start with palette.py; labels.py decides and draws nothing; marks.py has the small parts, and
plots.py draws.
"""
