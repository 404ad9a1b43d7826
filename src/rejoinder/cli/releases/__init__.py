"""Commands about releases: their history, and a comparison with one that was recorded."""
