"""Where the work runs: on this machine."""
