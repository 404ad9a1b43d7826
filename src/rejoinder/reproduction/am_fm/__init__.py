"""AM-FM on DSTC6 (D'Haro et al. 2019)."""
