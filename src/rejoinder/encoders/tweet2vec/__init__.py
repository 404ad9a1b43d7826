"""tweet2vec: a sentence encoder that reads characters (Dhingra et al. 2016)."""
