"""Metrics that are fitted: what they share, and the small ones. Each family has a folder.

In reading order:

base              A learned evaluator: a metric that is fitted on data before it scores
calibration       from scores to ratings, with prediction intervals, and to a scale from 1 to 5:
                  docs/guide/calibration.md
familiarity       whether replies resemble the text that an evaluator was trained on: docs/guide/calibration.md
bounds            the kinds of replies that an evaluator was fitted on
reference_points  the mean scores of replies whose quality is known
ensemble          several metrics as one: the weighted mean of their standardised scores, and how a saved one finds
                  its members
simple            evaluators over one pretrained model: the cosine of sentence vectors, the likelihood of a reply,
                  skip-thought
am_fm             AM-FM (D'Haro et al. 2019): the evaluator and its weights
am_fm_parts       adequacy (`am`), by a semantic space, and fluency (`fm`), by a language model: the parts of AM-FM
blend/            metrics and evaluators weighed by what people said: `default` is one
encoder/          the evaluator of Zhao et al. 2020 over a pretrained encoder
static/           `default-fast`, without a neural encoder
ruber/            RUBER (Tao et al. 2018)
adem/             ADEM (Lowe et al. 2017)
"""
