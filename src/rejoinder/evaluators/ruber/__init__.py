"""RUBER (Tao et al. 2018): near to a reference, and related to the context; learned without labels."""
