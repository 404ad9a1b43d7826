"""Learned metrics behind one interface: fit, score, save, load.

`base` is that interface, `scale` the scale of human scores, `calibration` and `out_of_domain` what any evaluator can
have in addition: human scores with intervals, and a warning for replies unlike its training text. Every other module or
package is one method.
"""
