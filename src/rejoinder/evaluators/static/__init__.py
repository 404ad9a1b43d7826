"""A very fast evaluator over static word vectors and word counts."""
