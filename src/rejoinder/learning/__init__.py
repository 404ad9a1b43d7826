"""What every trained thing shares: fit, save and load; training data and splits; the training loop."""
