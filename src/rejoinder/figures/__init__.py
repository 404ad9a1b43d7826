"""Figures as SVG: what they show (`panels`), how it is drawn (`plots`), and figures that stand alone (`standalone`).

Reports, notebooks and pages draw the same panels, so a number is the same wherever it is shown. Nothing here needs a
plotting library.
"""
