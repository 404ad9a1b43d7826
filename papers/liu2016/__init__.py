"""Liu et al. 2016."""
