"""Text to tokens, and what is known of words."""
