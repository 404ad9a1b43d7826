"""Reply models that copy a reply of their corpus."""
