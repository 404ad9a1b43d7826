"""Models that reply: retrieval and generation behind one interface."""
