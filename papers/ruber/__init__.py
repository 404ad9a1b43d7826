"""RUBER on the judged replies of Zhao et al. 2020 (Tao et al. 2018).

In reading order:

models      the trained models and their scores
study       scores shared by all sections, and their comparison
baselines   what RUBER is compared with
differences differences of r, and the targets of this package
trainings   what the models were trained on
page        the page `ruber-figures`
transfer    the page `ruber-transfer`
"""
