"""Reply models that write a reply token by token."""
