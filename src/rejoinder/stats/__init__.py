"""Arrays in, numbers out.

In reading order:

intervals              an estimate with its interval; sums over groups; intervals of shares
resampling             cluster bootstrap, permutations, and corrections for many tests
means                  is B better than A, and by how much: two means, their effect size, and what a test can detect
mean_tests             permutation tests of a difference of means
correlation            Pearson, Spearman, Kendall and concordance, with and without weights
correlation_intervals  intervals of correlations by cluster bootstrap, and tests against independence
correlation_tests      does metric B agree with people better than metric A
systems                agreement over the means of systems: correlations with fixed systems, and the accuracy of pairs
pairs                  how often two replies are ordered as people order them
random_effects         several data sets pooled into one
raters                 how far raters agree: kappa, Krippendorff's alpha, intraclass correlation; unusual raters; the
                       ceiling for metrics
rater_intervals        intervals of these
aggregation            one label or score from several raters: Dawid and Skene, MACE, weighted means
mixed                  system means of ratings with items and raters drawn at random: a mixed model, its likelihood
                       and its intervals
labels                 which replies to label, each with a known probability, and means from such labels
predicted              human means from automatic scores of all replies and labels of some (prediction-powered
                       inference)
planning               how many contexts, items and raters are needed for a power or a precision
preferences            pairwise preferences: strengths, rankings, contests, control for length
"""
