"""Neural networks that score replies: how they are trained, and how they run without what trained them."""
